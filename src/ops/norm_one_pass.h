// SPDX-License-Identifier: MIT
// Norms along rows, for their gradient.
#ifndef TSRI_OPS_NORM_ONE_PASS_H
#define TSRI_OPS_NORM_ONE_PASS_H

#include "ops/operators.h"

// The gradients of layer_norm and rms_norm by x, weight and bias in one pass over x and `g`, the gradient of the result; `weight` may be NULL. `plus`, which may be NULL, too, and has the shape of x, is added to
// the first. For rules: they belong to the open scope.
//
// False: the device has no kernel for rows of this length; nothing is recorded.
extern const tsri_op tsri_op_norm_one_pass;
bool tsri_norm_one_pass(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, tsr_tensor *plus,
                        const tsri_norm_attributes *given, tsr_tensor *out_gradients[3]);

#endif
