// SPDX-License-Identifier: MIT
// Reading and adding by index.
#ifndef TSRI_CPU_INDEX_H
#define TSRI_CPU_INDEX_H

#include "backends/cpu/cpu.h"

// Indices along an axis of `size` elements, whose stride is `step`. A negative index counts from the end. An index out of range reads 0 or adds nothing.
// Strides are in elements; the shape is that of the indices, in row-major order.
typedef struct tsri_indexing {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  const char *indices;
  tsr_dtype index_dtype;  // an integer
  int64_t index_strides[TSR_MAX_RANK];
  int64_t strides[TSR_MAX_RANK];  // strides in x (or in y for additions); 0 along the indexed axis
  int64_t size, step;
} tsri_indexing;

// y[i] = x[place of i, with indices[i] along the axis]; y is row-major. `element`: bytes of an element, 1, 2, 4 or 8.
void tsri_cpu_gather(const cpu_device *device, const tsri_indexing *by, const char *x, char *y, size_t element);

// y = x, then y[place of i, with indices[i] along the axis] += source[i], in the order of i. All tensors are row-major; x and y have `count` elements of
// `dtype`, which is not bool. f16 and bf16 are summed in f32.
//
// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_scatter_add(cpu_device *device, const tsri_indexing *by, const char *x, const char *source, char *y,
                                int64_t count, tsr_dtype dtype);

#endif
