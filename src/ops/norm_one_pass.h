// SPDX-License-Identifier: MIT
// The gradient of layer_norm and rms_norm in one pass over memory, on GPUs.
#ifndef TSRI_OPS_NORM_ONE_PASS_H
#define TSRI_OPS_NORM_ONE_PASS_H

#include "ops/operators.h"

// Records the gradients of layer_norm and rms_norm by x, weight and bias, in one pass over x and `g`, the gradient of the result. `weight` may be NULL. `plus`,
// which has the shape of x or is NULL, is added to the gradient of x, which has x's dtype. All may have dtypes of their own; f16 and bf16 are not cast first. For
// gradient rules: the gradients belong to the open scope.
//
// Returns false if the device has no kernel for rows of this length; then nothing is recorded.
extern const tsri_op tsri_op_norm_one_pass;
bool tsri_norm_one_pass(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, tsr_tensor *plus,
                        const tsri_norm_attributes *given, tsr_tensor *out_gradients[3]);

#endif
