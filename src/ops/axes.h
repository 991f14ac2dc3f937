// SPDX-License-Identifier: MIT
// Arguments that many operators share: axes, and shapes made from them.
#ifndef TSRI_OPS_AXES_H
#define TSRI_OPS_AXES_H

#include "core/tensor.h"

// The axes as bits: each in range and named once; none named means all.
//
// Errors: TSR_ERR_SHAPE, TSR_ERR_INVALID_ARGUMENT.
tsr_status tsri_axis_set(const char *caller, int rank, const int *axes, int axis_count, uint32_t *out_axes);

// A view without these axes, all of size 1. Passes a failed tensor on.
tsr_tensor *tsri_drop_axes(tsr_tensor *tensor, uint32_t axes);

// A view with `axis` (in range) as the last axis, and the way back: the last axis to `axis`.
tsr_tensor *tsri_axis_to_end(tsr_tensor *tensor, int axis);
tsr_tensor *tsri_axis_from_end(tsr_tensor *tensor, int axis);

#endif
