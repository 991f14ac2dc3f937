// SPDX-License-Identifier: MIT
// Which convolutions cuDNN computes: over one or two axes, with operands that are packed with channels last, or all with channels before the axes.
#include "backends/cuda/dnn.h"

// In multiplications. With fewer, our own kernels are as fast, and opening cuDNN takes longer than the convolution.
int64_t tsri_cuda_least_conv = 1 << 22;

// Elements along the axes of an operand, outermost first, and how far apart they are.
typedef struct packed_axes {
  int64_t dims[4], strides[4];
} packed_axes;

// Whether elements lie one after the other; strides of axes of size 1 do not count.
static bool is_packed(const packed_axes *a) {
  int64_t next = 1;
  for (int i = 3; i >= 0; i--) {
    if (a->dims[i] != 1 && a->strides[i] != next) return false;
    next *= a->dims[i];
  }
  return true;
}

// An operand of `outer` x `channels` x axes, with its channels last or before the axes.
static packed_axes axes_of(bool is_last, int64_t outer, int64_t outer_stride, int64_t channels, int64_t channel_stride,
                           const int64_t *dims, const int64_t *strides) {
  if (is_last) {
    return (packed_axes){{outer, dims[1], dims[2], channels}, {outer_stride, strides[1], strides[2], channel_stride}};
  }
  return (packed_axes){{outer, channels, dims[1], dims[2]}, {outer_stride, channel_stride, strides[1], strides[2]}};
}

// Whether all operands are packed: with channels last if is_last, else with channels before the axes. A transposed convolution is the gradient of
// another convolution by x and has the weights of that convolution, so the outer axis of its weights belongs to its x, not to its y.
static bool are_packed(const tsri_conv_op *c, bool is_last) {
  int64_t outer = c->is_transposed ? c->channels : c->out_channels,
          inner = c->is_transposed ? c->out_channels : c->channels;
  int64_t outer_stride = c->is_transposed ? c->w_channel : c->w_out,
          inner_stride = c->is_transposed ? c->w_out : c->w_channel;
  packed_axes x = axes_of(is_last, c->images, c->x_image, c->groups * c->channels, c->x_channel, c->size, c->x_axes);
  packed_axes y =
      axes_of(is_last, c->images, c->y_image, c->groups * c->out_channels, c->y_channel, c->windows, c->y_axes);
  packed_axes w = axes_of(is_last, outer, outer_stride, inner, inner_stride, c->kernel, c->w_axes);
  bool has_groups = c->groups > 1;
  return is_packed(&x) && is_packed(&y) && is_packed(&w) && (!has_groups || c->w_group == outer * outer_stride);
}

// Whether cuDNN can express the padding. It pads both sides of an axis equally and computes the number of windows from that.
static bool fits(const cuda_conv *c) {
  for (int i = 0; i < CUDA_CONV_AXES; i++) {
    int64_t reach = (int64_t)(c->kernel[i] - 1) * c->dilation[i] + 1;
    int64_t room = (int64_t)c->size[i] + 2 * (int64_t)c->before[i] - reach;
    if (c->before[i] < 0 || room < 0 || room / c->stride[i] + 1 != c->windows[i]) return false;
  }
  return true;
}

static bool are_small(const tsri_conv_op *c) {
  const int64_t sizes[] = {c->images, c->groups * c->channels, c->groups * c->out_channels};
  for (int i = 0; i < 3; i++) {
    if (sizes[i] > INT32_MAX) return false;
  }
  // Offsets of elements are 32 bits wide in many of cuDNN's kernels.
  double plane_x = (double)c->size[1] * (double)c->size[2], plane_y = (double)c->windows[1] * (double)c->windows[2];
  return (double)sizes[0] * (double)sizes[1] * plane_x < (double)INT32_MAX &&
         (double)sizes[0] * (double)sizes[2] * plane_y < (double)INT32_MAX;
}

bool tsri_cuda_describe_conv(const tsri_native_op *op, cuda_conv *out) {
  const tsri_conv_op *c = &op->is.conv;
  bool is_by_weight = op->kind == TSRI_NATIVE_CONV_WEIGHT, is_last = are_packed(c, true);
  if (c->size[0] * c->kernel[0] * c->windows[0] != 1 || c->before[0] != 0 || !are_small(c)) return false;
  if (c->activation != TSRI_ACTIVATION_NONE || (c->has_bias && c->bias_step != 1 && c->out_channels > 1)) return false;
  if (!is_last && !are_packed(c, false)) return false;
  double taps = (double)c->channels * (double)c->kernel[1] * (double)c->kernel[2];
  const int64_t *positions = c->is_transposed ? c->size : c->windows;
  double work =
      taps * (double)(c->groups * c->out_channels) * (double)c->images * (double)positions[1] * (double)positions[2];
  if (work < (double)tsri_cuda_least_conv) return false;
  *out = (cuda_conv){.direction = is_by_weight       ? CUDA_CONV_BY_WEIGHT
                                  : c->is_transposed ? CUDA_CONV_BY_INPUT
                                                     : CUDA_CONV_FORWARD,
                     .dtype = (int32_t)op->dtype,
                     .is_last = is_last,
                     .has_bias = c->has_bias,
                     .images = (int32_t)c->images,
                     .groups = (int32_t)c->groups,
                     .channels = (int32_t)(c->groups * (c->is_transposed ? c->out_channels : c->channels)),
                     .out_channels = (int32_t)(c->groups * (c->is_transposed ? c->channels : c->out_channels))};
  for (int i = 0; i < CUDA_CONV_AXES; i++) {
    out->size[i] = (int32_t)(c->is_transposed ? c->windows : c->size)[1 + i];
    out->windows[i] = (int32_t)(c->is_transposed ? c->size : c->windows)[1 + i];
    out->kernel[i] = (int32_t)c->kernel[1 + i];
    out->stride[i] = (int32_t)c->stride[1 + i];
    out->dilation[i] = (int32_t)c->dilation[1 + i];
    out->before[i] = (int32_t)c->before[1 + i];
  }
  return fits(out);
}
