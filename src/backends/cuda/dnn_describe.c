// SPDX-License-Identifier: MIT
// Which convolutions cuDNN computes: those with operands that are packed with channels last, or all with channels before the axes.
#include "backends/cuda/dnn.h"
#include "backends/cuda/settle.h"

// In multiplications. With fewer, our own kernels are as fast, and opening cuDNN takes longer than the convolution.
int64_t tsri_cuda_least_conv = 1 << 22;

enum { RANK = 2 + TSRI_CONV_AXES };

// The axes of an operand, outermost first: number of elements and stride of each.
typedef struct packed_axes {
  int64_t dims[RANK], strides[RANK];
} packed_axes;

// Whether the operand is contiguous; strides of axes of size 1 are ignored.
static bool is_packed(const packed_axes *a) {
  int64_t next = 1;
  for (int i = RANK - 1; i >= 0; i--) {
    if (a->dims[i] != 1 && a->strides[i] != next) return false;
    next *= a->dims[i];
  }
  return true;
}

// The axes of an operand of `outer` x `channels` x spatial axes, with channels last if is_last, else before the spatial axes.
static packed_axes axes_of(bool is_last, int64_t outer, int64_t outer_stride, int64_t channels, int64_t channel_stride,
                           const int64_t *dims, const int64_t *strides) {
  packed_axes found = {{outer}, {outer_stride}};
  int first = is_last ? 1 : 2, channel = is_last ? RANK - 1 : 1;
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    found.dims[first + i] = dims[i];
    found.strides[first + i] = strides[i];
  }
  found.dims[channel] = channels;
  found.strides[channel] = channel_stride;
  return found;
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

static double product_of(const int64_t *axes) { return (double)axes[0] * (double)axes[1] * (double)axes[2]; }

static bool are_small(const tsri_conv_op *c) {
  const int64_t sizes[] = {c->images, c->groups * c->channels, c->groups * c->out_channels};
  for (int i = 0; i < 3; i++) {
    if (sizes[i] > INT32_MAX) return false;
  }
  // Offsets of elements are 32 bits wide in many of cuDNN's kernels.
  return (double)sizes[0] * (double)sizes[1] * product_of(c->size) < (double)INT32_MAX &&
         (double)sizes[0] * (double)sizes[2] * product_of(c->windows) < (double)INT32_MAX;
}

static bool is_exact(const cuda_device *device, tsr_dtype dtype) { return dtype == TSR_F32 && !device->allows_tf32; }

bool tsri_cuda_describe_conv(const cuda_device *device, const tsri_native_op *op, cuda_conv *out) {
  const tsri_conv_op *c = &op->is.conv;
  // If the operands are packed in both orders (a single channel, or a single position), choose the order for which cuDNN has the faster kernels.
  bool is_by_weight = op->kind == TSRI_NATIVE_CONV_WEIGHT, is_first = are_packed(c, false),
       is_last = are_packed(c, true) && !(is_first && is_exact(device, op->dtype));
  bool has_two_axes = c->size[0] * c->kernel[0] * c->windows[0] == 1 && c->before[0] == 0;
  if (!are_small(c)) return false;
  // No bias: the operator adds it (src/ops/conv.c), together with what comes after it. cudnnAddTensor takes 57 us for 64 x 256 x 31^2 in f32 on an H200, which is
  // half of what the memory could do.
  if (c->activation != TSRI_ACTIVATION_NONE || c->has_bias) return false;
  if (!is_last && !is_first) return false;
  double work = (double)c->channels * product_of(c->kernel) * (double)(c->groups * c->out_channels) *
                (double)c->images * product_of(c->is_transposed ? c->size : c->windows);
  if (work < (double)tsri_cuda_least_conv) return false;
  *out = (cuda_conv){.direction = is_by_weight       ? CUDA_CONV_BY_WEIGHT
                                  : c->is_transposed ? CUDA_CONV_BY_INPUT
                                                     : CUDA_CONV_FORWARD,
                     .dtype = (int32_t)op->dtype,
                     .is_last = is_last,
                     .axes = has_two_axes ? 2 : 3,
                     .images = (int32_t)c->images,
                     .groups = (int32_t)c->groups,
                     .channels = (int32_t)(c->groups * (c->is_transposed ? c->out_channels : c->channels)),
                     .out_channels = (int32_t)(c->groups * (c->is_transposed ? c->channels : c->out_channels))};
  for (int i = 0; i < CUDA_CONV_AXES; i++) {
    out->size[i] = (int32_t)(c->is_transposed ? c->windows : c->size)[i];
    out->windows[i] = (int32_t)(c->is_transposed ? c->size : c->windows)[i];
    out->kernel[i] = (int32_t)c->kernel[i];
    out->stride[i] = (int32_t)c->stride[i];
    out->dilation[i] = (int32_t)c->dilation[i];
    out->before[i] = (int32_t)c->before[i];
  }
  return fits(out);
}

