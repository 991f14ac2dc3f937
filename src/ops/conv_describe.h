// SPDX-License-Identifier: MIT
// Convolutions as native operators.
#ifndef TSRI_OPS_CONV_DESCRIBE_H
#define TSRI_OPS_CONV_DESCRIBE_H

#include "ops/operators.h"

// Describes a convolution of elements of `dtype`, without buffers. x is [image, channel, spatial …], w the weights; `bias` is NULL if there is none. `shape` is that of
// the result, which is row-major. None of them is empty.
tsri_conv_op tsri_conv_describe(const tsri_conv_attributes *given, const tsri_layout *x, const tsri_layout *w,
                                const tsri_layout *bias, tsr_shape shape, tsr_dtype dtype);

// The packed layout of weights of this shape, [outer channels, inner channels, spatial …]; is_last: in memory the inner channels come last.
tsri_layout tsri_conv_weight_layout(tsr_shape shape, bool is_last);

#endif
