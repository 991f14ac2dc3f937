// SPDX-License-Identifier: MIT
// Kernels of scatter_add, scatter_mul, scatter_max and scatter_min that need no sort, for GPUs (kernels/op_scatter.tk). Web pages do without them (scatter_wasm.c).
#ifndef TSRI_OPS_SCATTER_H
#define TSRI_OPS_SCATTER_H

#include "ops/call.h"

// What scatter_add, scatter_mul, scatter_max and scatter_min do with several elements for one target; OP of the kernels.
enum { TSRI_COMBINE_SUM, TSRI_COMBINE_PRODUCT, TSRI_COMBINE_LARGEST, TSRI_COMBINE_SMALLEST };

// A scatter to be done: y is x, with the source's elements joined to those that the indices name along the axis.
typedef struct tsri_scatter {
  tsr_device *device;
  tsr_dtype dtype;
  int combination, axis;
  const tsri_layout *x, *indices, *source;
} tsri_scatter;

// Whether one of the kernels takes such inputs as they lie in memory, and is faster than a sort.
bool tsri_scatter_takes(const tsri_scatter *s);

// Does it, and *out_status tells how that went. Returns false, and does nothing, where tsri_scatter_takes is false.
bool tsri_scatter_unsorted(const tsri_kernel_run *run, tsr_status *out_status);

#endif
