// SPDX-License-Identifier: MIT
// Gradients of convolution and pooling.
#include "grad/rule.h"
#include "ops/conv_weight.h"
#include "ops/pool.h"

typedef struct windows {
  int spatial;
  tsr_conv_desc desc;  // of the forward operator: stride, dilation, before, groups, channels_last
} windows;

static windows windows_of(int rank, const int64_t *stride, const int64_t *dilation, const int64_t *before,
                          int64_t groups) {
  windows w = {.spatial = rank - 2, .desc = {.groups = groups}};
  for (int i = 0; i < w.spatial; i++) {
    w.desc.stride[i] = stride[i];
    w.desc.dilation[i] = dilation[i];
    w.desc.before[i] = before[i];
  }
  return w;
}

// The number of positions from the start of the first of `count` windows of `size` elements to the end of the last.
static int64_t reach(const windows *w, int axis, int64_t count, int64_t size) {
  return (count - 1) * w->desc.stride[axis] + (size - 1) * w->desc.dilation[axis] + 1;
}

static tsr_tensor *crop(tsr_tensor *x, const int64_t *sizes, int spatial) {
  for (int i = 0; i < spatial; i++) {
    if (tsr_tensor_shape(x).dims[2 + i] > sizes[i]) x = tsr_slice(x, 2 + i, 0, sizes[i], 1);
  }
  return x;
}

typedef tsr_tensor *conv_call(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_conv_desc *desc);

// Calls `conv`. x and the result have their channels as axis 1; in memory the channels are where the forward operator has them (desc->channels_last).
static tsr_tensor *convolved(conv_call *conv, tsr_tensor *x, tsr_tensor *weight, const tsr_conv_desc *desc) {
  if (!desc->channels_last) return conv(x, weight, NULL, desc);
  return tsr_moveaxis(conv(tsr_moveaxis(x, 1, -1), weight, NULL, desc), -1, 1);
}

// The gradient by the input of a convolution: the transposed convolution of the result's gradient, with the input's size.
static tsr_tensor *spread_windows(const windows *w, tsr_tensor *g, tsr_tensor *weight, const int64_t *sizes) {
  tsr_conv_desc desc = w->desc;
  for (int i = 0; i < w->spatial; i++) {
    int64_t all = reach(w, i, tsr_tensor_shape(g).dims[2 + i], tsr_tensor_shape(weight).dims[2 + i]);
    int64_t after = all - desc.before[i] - sizes[i];
    desc.after[i] = after > 0 ? after : 0;
    desc.output_padding[i] = after < 0 ? -after : 0;
  }
  return convolved(tsr_conv_transpose, g, weight, &desc);
}

// The gradient by the input of a transposed convolution: the convolution of the result's gradient.
static tsr_tensor *collect_windows(const windows *w, tsr_tensor *g, tsr_tensor *weight, const int64_t *sizes) {
  tsr_conv_desc desc = w->desc;
  for (int i = 0; i < w->spatial; i++) {
    int64_t after =
        reach(w, i, sizes[i], tsr_tensor_shape(weight).dims[2 + i]) - desc.before[i] - tsr_tensor_shape(g).dims[2 + i];
    desc.after[i] = after > 0 ? after : 0;
  }
  return crop(convolved(tsr_conv, g, weight, &desc), sizes, w->spatial);
}

// [image, channel, …] as [channel of a group, image of each group, …].
static tsr_tensor *images_as_channels(tsr_tensor *x, int64_t groups) {
  if (groups == 1) return tsr_transpose(x, 0, 1);
  tsr_shape shape = tsr_tensor_shape(x), split = {.rank = shape.rank + 1, .dims = {shape.dims[0], groups}};
  split.dims[2] = shape.dims[1] / groups;
  for (int i = 2; i < shape.rank; i++) split.dims[1 + i] = shape.dims[i];
  tsr_tensor *turned = tsr_transpose(tsr_reshape(x, split), 0, 2);
  shape.dims[0] = split.dims[2];
  shape.dims[1] = groups * split.dims[0];
  return tsr_reshape(turned, shape);
}

// The gradient by the weight, as a convolution of `x` with the result's gradient `g`: images and channels change roles, and so do stride and dilation.
static tsr_tensor *weight_gradient(const windows *w, tsr_tensor *x, tsr_tensor *g, const int64_t *sizes) {
  tsr_conv_desc desc = {.groups = w->desc.groups};
  for (int i = 0; i < w->spatial; i++) {
    desc.stride[i] = w->desc.dilation[i];
    desc.dilation[i] = w->desc.stride[i];
    desc.before[i] = w->desc.before[i];
    int64_t after =
        reach(w, i, tsr_tensor_shape(g).dims[2 + i], sizes[i]) - desc.before[i] - tsr_tensor_shape(x).dims[2 + i];
    desc.after[i] = after > 0 ? after : 0;
  }
  tsr_tensor *found = tsr_conv(images_as_channels(x, desc.groups), tsr_transpose(g, 0, 1), NULL, &desc);
  return tsr_transpose(crop(found, sizes, w->spatial), 0, 1);
}

