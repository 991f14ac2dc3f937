// SPDX-License-Identifier: MIT
// Kernels of scatter_add and its like that need no sort, for GPUs (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_H
#define TSRI_OPS_SCATTER_H

#include "ops/call.h"

// What scatter_add and its like do with elements that meet; OP of the kernels.
enum { TSRI_COMBINE_SUM, TSRI_COMBINE_PRODUCT, TSRI_COMBINE_LARGEST, TSRI_COMBINE_SMALLEST };

// x and y as [outer, size, inner], indices and source as [outer, n, inner]. The strides are those of the indices, which may be broadcast.
typedef struct tsri_scatter {
  int64_t outer, n, inner, size;
  int64_t i_outer, i_step, i_inner;
} tsri_scatter;

// Each returns TSR_ERR_UNSUPPORTED, without a message, if it is not for such a tensor or device, or would be slower than sorting.

// Each element of the result goes through all indices that might name it.
tsr_status tsri_scatter_few(const tsri_kernel_run *run, const tsri_scatter *s);

// Integers of 32 bits by atomic operations: sums that wrap, largest and smallest are the same in any order.
tsr_status tsri_scatter_atomic(const tsri_kernel_run *run, const tsri_scatter *s);

// Single elements along the last axis: a work-group has a range of the targets of a row in shared memory.
tsr_status tsri_scatter_ranges(const tsri_kernel_run *run, const tsri_scatter *s);

#endif
