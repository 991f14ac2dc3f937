// SPDX-License-Identifier: MIT
// Axis arguments, which many operators share: sets of axes, and views made from them.
#ifndef TSRI_OPS_AXES_H
#define TSRI_OPS_AXES_H

#include "core/tensor.h"

// The axes as a bit set. Each must be in range and named once; no axes mean all.
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_INVALID_ARGUMENT.
tsr_status tsri_axis_set(const char *caller, int rank, const int *axes, int axis_count, uint32_t *out_axes);

// A view without these axes, which must have size 1. Passes a failed tensor on.
tsr_tensor *tsri_drop_axes(tsr_tensor *tensor, uint32_t axes);

// A view in which `axis` (in range) is the last axis, and the reverse: the last axis becomes `axis`.
tsr_tensor *tsri_axis_to_end(tsr_tensor *tensor, int axis);
tsr_tensor *tsri_axis_from_end(tsr_tensor *tensor, int axis);

// An operator along one axis, which is in range. Returns a new tensor of x's shape.
typedef tsr_tensor *(*tsri_along)(const void *user, tsr_tensor *x, int axis);

// Runs the operator on a view of x with its axes in the order in which x lies in memory (graph/order.h), and returns a view of the result
// with the axes as x has them: nothing has to be copied first if x is transposed.
tsr_tensor *tsri_along_in_order(tsr_tensor *x, int axis, tsri_along run, const void *user);

// Whether tsri_along_in_order pays on a GPU, for an operator with kernels for rows and for columns: if the axis lies along memory, so that its lines are rows
// whatever its number, or if lines are columns of at most `short_column` elements. Longer columns take as long as a copy to rows and the rows.
bool tsri_suits_order(const tsr_tensor *x, int axis, int64_t short_column);

#endif
