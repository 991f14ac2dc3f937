// SPDX-License-Identifier: MIT
// Axis arguments, which many operators share: sets of axes, and views made from them.
#ifndef TSRI_OPS_AXES_H
#define TSRI_OPS_AXES_H

#include "core/tensor.h"

// Gives the axes as a bit set. Each must be in range and named once; an empty list means all axes.
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_INVALID_ARGUMENT.
tsr_status tsri_axis_set(const char *caller, int rank, const int *axes, int axis_count, uint32_t *out_axes);

// A view without these axes, which must have size 1. Passes a failed tensor on.
tsr_tensor *tsri_drop_axes(tsr_tensor *tensor, uint32_t axes);

// tsri_axis_to_end: a view in which `axis` (in range) is the last axis. tsri_axis_from_end: the reverse, the last axis becomes `axis`.
tsr_tensor *tsri_axis_to_end(tsr_tensor *tensor, int axis);
tsr_tensor *tsri_axis_from_end(tsr_tensor *tensor, int axis);

// The type of a function that applies an operator to `x` along `axis` (in range). It returns a new tensor of x's shape.
typedef tsr_tensor *(*tsri_along)(const void *user, tsr_tensor *x, int axis);

// Calls `run` on a view of x whose axes are in the order of x's strides (graph/order.h), and returns a view of the result with the axes in x's order. So a
// transposed x need not be copied first.
tsr_tensor *tsri_along_in_order(tsr_tensor *x, int axis, tsri_along run, const void *user);

// Whether tsri_along_in_order is faster than a copy on a GPU, for an operator with kernels for rows and for columns: if the axis is the innermost in memory
// (its lines are rows in any case), or if its lines are columns of at most `short_column` elements. For longer columns, a copy followed by the kernel for rows
// is as fast.
bool tsri_suits_order(const tsr_tensor *x, int axis, int64_t short_column);

#endif
