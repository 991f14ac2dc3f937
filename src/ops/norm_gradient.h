// SPDX-License-Identifier: MIT
// The gradient of layer_norm and rms_norm by one native operator of a device.
#ifndef TSRI_OPS_NORM_GRADIENT_H
#define TSRI_OPS_NORM_GRADIENT_H

#include "ops/operators.h"

// Whether the device has the operator. x and g (the gradient of the result) are usable and have the same dtype and shape; weight may be NULL.
bool tsri_norm_has_gradient(const tsr_tensor *x, const tsr_tensor *g, const tsr_tensor *weight);

// The gradients of x, weight and bias. Call only if tsri_norm_has_gradient. `plus`, which has the shape and the dtype of x or is NULL, is added to the gradient
// of x. has_bias of `given` is not read.
extern const tsri_op tsri_op_norm_gradient;
void tsri_norm_gradients(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, tsr_tensor *plus,
                         const tsri_norm_attributes *given, tsr_tensor *out_gradients[3]);

#endif
