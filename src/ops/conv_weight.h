// SPDX-License-Identifier: MIT
// The gradient of a convolution by its weights, as an operator of its own: for devices that compute it natively. Elsewhere it is a convolution whose channels are
// images (grad/rules_conv.c).
#ifndef TSRI_OPS_CONV_WEIGHT_H
#define TSRI_OPS_CONV_WEIGHT_H

#include "ops/operators.h"

extern const tsri_op tsri_op_conv_weight;

// Whether the device of x computes the gradient natively. x and g, the gradient by the result, are [image, channel, spatial …]; `given` is the convolution, which is not
// transposed and has one group; `kernel` are the sizes of its weights along the spatial axes.
bool tsri_conv_weight_is_native(const tsr_tensor *x, const tsr_tensor *g, const tsri_conv_attributes *given,
                                const int64_t *kernel);

// Records the gradient: [channels of the result, channels of x, spatial …]. If the convolution has its channels last, so has the gradient in memory. Caller releases it.
//
// Errors: those of the tensors, TSR_ERR_OUT_OF_MEMORY.
tsr_tensor *tsri_conv_weight(tsr_tensor *x, tsr_tensor *g, const tsri_conv_attributes *given, const int64_t *kernel);

#endif
