// SPDX-License-Identifier: MIT
// The gradient of a convolution by its weights as a separate operator: for devices that compute it natively, and for depthwise convolutions on GPUs. Elsewhere
// the gradient is recorded as a convolution in which channels play the part of images (grad/rules_conv.c).
#ifndef TSRI_OPS_CONV_WEIGHT_H
#define TSRI_OPS_CONV_WEIGHT_H

#include "ops/operators.h"

extern const tsri_op tsri_op_conv_weight;

// Whether tsri_conv_weight has a fast implementation: native, or the kernel for depthwise convolutions. x and g (the gradient by the result) are [image,
// channel, spatial …]; `given` describes the convolution; `kernel` has the sizes of its weights along the spatial axes.
bool tsri_conv_weight_has_kernel(const tsr_tensor *x, const tsr_tensor *g, const tsri_conv_attributes *given,
                                 const int64_t *kernel);

// Records the gradient: [channels of the result, channels of a group of x, spatial …]. If the convolution has channels last in memory, so has the gradient. The
// caller releases it.
//
// Errors: those of the tensors, TSR_ERR_OUT_OF_MEMORY.
tsr_tensor *tsri_conv_weight(tsr_tensor *x, tsr_tensor *g, const tsri_conv_attributes *given, const int64_t *kernel);

#endif
