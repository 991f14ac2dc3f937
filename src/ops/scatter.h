// SPDX-License-Identifier: MIT
// Kernels for scatter_add, scatter_mul, scatter_max and scatter_min without sorting, for GPUs (kernels/op_scatter.tk). Not part of the browser module
// (scatter_wasm.c).
#ifndef TSRI_OPS_SCATTER_H
#define TSRI_OPS_SCATTER_H

#include "ops/call.h"

// How elements with the same target are combined; the values of OP of the kernels. TSRI_COMBINE_REPLACE, for scatter: the last one stays.
enum { TSRI_COMBINE_SUM, TSRI_COMBINE_PRODUCT, TSRI_COMBINE_LARGEST, TSRI_COMBINE_SMALLEST, TSRI_COMBINE_REPLACE };

// Describes a scatter: y is x, with each element of the source combined with the element that its index names along the axis.
typedef struct tsri_scatter {
  tsr_device *device;
  tsr_dtype dtype;
  int combination, axis;
  const tsri_layout *x, *indices, *source;
} tsri_scatter;

// Whether one of the kernels can read these inputs without copies, and is faster than sorting.
bool tsri_scatter_takes(const tsri_scatter *s);

// As tsri_scatter_takes, for the scatter along the last axis of which all inputs are row-major copies with the axis moved to the end. False if the axis is the last
// one already, and on a `checked` device, whose message names a position in the caller's indices.
bool tsri_scatter_takes_turned(const tsri_scatter *s);

// Runs the scatter of a node; `combination` says how elements are combined. *out_status is its status. Returns false, and does nothing, if no kernel here takes it.
bool tsri_scatter_unsorted(const tsri_kernel_run *run, int combination, tsr_status *out_status);

#endif