static tsr_tensor *channels_second(tsr_tensor *x, bool is_last) { return is_last ? tsr_moveaxis(x, -1, 1) : x; }

static windows windows_of_conv(int rank, const tsri_conv_attributes *given) {
  windows w = windows_of(rank, given->stride, given->dilation, given->before, given->groups);
  w.desc.channels_last = given->is_last != 0;
  return w;
}

// With its channels last in memory, and seen as axis 1.
static tsr_tensor *packed_last(tsr_tensor *x) { return tsr_moveaxis(tsr_contiguous(tsr_moveaxis(x, 1, -1)), -1, 1); }

// The gradient by the weight: by the device's native operator if it has one, else by weight_gradient. The gradient of the result may have its channels elsewhere in
// memory than the convolution had them; copying it there takes less time than a kernel that reads it as it is.
static tsr_tensor *weight_gradient_of(const windows *w, tsr_tensor *x, tsr_tensor *g, const tsri_conv_attributes *given,
                                      const int64_t *sizes) {
  if (tsri_conv_weight_has_kernel(x, g, given, sizes)) return tsri_conv_weight(x, g, given, sizes);
  if (given->is_last) {
    tsr_tensor *packed_x = packed_last(x), *packed_g = packed_last(g);
    if (tsri_conv_weight_has_kernel(packed_x, packed_g, given, sizes)) {
      return tsri_conv_weight(packed_x, packed_g, given, sizes);
    }
  }
  return weight_gradient(w, x, g, sizes);
}

// Inputs: x with its channels second, the weight, perhaps a bias.
void tsri_gradient_conv(const grad_view *v) {
  const tsri_conv_attributes *given = TSRI_GIVEN(v, conv);
  tsr_tensor *x = v->inputs[0], *weight = v->inputs[1];
  tsr_tensor *g = channels_second(v->cotangents[0], given->is_last != 0);
  tsr_shape shape = tsr_tensor_shape(x), kernel = tsr_tensor_shape(weight);
  windows w = windows_of_conv(shape.rank, given);
  bool is_transposed = given->is_transposed != 0;
  if (v->wants[0]) v->gradients[0] = (is_transposed ? collect_windows : spread_windows)(&w, g, weight, &shape.dims[2]);
  if (v->wants[1]) {
    // A transposed convolution is the gradient by x of a convolution with the same weights; there x and the gradient by the result change roles.
    tsri_conv_attributes plain = *given;
    plain.is_transposed = false;
    v->gradients[1] = is_transposed ? weight_gradient_of(&w, g, x, &plain, &kernel.dims[2])
                                    : weight_gradient_of(&w, x, g, given, &kernel.dims[2]);
  }
  if (v->input_count < 3 || !v->wants[2]) return;
  int axes[TSR_MAX_RANK], count = 0;
  for (int i = 0; i < shape.rank; i++) {
    if (i != 1) axes[count++] = i;
  }
  v->gradients[2] = tsr_sum(g, axes, count, false);
}

// Inputs: x and the gradient by the result, both with their channels second. The gradient by the weights is linear in both.
void tsri_gradient_of_conv_weight(const grad_view *v) {
  const tsri_conv_attributes *given = TSRI_GIVEN(v, conv);
  tsr_tensor *x = v->inputs[0], *g = v->inputs[1];
  tsr_tensor *weight = channels_second(v->cotangents[0], given->is_last != 0);
  tsr_shape x_shape = tsr_tensor_shape(x), g_shape = tsr_tensor_shape(g);
  windows w = windows_of_conv(x_shape.rank, given);
  if (v->wants[0]) v->gradients[0] = spread_windows(&w, g, weight, &x_shape.dims[2]);
  if (v->wants[1]) v->gradients[1] = collect_windows(&w, x, weight, &g_shape.dims[2]);
}

static int64_t product_from(tsr_shape shape, int first) {
  int64_t product = 1;
  for (int i = first; i < shape.rank; i++) product *= shape.dims[i];
  return product;
}

// The index of the largest element of each window within its plane of `count` elements, as [image, channel, window]. For windows without elements the index is
// `count`, which is out of range.
static tsr_tensor *places_of(tsr_tensor *x, const tsri_pool_attributes *given, tsr_shape counts, int64_t count) {
  tsr_tensor *places = tsri_pool_places(x, given, counts);
  tsr_tensor *flat = tsr_reshape(places, TSR_SHAPE(counts.dims[0], counts.dims[1], product_from(counts, 2)));
  return tsr_masked_fill(flat, tsr_lt_scalar(flat, 0), (double)count);
}

