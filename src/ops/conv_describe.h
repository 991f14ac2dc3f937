// SPDX-License-Identifier: MIT
// Convolutions as native operators.
#ifndef TSRI_OPS_CONV_DESCRIBE_H
#define TSRI_OPS_CONV_DESCRIBE_H

#include "ops/operators.h"

// Describes a convolution of elements of `dtype` as a native operator, without buffers. x is the layout of [image, channel, spatial …], w that of the weights,
// `bias` that of the bias or NULL. `shape` is the shape of the result, which is row-major. No tensor is empty.
tsri_conv_op tsri_conv_describe(const tsri_conv_attributes *given, const tsri_layout *x, const tsri_layout *w,
                                const tsri_layout *bias, tsr_shape shape, tsr_dtype dtype);

// The packed layout of weights of this shape, [outer channels, inner channels, spatial …]; is_last: in memory the inner channels come last.
tsri_layout tsri_conv_weight_layout(tsr_shape shape, bool is_last);

#endif