double tsri_cuda_conv_work(const cuda_conv *conv) {
  double work = (double)conv->channels / conv->groups * conv->out_channels * conv->images;
  for (int i = 0; i < CUDA_CONV_AXES; i++) work *= (double)conv->kernel[i] * conv->windows[i];
  return work;
}

// Without TF32, cuDNN has direct convolutions in f32 that are faster than our tiles: forward, without groups, with channels before the axes. They have at least TILE channels by TILE positions
// in a tile and, unlike ours, do not split sums, so that there must be a tile for each multiprocessor. With few channels of x cuDNN has another kernel, which is slower than ours.
// Long sums are worth a tile that is mostly empty: 22 x 32 x 16^3 to 8, 3^3, takes 192 us, in our tiles 223.
static bool exact_gains(const cuda_device *device, const cuda_conv *conv) {
  enum { TILE = 32, LEAST_CHANNELS = 16, FEW_RESULTS = 8, LONG_SUM = 500 };
  double results = (double)conv->images * conv->out_channels;
  for (int i = 0; i < CUDA_CONV_AXES; i++) results *= conv->windows[i];
  int64_t terms = (int64_t)conv->channels * conv->kernel[0] * conv->kernel[1] * conv->kernel[2];
  bool is_long = conv->out_channels >= FEW_RESULTS && terms >= LONG_SUM;
  return conv->direction == CUDA_CONV_FORWARD && !conv->is_last && conv->groups == 1 &&
         conv->channels >= LEAST_CHANNELS && (conv->out_channels >= TILE || is_long) &&
         results >= (double)TILE * TILE * device->info.compute_units;
}

// Whether each channel of the result reads one channel of what the operator reads, as our kernel for depthwise convolutions wants it (src/ops/conv_depth.c).
static bool is_depthwise(const cuda_conv *conv) {
  enum { MOST_TAPS = 64, MOST_CHANNELS = 8 };
  bool is_by_input = conv->direction == CUDA_CONV_BY_INPUT;
  int32_t read = is_by_input ? conv->out_channels : conv->channels,
          made = is_by_input ? conv->channels : conv->out_channels;
  return read == conv->groups && made / conv->groups < MOST_CHANNELS && conv->kernel[1] * conv->kernel[2] <= MOST_TAPS;
}

// cuDNN's depthwise convolutions are fast with channels last over two axes, without dilation. On an H200, with operands that have channels before the axes and
// so were copied: 64 x 32 x 4096, 5 / 2, dilation 2, TF32, takes 191 us (PyTorch 49); 9 x 256 x 8^3, 3^3, bf16, 60 (PyTorch 27); 2 x 32 x 8 x 28^2, 3^3, f16, 37
// (ours 24).
static bool depthwise_gains(const cuda_conv *conv) {
  bool is_dilated = conv->dilation[1] != 1 || conv->dilation[2] != 1;
  bool is_usual = conv->is_last && conv->axes == 2 && !is_dilated && conv->dtype != TSR_F32;
  return conv->groups > 1 && is_usual;
}

// A kernel that is larger than the result is that of a gradient by the weights, which is recorded as a convolution; of a depthwise one, cuDNN takes 19 ms.
static bool has_large_kernel(const cuda_conv *conv) {
  enum { LARGE_KERNEL = 256 };
  int64_t taps = 1, results = 1;
  for (int i = 0; i < CUDA_CONV_AXES; i++) taps *= conv->kernel[i], results *= conv->windows[i];
  return conv->direction == CUDA_CONV_FORWARD && taps > LARGE_KERNEL && taps > results;
}

