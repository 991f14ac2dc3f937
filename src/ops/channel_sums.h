// SPDX-License-Identifier: MIT
// The parts that training a norm of channels is made of: statistics of each channel, the norm itself, and its gradient. Channels are axis 1.
#ifndef TSRI_OPS_CHANNEL_SUMS_H
#define TSRI_OPS_CHANNEL_SUMS_H

#include "ops/operators.h"

// x as [image, channel, …] gives [mean, variance, 1 / sqrt(variance + eps)] x channels in one pass over memory; the variance is divided by the count.
extern const tsri_op tsri_op_channel_statistics;

// The gradient g of the norm's result, x, and the mean and scale of its channels give [sum of g, sum of g * (x - mean) * scale] x channels.
extern const tsri_op tsri_op_channel_slopes;

// Element by element: (x - mean) * scale * weight + bias, of x, mean, scale, and weight and bias if there are any. Its mean and scale are those of x: its rule
// gives the whole gradient by x, and none by them. The index has bit 0 for a weight and bit 1 for a bias.
enum { TSRI_NORM_WEIGHT = 1, TSRI_NORM_BIAS = 2 };
extern const tsri_op tsri_op_channel_norm[4];

// The gradient by x, element by element: (g - first * #0 - (x - mean) * scale * second * #0) * scale * weight, of g, x, mean, scale, both sums, and the weight if
// there is one (index 1). #0 is 1 / the elements of a channel.
extern const tsri_op tsri_op_channel_norm_gradient[2];

// Numbers of the channels, in the wide dtype of x. Those that could not be computed are failed tensors. Caller releases all.
typedef struct tsri_channel_numbers {
  tsr_tensor *mean, *variance, *scale;
} tsri_channel_numbers;
tsri_channel_numbers tsri_channel_statistics(tsr_tensor *x, double eps);

// x as [reduced, channel, reduced], a view with any strides, gives the sum of squared distances from the channel's mean, times `factor`, or the root of that, as `dtype`. Only
// where tsri_channel_one_pass(x). The first is var, the second std.
extern const tsri_op tsri_op_channel_spread[2];
tsr_tensor *tsri_channel_spread(tsr_tensor *x, double factor, bool is_root, tsr_dtype dtype);

// Whether statistics of x are made in one pass over memory: where groups of items read it together.
bool tsri_channel_one_pass(const tsr_tensor *x);

// `mean` and `scale` are numbers of the channels of x. Caller releases both results.
void tsri_channel_slopes(tsr_tensor *g, tsr_tensor *x, tsr_tensor *mean, tsr_tensor *scale, tsr_tensor **out_first,
                         tsr_tensor **out_second);

// A number for each channel as `dtype`, in a shape that broadcasts along axis 1 of `rank` axes. Caller releases it.
tsr_tensor *tsri_along_channels(tsr_tensor *channels, tsr_dtype dtype, int rank);

#endif
