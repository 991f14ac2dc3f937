// SPDX-License-Identifier: MIT
// Norms along rows, for their gradient.
#ifndef TSRI_OPS_NORM_ONE_PASS_H
#define TSRI_OPS_NORM_ONE_PASS_H

#include "ops/operators.h"

// The gradients of layer_norm and rms_norm by x, weight and bias in one pass over x and `g`, the gradient of the result; `weight` may be NULL. For rules: belongs to the
// open scope.
//
// False: the device has no kernel for rows of this length; nothing is recorded.
extern const tsri_op tsri_op_norm_one_pass;
bool tsri_norm_one_pass(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, const tsri_norm_attributes *given,
                        tsr_tensor **out_x, tsr_tensor **out_weight, tsr_tensor **out_bias);

#endif
