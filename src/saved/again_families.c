// SPDX-License-Identifier: MIT
// Convolutions, pooling, attention and other operators whose nodes lack some arguments of their public functions. These arguments are computed from the sizes of the
// results.
#include "saved/again_families.h"

#include "core/error.h"
#include "ops/attention_tiles.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/window.h"

#include <tessera/ops.h>

// --- Windows ---------------------------------------------------------------------------------------------------------

// Whether sums of products of such values cannot overflow here. The operator itself then refuses sizes that are too large, or 0.
static bool is_moderate(int64_t value) { return value >= 0 && value <= INT32_MAX; }

static bool are_moderate(const int64_t *values, int count) {
  bool is_all = true;
  for (int i = 0; i < count; i++) is_all = is_all && is_moderate(values[i]);
  return is_all;
}

// Spatial axis `i` of a tensor whose channels are axis 1, or the last one.
static int64_t spatial_size(tsr_shape shape, bool is_last, int i) { return shape.dims[i + (is_last ? 1 : 2)]; }

static int spatial_count(const tsri_again *s) {
  int rank = s->inputs[0]->layout.shape.rank;
  bool fits = rank >= 3 && rank <= 2 + TSRI_MAX_SPATIAL && s->results[0].shape.rank == rank;
  return fits ? rank - 2 : 0;
}

// From the first to the last element of a window, both included.
static int64_t extent(int64_t size, int64_t dilation) { return dilation * (size - 1) + 1; }

// The padding after an axis which gives `count` windows.
static int64_t padding_after(const tsri_window *w, int64_t count) {
  int64_t after = (count - 1) * w->stride + extent(w->size, w->dilation) - w->input - w->before;
  return after > 0 ? after : 0;
}

// Channels of x are axis 1, also if the operator was given them as the last one.
static tsr_tensor *with_channels(tsr_tensor *x, bool is_last) {
  return is_last ? tsr_moveaxis(x, 1, -1) : tsr_retain(x);
}

static void transposed_padding(const tsri_window *w, int64_t size, int i, tsr_conv_desc *desc) {
  int64_t more = size - ((w->input - 1) * w->stride + extent(w->size, w->dilation) - w->before);
  if (more > 0) desc->output_padding[i] = more;
  else desc->after[i] = -more;
}

tsr_tensor *tsri_again_conv(const tsri_again *s) {
  const tsri_conv_attributes *g = TSRI_AGAIN_GIVEN(s, conv);
  tsr_shape x = s->inputs[0]->layout.shape, weight = s->inputs[1]->layout.shape;
  bool is_last = g->is_last != 0, is_transposed = TSRI_AGAIN_IS(s, conv_transpose);
  int spatial = spatial_count(s);
  bool fits = spatial > 0 && weight.rank == x.rank && are_moderate(g->stride, spatial) &&
              are_moderate(g->dilation, spatial) && are_moderate(g->before, spatial) &&
              are_moderate(&x.dims[2], spatial) && are_moderate(&weight.dims[2], spatial) &&
              are_moderate(s->results[0].shape.dims, x.rank);
  if (!fits || !is_moderate(g->groups)) return tsri_again_wrong(s, "an attribute");
  tsr_conv_desc desc = {.groups = g->groups, .channels_last = is_last};
  for (int i = 0; i < spatial; i++) {
    tsri_window w = {.input = x.dims[2 + i],
                     .size = weight.dims[2 + i],
                     .stride = g->stride[i],
                     .dilation = g->dilation[i],
                     .before = g->before[i]};
    int64_t size = spatial_size(s->results[0].shape, is_last, i);
    desc.stride[i] = w.stride;
    desc.dilation[i] = w.dilation;
    desc.before[i] = w.before;
    if (is_transposed) transposed_padding(&w, size, i, &desc);
    else desc.after[i] = padding_after(&w, size);
  }
  tsr_tensor *images = with_channels(s->inputs[0], is_last), *bias = s->input_count == 3 ? s->inputs[2] : NULL;
  tsr_tensor *result = is_transposed ? tsr_conv_transpose(images, s->inputs[1], bias, &desc)
                                     : tsr_conv(images, s->inputs[1], bias, &desc);
  return tsri_then(result, images);
}

static void adaptive_desc(const tsri_again *s, int spatial, bool is_last, tsr_pool_desc *desc) {
  for (int i = 0; i < spatial; i++) desc->output[i] = spatial_size(s->results[0].shape, is_last, i);
}

