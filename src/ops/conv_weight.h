// SPDX-License-Identifier: MIT
// The gradient of a convolution by its weights, as an operator of its own: for devices that compute it natively, and for depthwise convolutions on GPUs. Elsewhere it
// is a convolution whose channels are images (grad/rules_conv.c).
#ifndef TSRI_OPS_CONV_WEIGHT_H
#define TSRI_OPS_CONV_WEIGHT_H

#include "ops/operators.h"

extern const tsri_op tsri_op_conv_weight;

// Whether tsri_conv_weight computes the gradient fast: natively, or by the kernel for depthwise convolutions. x and g, the gradient by the result, are [image,
// channel, spatial …]; `given` is the convolution; `kernel` are the sizes of its weights along the spatial axes.
bool tsri_conv_weight_has_kernel(const tsr_tensor *x, const tsr_tensor *g, const tsri_conv_attributes *given,
                                 const int64_t *kernel);

// Records the gradient: [channels of the result, channels of a group of x, spatial …]. If the convolution has its channels last, so has the gradient in memory. Caller releases it.
//
// Errors: those of the tensors, TSR_ERR_OUT_OF_MEMORY.
tsr_tensor *tsri_conv_weight(tsr_tensor *x, tsr_tensor *g, const tsri_conv_attributes *given, const int64_t *kernel);

#endif
