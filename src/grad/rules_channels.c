// SPDX-License-Identifier: MIT
// Gradients of norms of channels in training, and of the parts that they are made of. Channels are axis 1.
#include "grad/rule.h"
#include "ops/channel_sums.h"

static int64_t channel_elements(const tsr_tensor *x) { return x->layout.count / x->layout.shape.dims[1]; }

// A number for each channel along the axes of `x`.
static tsr_tensor *along(tsr_tensor *channels, const tsr_tensor *x) {
  return tsri_along_channels(channels, tsri_grad_wide(channels)->dtype, x->layout.shape.rank);
}

static tsr_tensor *sum_of_channels(tsr_tensor *x) {
  int axes[TSR_MAX_RANK], count = 0;
  for (int i = 0; i < tsr_tensor_shape(x).rank; i++) {
    if (i != 1) axes[count++] = i;
  }
  return tsr_sum(x, axes, count, false);
}

static tsr_tensor *row_of(tsr_tensor *table, int row) { return tsr_squeeze(tsr_slice(table, 0, row, row + 1, 1), 0); }

// Undoes the broadcast of an input of an element-wise operator: one number for each channel.
static tsr_tensor *one_of_each(tsr_tensor *spread) {
  tsr_tensor *x = spread;
  for (int i = 0; i < tsr_tensor_shape(spread).rank; i++) {
    if (i != 1) x = tsr_slice(x, i, 0, 1, 1);
  }
  return tsr_reshape(x, TSR_SHAPE(tsr_tensor_shape(spread).dims[1]));
}

// The axis of channels, found by the strides of `spread`, a tensor of one number per channel that was broadcast. It may not be axis 1: element-wise operators may
// see the axes of a view in another order.
static int channel_axis(const tsr_tensor *spread) {
  const tsri_layout *layout = &spread->layout;
  int single = 1;
  for (int i = 0; i < layout->shape.rank; i++) {
    if (layout->shape.dims[i] > 1 && layout->strides[i] != 0) return i;
    if (layout->shape.dims[i] == 1) single = i;
  }
  return single;  // of a single channel
}

// Inputs: x, mean, scale, and weight and bias if there are any, all broadcast to x. With u = (x - mean) * scale: the bias gets the sum of g, the weight that of g u, and x
// (g - mean(g) - u mean(g u)) * scale * weight, which includes what it gets through its mean and scale.
void tsri_gradient_channel_norm(const grad_view *v) {
  int kind = (int)(v->op - tsri_op_channel_norm), next = 3, axis = channel_axis(v->inputs[1]);
  int weight = kind & TSRI_NORM_WEIGHT ? next++ : 0, bias = kind & TSRI_NORM_BIAS ? next : 0;
  tsr_tensor *g = tsr_moveaxis(v->cotangents[0], axis, 1), *in[5], *first = NULL, *second = NULL;
  for (int i = 0; i < v->input_count; i++) in[i] = tsr_moveaxis(v->inputs[i], axis, 1);
  tsr_tensor *x = in[0], *mean = in[1], *scale = in[2];
  tsr_dtype wide = mean->dtype;
  tsri_channel_slopes(g, x, one_of_each(mean), one_of_each(scale), &first, &second);
  tsr_tensor *first_along = along(first, x), *second_along = along(second, x);
  if (weight && v->wants[weight]) v->gradients[weight] = tsr_moveaxis(second_along, 1, axis);
  if (bias && v->wants[bias]) v->gradients[bias] = tsr_moveaxis(first_along, 1, axis);
  tsri_scalars scalars = {.count = 1, .values = {1.0 / (double)channel_elements(x)}};
  tsri_operand_ref refs[7] = {
      {g, wide}, {x, wide}, {mean, wide}, {scale, wide}, {first_along, wide}, {second_along, wide}, {in[weight], wide}};
  if (!v->wants[0]) return;
  tsr_tensor *found =
      tsri_record_elementwise(&tsri_op_channel_norm_gradient[weight != 0], x->dtype, refs, weight ? 7 : 6, &scalars);
  v->gradients[0] = tsr_moveaxis(found, 1, axis);
}