// cuDNN's kernels for groups use matrix units if a group has a multiple of 16 bytes of channels on both sides. Else short sums take them longer than our tiles
// without matrix units: 64 x 16 x 56^2 to 128, 3 x 3, dilation 2, 2 groups, TF32, takes 4248 us on an H200, at 0.9 TFLOP/s. Of 96 x 128^2 to 100, 7 x 7, 2 groups,
// bf16, where a sum has 2,352 terms, cuDNN takes 104 us and our kernel 484; of 48 x 56^2 to 100, 7 x 7, 4 groups, TF32, with 588 terms 291 and 380; of 96 x 14^2
// to 100, 3 x 3, 4 groups, f16, with 216 terms 78 and 46.
static bool group_gains(const cuda_conv *conv) {
  enum { ALIGNMENT = 16, LEAST_CHANNELS = 16, LONG_SUM = 500 };
  if (has_large_kernel(conv)) return false;
  int64_t taps = (int64_t)conv->kernel[0] * conv->kernel[1] * conv->kernel[2];
  int32_t a = conv->channels / conv->groups, b = conv->out_channels / conv->groups;
  int32_t unit = ALIGNMENT / (int32_t)tsr_dtype_bytes((tsr_dtype)conv->dtype);
  bool is_aligned = a % unit == 0 && b % unit == 0 && a >= LEAST_CHANNELS && b >= LEAST_CHANNELS;
  return is_aligned || (conv->direction == CUDA_CONV_FORWARD && taps * a >= LONG_SUM);
}

bool tsri_cuda_conv_has_rival(const cuda_conv *conv) {
  return conv->groups > 1 && !conv->is_last && conv->direction != CUDA_CONV_BY_WEIGHT;
}

// Whether cuDNN is timed and, if it turns out to be slow, the convolution is left to our tiles (dnn.c).
static bool is_timed(const cuda_device *device, const cuda_conv *conv) {
  return device->allows_timing && tsri_cuda_conv_has_rival(conv) &&
         tsri_cuda_conv_work(conv) >= (double)tsri_cuda_timing.least_work;
}

bool tsri_cuda_conv_gains(const cuda_device *device, const cuda_conv *conv) {
  if (is_exact(device, (tsr_dtype)conv->dtype)) return exact_gains(device, conv);
  if (conv->direction != CUDA_CONV_BY_WEIGHT && is_depthwise(conv)) return depthwise_gains(conv);
  return conv->groups == 1 || (is_timed(device, conv) && !has_large_kernel(conv)) || group_gains(conv);
}

// cuDNN's kernels read channels last. If channels come before the axes it turns x and the result itself, in passes that also round to TF32 and pad channels; with
// channels last it makes passes of their own for that, and cuts groups out of x. So for operands that it takes as they are, whose groups are one and whose
// channels are aligned and not few, channels last are faster, although x is copied first; for others the order that x has: 16 x 112^2 to 8, 3 x 3, transposed,
// TF32, takes 74 us with channels last and a copy of x on an H200, 62 without; 24 x 28^3 to 64 in two groups, 3^3, f16, 51 and 37; 16 x 31^2 to 100, 3 x 3, bf16, 94 and 72.
// x of very few channels is copied all the same: it is small beside the result, whose order the following operators take over.
bool tsri_cuda_conv_prefers_first(const cuda_conv *conv) {
  enum { FEW_CHANNELS = 8, NARROW = 32, ALIGNMENT = 16, SMALL_BYTES = 1 << 20 };
  bool is_by_input = conv->direction == CUDA_CONV_BY_INPUT;
  int32_t element = (int32_t)tsr_dtype_bytes((tsr_dtype)conv->dtype),
          read = is_by_input ? conv->out_channels : conv->channels,
          made = is_by_input ? conv->channels : conv->out_channels;
  const int32_t *axes = is_by_input ? conv->windows : conv->size;
  if (conv->groups > 1) return true;
  if (read < FEW_CHANNELS) return false;
  bool is_aligned = read * element % ALIGNMENT == 0 && made * element % ALIGNMENT == 0;
  bool is_small = (double)conv->images * read * axes[0] * axes[1] * axes[2] * element <= SMALL_BYTES;
  return !is_aligned || is_small || (conv->dtype == TSR_F32 && (read < NARROW || made < NARROW));
}