static void window_desc(const tsri_again *s, int spatial, bool is_last, tsr_pool_desc *desc) {
  const tsri_pool_attributes *g = TSRI_AGAIN_GIVEN(s, pool);
  for (int i = 0; i < spatial; i++) {
    int64_t input = s->inputs[0]->layout.shape.dims[2 + i] + g->before[i] + g->after[i];
    int64_t rest = input - extent(g->size[i], g->dilation[i]);
    int64_t count = g->stride[i] > 0 && rest >= 0 ? rest / g->stride[i] + 1 : 0;
    if (count != spatial_size(s->results[0].shape, is_last, i)) desc->rounds_up = true;
    desc->size[i] = g->size[i];
    desc->stride[i] = g->stride[i];
    desc->dilation[i] = g->dilation[i];
    desc->before[i] = g->before[i];
    desc->after[i] = g->after[i];
  }
}

tsr_tensor *tsri_again_pool(const tsri_again *s) {
  const tsri_pool_attributes *g = TSRI_AGAIN_GIVEN(s, pool);
  bool is_last = g->is_last != 0, is_power = TSRI_AGAIN_IS(s, lp_pool);
  int spatial = spatial_count(s);
  bool fits = spatial > 0 && are_moderate(g->size, spatial) && are_moderate(g->stride, spatial) &&
              are_moderate(g->dilation, spatial) && are_moderate(g->before, spatial) &&
              are_moderate(g->after, spatial) && are_moderate(&s->inputs[0]->layout.shape.dims[2], spatial);
  if (!fits) return tsri_again_wrong(s, "an attribute");
  tsr_pool_desc desc = {.channels_last = is_last, .power = is_power ? g->power : 0};
  if (g->is_adaptive) adaptive_desc(s, spatial, is_last, &desc);
  else window_desc(s, spatial, is_last, &desc);
  if (!g->is_adaptive) desc.counts_padding = g->counts_padding != 0;
  tsr_tensor *images = with_channels(s->inputs[0], is_last);
  tsr_tensor *result = is_power                        ? tsr_lp_pool(images, &desc)
                       : TSRI_AGAIN_IS(s, argmax_pool) ? tsr_argmax_pool(images, &desc)
                       : TSRI_AGAIN_IS(s, avg_pool)    ? tsr_avg_pool(images, &desc)
                                                       : tsr_max_pool(images, &desc);
  return tsri_then(result, images);
}

tsr_tensor *tsri_again_columns(const tsri_again *s) {
  const tsri_columns_attributes *g = TSRI_AGAIN_GIVEN(s, columns);
  bool fits = g->spatial >= 1 && g->spatial <= TSRI_MAX_SPATIAL && are_moderate(g->stride, TSRI_MAX_SPATIAL) &&
              are_moderate(g->dilation, TSRI_MAX_SPATIAL) && are_moderate(g->before, TSRI_MAX_SPATIAL) &&
              are_moderate(g->size, TSRI_MAX_SPATIAL) && are_moderate(g->kernel, TSRI_MAX_SPATIAL) &&
              are_moderate(g->windows, TSRI_MAX_SPATIAL);
  if (!fits) return tsri_again_wrong(s, "an attribute");
  tsr_shape size = {.rank = (int32_t)g->spatial}, kernel = size;
  tsr_conv_desc desc = {0};
  for (int i = 0; i < size.rank; i++) {
    tsri_window w = {g->size[i], g->kernel[i], g->stride[i], g->dilation[i], g->before[i], 0};
    size.dims[i] = w.input;
    kernel.dims[i] = w.size;
    desc.stride[i] = w.stride;
    desc.dilation[i] = w.dilation;
    desc.before[i] = w.before;
    desc.after[i] = padding_after(&w, g->windows[i]);
  }
  if (TSRI_AGAIN_IS(s, col2im)) return tsr_col2im(s->inputs[0], size, kernel, &desc);
  return tsr_im2col(s->inputs[0], kernel, &desc);
}

// --- Attention -------------------------------------------------------------------------------------------------------

// The inputs after q, k and v, in their order.
typedef struct attention_parts {
  tsr_tensor *mask, *slopes, *lengths, *blocks;  // one reference each; NULL: none
} attention_parts;

static void release_parts(attention_parts *parts) {
  tsri_release_all((tsr_tensor *[]){parts->mask, parts->slopes, parts->lengths, parts->blocks}, 4);
}

