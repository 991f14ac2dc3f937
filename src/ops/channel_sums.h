// SPDX-License-Identifier: MIT
// The parts of training-mode norms over channels: the statistics of each channel, the norm itself, and its gradient. Channels are axis 1.
#ifndef TSRI_OPS_CHANNEL_SUMS_H
#define TSRI_OPS_CHANNEL_SUMS_H

#include "ops/operators.h"

// Statistics of x, [image, channel, …]: the result is [3, channels] with mean, variance and 1 / sqrt(variance + eps), from one pass over memory. The variance
// is the sum of squares divided by the count.
extern const tsri_op tsri_op_channel_statistics;

// Inputs: g (the gradient of the norm's result), x, and the mean and scale of each channel. Result: [2, channels] with the sums of g and of g * (x - mean) *
// scale.
extern const tsri_op tsri_op_channel_slopes;

// Element-wise: (x - mean) * scale * weight + bias, of x, mean, scale, and weight and bias if they are given. mean and scale must be the statistics of x: the
// gradient rule of this operator gives the complete gradient by x, and none by mean and scale. The array index has bit 0 for a weight and bit 1 for a bias.
enum { TSRI_NORM_WEIGHT = 1, TSRI_NORM_BIAS = 2 };
extern const tsri_op tsri_op_channel_norm[4];

// Element-wise gradient by x: (g - first * #0 - (x - mean) * scale * second * #0) * scale * weight. Inputs: g, x, mean, scale, both sums (`first`, `second`),
// and the weight if there is one (array index 1). #0 is 1 / (number of elements of a channel).
extern const tsri_op tsri_op_channel_norm_gradient[2];

// The statistics of the channels of x, in the wide dtype. Those that could not be computed are failed tensors. The caller releases all.
typedef struct tsri_channel_numbers {
  tsr_tensor *mean, *variance, *scale;
} tsri_channel_numbers;
tsri_channel_numbers tsri_channel_statistics(tsr_tensor *x, double eps);

// x is [reduced, channel, reduced], a view with any strides. Result, as `dtype`: the sum of squared distances from the channel's mean, times `factor` (array
// index 0, for var), or the square root of that (index 1, for std). Only if tsri_channel_one_pass(x).
extern const tsri_op tsri_op_channel_spread[2];
tsr_tensor *tsri_channel_spread(tsr_tensor *x, double factor, bool is_root, tsr_dtype dtype);

// Whether the statistics of x are computed in one pass over memory (GPUs).
bool tsri_channel_one_pass(const tsr_tensor *x);

// The sums of tsri_op_channel_slopes. `mean` and `scale` are the statistics of x. The caller releases both results.
void tsri_channel_slopes(tsr_tensor *g, tsr_tensor *x, tsr_tensor *mean, tsr_tensor *scale, tsr_tensor **out_first,
                         tsr_tensor **out_second);

// Casts a tensor with one number per channel to `dtype`, in a shape that broadcasts along axis 1 of `rank` axes. The caller releases it.
tsr_tensor *tsri_along_channels(tsr_tensor *channels, tsr_dtype dtype, int rank);

#endif
