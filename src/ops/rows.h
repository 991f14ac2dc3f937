// SPDX-License-Identifier: MIT
// Norms along rows with a result of a given dtype.
#ifndef TSRI_OPS_ROWS_H
#define TSRI_OPS_ROWS_H

#include "ops/operators.h"

// layer_norm or rms_norm (`op`: TSRI_BODY of one of them) with a result of `dtype`, a float, in which it also has weight and bias; these may be NULL. Rows of f16
// and bf16 with an f32 result are not cast first, unless the device's native operator computes the norm.
//
// Ownership: the caller's. Errors: those of tsr_layer_norm, as a failed tensor.
tsr_tensor *tsri_norm_to(const tsri_op *op, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps,
                         tsr_dtype dtype);

#endif