// A table has the lengths in its first column, and the blocks in the others.
static void take_table(const tsri_attention_attributes *g, tsr_tensor *table, attention_parts *out) {
  if (g->has_lengths) {
    tsr_tensor *column = tsr_slice(table, 1, 0, 1, 1);
    out->lengths = tsri_then(tsr_squeeze(column, 1), column);
  }
  if (g->has_blocks) out->blocks = tsr_slice(table, 1, g->has_lengths ? 1 : 0, TSR_END, 1);
}

static bool take_parts(const tsri_again *s, attention_parts *out) {
  const tsri_attention_attributes *g = TSRI_AGAIN_GIVEN(s, attention);
  bool has_table = g->has_lengths || g->has_blocks;
  uint32_t at = 3, count = 3u + (g->mask != TSRI_MASK_NONE) + (g->has_slopes != 0) + has_table;
  if (s->input_count != count || g->mask < TSRI_MASK_NONE || g->mask > TSRI_MASK_ADDED) return false;
  if (g->mask != TSRI_MASK_NONE) {
    tsr_tensor *mask = s->inputs[at++];
    out->mask = g->mask == TSRI_MASK_TRUTH ? tsr_cast(mask, TSR_BOOL) : tsr_retain(mask);
  }
  if (g->has_slopes) out->slopes = tsr_retain(s->inputs[at++]);
  if (has_table) take_table(g, s->inputs[at], out);
  return true;
}

// Kernels that work in tiles have positions before heads in their result.
tsr_tensor *tsri_again_attention(const tsri_again *s) {
  const tsri_attention_attributes *g = TSRI_AGAIN_GIVEN(s, attention);
  attention_parts parts = {0};
  if (!take_parts(s, &parts)) return tsri_again_wrong(s, "number of inputs");
  tsr_attention_desc desc = {.scale = g->scale,
                             .softcap = g->softcap,
                             .window = g->window,
                             .slopes = parts.slopes,
                             .blocks = parts.blocks,
                             .lengths = parts.lengths,
                             .causal = g->is_causal != 0};
  tsr_tensor *result = tsr_attention(s->inputs[0], s->inputs[1], s->inputs[2], parts.mask, &desc);
  release_parts(&parts);
  return g->is_tiled ? tsri_then(tsr_transpose(result, 1, 2), result) : result;
}

// --- Others ----------------------------------------------------------------------------------------------------------

// The list of indices was a matrix with a row for each bag, unless there are offsets.
tsr_tensor *tsri_again_bag(const tsri_again *s) {
  const tsri_bag_attributes *g = TSRI_AGAIN_GIVEN(s, bag);
  uint32_t count = 2u + (g->has_offsets != 0) + (g->has_weights != 0);
  int64_t bags = s->results[0].shape.rank == 2 ? s->results[0].shape.dims[0] : 0;
  int64_t all = s->inputs[1]->layout.count;
  if (s->input_count != count || (!g->has_offsets && (bags == 0 || all % bags != 0)))
    return tsri_again_wrong(s, "an input");
  tsr_shape shape = g->has_offsets ? TSR_SHAPE(all) : TSR_SHAPE(bags, all / bags);
  tsr_tensor *indices = tsr_reshape(s->inputs[1], shape);
  tsr_tensor *weights = g->has_weights ? tsr_reshape(s->inputs[count - 1], shape) : NULL;
  tsr_bag_desc desc = {
      .mode = (tsr_bag_mode)g->mode, .ignores = g->ignores != 0, .ignored = g->ignored, .weights = weights};
  tsr_tensor *result = tsr_embedding_bag(s->inputs[0], indices, g->has_offsets ? s->inputs[2] : NULL, &desc);
  return tsri_then(tsri_then(result, weights), indices);
}

// Zero points have been converted to i32.
tsr_tensor *tsri_again_matmul_integer(const tsri_again *s) {
  const tsri_integer_attributes *g = TSRI_AGAIN_GIVEN(s, integer);
  uint32_t at = 2, count = 2u + (g->has_a != 0) + (g->has_b != 0);
  if (s->input_count != count) return tsri_again_wrong(s, "number of inputs");
  tsr_tensor *zero_a = g->has_a ? tsr_cast(s->inputs[at++], s->inputs[0]->dtype) : NULL;
  tsr_tensor *zero_b = g->has_b ? tsr_cast(s->inputs[at], s->inputs[1]->dtype) : NULL;
  tsr_tensor *result = tsr_matmul_integer(s->inputs[0], s->inputs[1], zero_a, zero_b);
  return tsri_then(tsri_then(result, zero_b), zero_a);
}