// Whether windows are not adaptive and have so few elements that it is cheaper for an element to look at all windows over it than to scatter the gradients.
static bool are_small(const tsri_pool_attributes *given, int spatial) {
  enum { FEW = 64 };
  int64_t elements = 1;
  for (int i = 0; i < spatial; i++) elements = elements > FEW ? elements : elements * given->size[i];
  return !given->is_adaptive && elements <= FEW;
}

// Each window's gradient goes to its largest element; windows may overlap.
void tsri_gradient_max_pool(const grad_view *v) {
  const tsri_pool_attributes *given = TSRI_GIVEN(v, pool);
  tsr_tensor *x = v->inputs[0], *g = channels_second(v->cotangents[0], given->is_last != 0);
  tsr_tensor *y = channels_second(v->outputs[0], given->is_last != 0);
  tsr_shape shape = tsr_tensor_shape(x), counts = tsr_tensor_shape(g);
  if (v->rectifies) g = tsr_masked_fill(g, tsr_le_scalar(y, 0), 0);
  if (are_small(given, shape.rank - 2)) {
    v->gradients[0] = tsri_max_pool_gradient(x, g, y, given);
    return;
  }
  int64_t plane = product_from(shape, 2);
  tsr_tensor *at = places_of(x, given, counts, plane);
  tsr_tensor *zeros = tsr_zeros(x->value->device, tsr_tensor_dtype(g), TSR_SHAPE(shape.dims[0], shape.dims[1], plane));
  v->gradients[0] = tsr_reshape(tsr_scatter_add(zeros, 2, at, tsr_reshape(g, tsr_tensor_shape(at))), shape);
}

// The gradient of max_pool is a sum of elements of `g`, and does not change with x.
void tsri_gradient_of_max_pool_gradient(const grad_view *v) {
  tsr_tensor *x = v->inputs[0];
  tsr_shape shape = tsr_tensor_shape(x), counts = tsr_tensor_shape(v->inputs[1]);
  int64_t plane = product_from(shape, 2);
  tsr_tensor *c = channels_second(v->cotangents[0], TSRI_GIVEN(v, pool)->is_last != 0);
  tsr_tensor *planes = tsr_reshape(c, TSR_SHAPE(shape.dims[0], shape.dims[1], plane));
  tsr_tensor *found = tsr_gather(planes, 2, places_of(x, TSRI_GIVEN(v, pool), counts, plane));
  if (v->wants[1]) v->gradients[1] = tsr_reshape(found, counts);
}

// How many elements each window divides by: those inside of x, or also those of its padding.
static tsr_tensor *window_counts(const windows *w, const tsri_pool_attributes *given, const tsr_tensor *x,
                                 tsr_shape count_of, tsr_tensor *kernel) {
  tsr_shape inside = {.rank = 2 + w->spatial, .dims = {1, 1}};
  tsr_conv_desc desc = w->desc;
  for (int i = 0; i < w->spatial; i++) {
    inside.dims[2 + i] = tsr_tensor_shape(x).dims[2 + i];
    if (given->counts_padding) {
      inside.dims[2 + i] += given->before[i] + given->after[i];
      desc.before[i] = 0;
    }
    int64_t after = reach(w, i, count_of.dims[2 + i], given->size[i]) - desc.before[i] - inside.dims[2 + i];
    desc.after[i] = after > 0 ? after : 0;
  }
  tsr_tensor *ones = tsr_ones(x->value->device, tsr_tensor_dtype(kernel), inside);
  return crop(tsr_conv(ones, kernel, NULL, &desc), &count_of.dims[2], w->spatial);
}

// Each element of a window gets its share; every image and channel is one image of one channel.
void tsri_gradient_avg_pool(const grad_view *v) {
  const tsri_pool_attributes *given = TSRI_GIVEN(v, pool);
  tsr_tensor *x = v->inputs[0], *g = channels_second(v->cotangents[0], given->is_last != 0);
  if (given->is_adaptive) {
    v->gradients[0] = tsri_grad_of_adaptive_mean(v);
    return;
  }
  tsr_shape shape = tsr_tensor_shape(x), count_of = tsr_tensor_shape(g);
  windows w = windows_of(shape.rank, given->stride, given->dilation, given->before, 1);
  tsr_shape kernel_shape = {.rank = shape.rank, .dims = {1, 1}}, flat = count_of;
  for (int i = 0; i < w.spatial; i++) kernel_shape.dims[2 + i] = given->size[i];
  flat.dims[0] = shape.dims[0] * shape.dims[1];
  flat.dims[1] = 1;
  tsr_tensor *kernel = tsr_ones(x->value->device, tsr_tensor_dtype(g), kernel_shape);
  tsr_tensor *share = tsr_div(tsr_reshape(g, flat), window_counts(&w, given, x, count_of, kernel));
  v->gradients[0] = tsr_reshape(spread_windows(&w, share, kernel, &shape.dims[2]), shape);
}