// Inputs: g, x, mean, scale, both sums, perhaps the weight, all broadcast to x.
void tsri_gradient_of_channel_norm_gradient(const grad_view *v) {
  int64_t channels = tsr_tensor_shape(v->inputs[2]).dims[channel_axis(v->inputs[2])];
  double share = (double)channels / (double)v->inputs[1]->layout.count;
  tsr_tensor *c = tsri_grad_wide(v->cotangents[0]), *in[7];
  for (int i = 0; i < v->input_count; i++) in[i] = tsri_grad_wide(v->inputs[i]);
  tsr_tensor *g = in[0], *centred = tsr_sub(in[1], in[2]), *scale = in[3], *unit = tsr_mul(centred, scale);
  tsr_tensor *first = tsr_mul_scalar(in[4], share), *second = tsr_mul_scalar(in[5], share);
  tsr_tensor *weighted = v->input_count == 7 ? tsr_mul(c, in[6]) : c, *outer = tsr_mul(weighted, scale);
  tsr_tensor *rest = tsr_sub(tsr_sub(g, first), tsr_mul(unit, second));
  tsr_tensor *by_x = tsr_neg(tsr_mul(tsr_mul(outer, scale), second));
  tsr_tensor *by_scale = tsr_mul(weighted, tsr_sub(rest, tsr_mul(unit, second)));
  tsr_tensor *found[7] = {outer,
                          by_x,
                          tsr_neg(by_x),
                          by_scale,
                          tsr_mul_scalar(outer, -share),
                          tsr_mul_scalar(tsr_mul(outer, unit), -share),
                          tsr_mul(tsr_mul(c, rest), scale)};
  for (int i = 0; i < v->input_count; i++) {
    if (v->wants[i]) v->gradients[i] = found[i];
  }
}

// Input: x. The results are rows of one tensor: mean, variance, scale.
void tsri_gradient_channel_statistics(const grad_view *v) {
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *c = tsri_grad_wide(v->cotangents[0]), *y = v->outputs[0];
  double share = 1.0 / (double)channel_elements(x);
  tsr_tensor *mean = along(row_of(y, 0), x), *scale = row_of(y, 2);
  tsr_tensor *cube = tsr_mul(tsr_square(scale), scale);
  tsr_tensor *by_variance = tsr_sub(row_of(c, 1), tsr_mul_scalar(tsr_mul(cube, row_of(c, 2)), 0.5));
  tsr_tensor *spread = tsr_mul(tsr_sub(x, mean), along(tsr_mul_scalar(by_variance, 2 * share), x));
  v->gradients[0] = tsr_add(spread, along(tsr_mul_scalar(row_of(c, 0), share), x));
}

// Inputs: g, x, mean and scale. The results are rows of one tensor: the sum of g, and that of g * (x - mean) * scale.
void tsri_gradient_channel_slopes(const grad_view *v) {
  tsr_tensor *g = tsri_grad_wide(v->inputs[0]), *x = tsri_grad_wide(v->inputs[1]), *c = v->cotangents[0];
  tsr_tensor *centred = tsr_sub(x, along(v->inputs[2], x)), *scale = along(v->inputs[3], x);
  tsr_tensor *first = along(row_of(c, 0), x), *second = along(row_of(c, 1), x);
  tsr_tensor *inner = tsr_mul(tsr_mul(g, second), scale);
  if (v->wants[0]) v->gradients[0] = tsr_add(first, tsr_mul(second, tsr_mul(centred, scale)));
  if (v->wants[1]) v->gradients[1] = inner;
  if (v->wants[2]) v->gradients[2] = tsr_neg(sum_of_channels(inner));
  if (v->wants[3]) v->gradients[3] = sum_of_channels(tsr_mul(tsr_mul(g, second), centred));
}

// Input: x. The result is v = factor * the sum of (x - mean)^2, or its root: x gets 2 * factor * (x - mean) * g, or factor * (x - mean) * g / root, and 0
// where the root is 0.
void tsri_gradient_channel_spread(const grad_view *v) {
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *g = tsri_grad_wide(v->cotangents[0]);
  double factor = ((const tsri_channels_attributes *)v->attributes)->eps;
  bool is_root = v->op == &tsri_op_channel_spread[1];
  tsr_tensor *slope = tsr_mul_scalar(g, 2);
  if (is_root) {
    tsr_tensor *root = tsri_grad_wide(v->outputs[0]);
    slope = tsr_where(tsr_eq_scalar(root, 0), tsr_mul_scalar(g, 0), tsr_div(g, root));
  }
  tsr_tensor *mean = tsr_mean(x, TSR_AXES(0, 2), true);
  v->gradients[0] = tsr_mul(tsr_sub(x, mean), along(tsr_mul_scalar(slope, factor), x));
}
