// SPDX-License-Identifier: MIT
// Statistics of channels, and the sums that their gradients need: on GPUs two numbers in one pass over memory (kernels/op_channels.tk), elsewhere by
// reductions.
#include "ops/channel_sums.h"

#include "core/error.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

enum {
  ITEMS = 256
};  // items of a work-group; half as many for f64, whose sums take more shared memory than every device has

// --- How channels lie ------------------------------------------------------------------------------------------------

// How the elements of a channel are found. Element r of channel c is at r / inner * steps[0] + c * steps[1] + r % inner * steps[2]; is_last: channels are the
// last axis, inner is 1. is_packed: there are no gaps between the elements.
typedef struct channel_order {
  bool is_packed, is_last;
  int64_t rows, channels, inner;
  int64_t steps[3];
} channel_order;

static void set_packed_steps(channel_order *order) {
  int64_t inner = order->is_last ? 1 : order->inner;
  order->steps[0] = order->channels * inner;
  order->steps[1] = inner;
  order->steps[2] = 1;
}

static channel_order order_of(const tsri_layout *x) {
  channel_order order = {.channels = x->shape.dims[1], .inner = 1};
  order.rows = x->count / order.channels;
  for (int i = 2; i < x->shape.rank; i++) order.inner *= x->shape.dims[i];
  order.is_packed = tsri_layout_is_contiguous(x);
  order.is_last = order.is_packed && order.inner == 1;
  set_packed_steps(&order);
  if (order.is_packed) return order;
  int64_t next = order.channels;  // the stride of the next axis if channels come last
  bool is_last = order.channels == 1 || x->strides[1] == 1;
  for (int i = x->shape.rank - 1; i >= 0 && is_last; i--) {
    if (i == 1) continue;
    is_last = x->shape.dims[i] == 1 || x->strides[i] == next;
    next *= x->shape.dims[i];
  }
  order.is_packed = order.is_last = is_last;
  set_packed_steps(&order);
  return order;
}

// As order_of, for a view of [reduced, channel, reduced] with any strides.
static channel_order strided_order_of(const tsri_layout *x) {
  channel_order order = order_of(x);
  if (order.is_packed) return order;
  order.is_last = order.inner == 1;
  for (int i = 0; i < 3; i++) order.steps[i] = x->strides[i];
  return order;
}

// How the sums are distributed: a work-group has `quads` x `width` channels and `depth` rows; an item reads `along`
// elements at once.
typedef struct channel_cut {
  int items, width, along, quads;
  int64_t across, chunks, depth;
} channel_cut;

static channel_cut cut_of(const tsri_kernel_run *run, tsr_dtype wide, const channel_order *order, bool is_aligned) {
  enum { MOST_QUADS = 16, MOST_SHORT = 32, ROWS_PER_ITEM = 8, GROUPS_PER_TILE = 4, MOST_CHUNKS = 4096, FEW = 16384 };
  channel_cut cut = {.items = wide == TSR_F64 ? ITEMS / 2 : ITEMS,
                     .width = order->is_last && is_aligned && order->channels % 4 == 0 ? 4 : 1,
                     .along = !order->is_last && is_aligned && order->inner % 4 == 0 ? 4 : 1,
                     .quads = 1};
  int64_t busy = (int64_t)TSRI_TUNED(tsri_tuning_of(run->device), matmul_tiles) * GROUPS_PER_TILE;  // work-groups
  // Twice as many work-groups with half the items need fewer steps to join the items' sums.
  if (!order->is_last && order->channels >= 2 * busy) cut.items /= 2;
  while (order->is_last && cut.quads < MOST_QUADS && cut.quads * cut.width < order->channels) cut.quads *= 2;
  // If channels have few elements, several channels share a work-group, so that each of its items adds up at least `each` loads.
  int each = cut.along > 1 ? 4 : 16;
  while (!order->is_last && cut.quads < MOST_SHORT && cut.items / (2 * cut.quads) * cut.along * each >= order->rows)
    cut.quads *= 2;
  cut.across = (order->channels + cut.quads * cut.width - 1) / (cut.quads * cut.width);
  int64_t wanted = busy / cut.across;
  int64_t most = order->rows / ((int64_t)(cut.items / cut.quads) * ROWS_PER_ITEM);
  if (most > MOST_CHUNKS) most = MOST_CHUNKS;
  if (wanted > most) wanted = most;
  // With one chunk, no second launch is needed to join the chunks. For few elements that is faster, although one work-group reads them all.
  if (wanted < 1 || order->rows * cut.quads * cut.width <= FEW) wanted = 1;
  cut.depth = (order->rows + wanted - 1) / wanted;
  cut.depth = (cut.depth + cut.along - 1) / cut.along * cut.along;
  cut.chunks = (order->rows + cut.depth - 1) / cut.depth;
  return cut;
}

// --- Launches --------------------------------------------------------------------------------------------------------

// What to sum. `x` and `g` are indices of inputs; they are equal if there is no gradient. With a gradient, inputs 2 and 3 are the mean and the scale.
typedef struct channel_work {
  int x, g;
  tsr_dtype wide;  // dtype of the sums
  int spread;      // SPREAD of the kernels
  double eps;      // or the factor of a spread
} channel_work;

// The parameter RUNS of the kernel channel_parts.
static int runs_of(const channel_order *order, const channel_cut *cut) {
  if (cut->along == 1) return 0;
  if (order->rows <= order->inner) return 1;
  return (int64_t)(cut->items / cut->quads) * cut->along <= order->inner ? 2 : 0;
}

static tsr_status add_up(const tsri_kernel_run *run, const channel_work *work, tsr_buffer *parts,
                         const channel_order *order, const channel_cut *cut) {
  int x = work->x, g = work->g;
  bool is_gradient = x != g, is_last_step = work->spread && cut->chunks == 1;
  tsr_dtype result = is_last_step ? run->dtype : work->wide;
  int mean = is_gradient ? 2 : x, scale = is_gradient ? 3 : x;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_channels", "channel_parts",
      TSRI_WITH(TSRI_TYPE("X", run->input_dtypes[x]), TSRI_TYPE("G", run->input_dtypes[g]), TSRI_TYPE("A", work->wide),
                TSRI_TYPE("R", result), TSRI_CONSTANT("GRADIENT", is_gradient),
                TSRI_CONSTANT("SPREAD", is_last_step ? work->spread : 0), TSRI_CONSTANT("LAST", order->is_last),
                TSRI_CONSTANT("W", cut->width), TSRI_CONSTANT("ALONG", cut->along), TSRI_CONSTANT("QUADS", cut->quads),
                TSRI_CONSTANT("LANES", cut->items / cut->quads),
                TSRI_CONSTANT("QUADS_AHEAD", tsri_tuning_of(run->device)->channel_reads),
                TSRI_CONSTANT("RUNS", runs_of(order, cut)), TSRI_CONSTANT("WG", cut->items)));
  tsri_call_buffer(&call, "x", run->inputs[x], run->input_dtypes[x]);
  tsri_call_buffer(&call, "g", run->inputs[g], run->input_dtypes[g]);
  tsri_call_buffer(&call, "mean", run->inputs[mean], work->wide);
  tsri_call_buffer(&call, "scale", run->inputs[scale], work->wide);
  tsri_call_buffer(&call, "parts", is_last_step ? run->output : parts, result);
  tsri_call_word(&call, "rows", order->rows);
  tsri_call_word(&call, "channels", order->channels);
  tsri_call_word(&call, "inner", order->inner);
  tsri_call_word(&call, "depth", cut->depth);
  tsri_call_words(&call, "step", 0, order->steps, 3);
  tsri_call_word(&call, "x_at", run->layouts[x].offset);
  tsri_call_word(&call, "g_at", run->layouts[g].offset);
  tsri_call_word(&call, "m_at", run->layouts[mean].offset);
  tsri_call_word(&call, "s_at", run->layouts[scale].offset);
  tsri_call_real(&call, "factor", work->eps);
  return tsri_call_groups(&call, cut->across, cut->chunks, 1);
}

static tsr_status join(const tsri_kernel_run *run, const channel_work *work, tsr_buffer *parts,
                       const channel_order *order, const channel_cut *cut) {
  enum { QUADS = 4 };  // channels of a group: few, since there are up to a thousand parts of each
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_channels", "channel_join",
      TSRI_WITH(TSRI_TYPE("A", work->wide), TSRI_TYPE("R", run->dtype), TSRI_CONSTANT("GRADIENT", work->x != work->g),
                TSRI_CONSTANT("SPREAD", work->spread), TSRI_CONSTANT("QUADS", QUADS),
                TSRI_CONSTANT("LANES", ITEMS / QUADS), TSRI_CONSTANT("WG", ITEMS)));
  tsri_call_buffer(&call, "parts", parts, work->wide);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "chunks", cut->chunks);
  tsri_call_word(&call, "rows", order->rows);
  tsri_call_word(&call, "depth", cut->depth);
  tsri_call_word(&call, "channels", order->channels);
  tsri_call_real(&call, "eps", work->eps);
  return tsri_call_groups(&call, (order->channels + QUADS - 1) / QUADS, 1, 1);
}

static tsr_status run_sums(const tsri_kernel_run *run, const channel_work *work) {
  const tsri_layout *x = &run->layouts[work->x], *g = &run->layouts[work->g];
  channel_order order = work->spread ? strided_order_of(x) : order_of(x);
  bool is_aligned = order.is_packed && x->offset % 4 == 0 && g->offset % 4 == 0;
  channel_cut cut = cut_of(run, work->wide, &order, is_aligned);
  tsr_status status = tsri_call_check(run->node->op->name, x);
  if (status == TSR_OK) status = tsri_call_check(run->node->op->name, g);
  if (status != TSR_OK) return status;
  if (work->spread && cut.chunks == 1) return add_up(run, work, NULL, &order, &cut);
  tsr_buffer *parts = NULL;
  status = tsri_call_scratch(run->device, 2 * cut.chunks * order.channels, work->wide, &parts);
  if (status == TSR_OK) status = add_up(run, work, parts, &order, &cut);
  if (status == TSR_OK) status = join(run, work, parts, &order, &cut);
  tsr_buffer_release(parts);
  return status;
}

// Input: x, contiguous, with channels last or as axis 1.
static tsr_status run_statistics(const tsri_kernel_run *run) {
  return run_sums(run, &(channel_work){.wide = run->dtype, .eps = TSRI_GIVEN(run->node, channels)->eps});
}

// Inputs: g and x, both contiguous and in the same order; mean; scale.
static tsr_status run_slopes(const tsri_kernel_run *run) {
  return run_sums(run, &(channel_work){.x = 1, .g = 0, .wide = run->dtype});
}

static tsr_status run_spread(const tsri_kernel_run *run) {
  return run_sums(run, &(channel_work){.wide = tsri_accumulator(run->input_dtypes[0]),
                                       .spread = run->node->op == &tsri_op_channel_spread[0] ? 1 : 2,
                                       .eps = TSRI_GIVEN(run->node, channels)->eps});
}

#define SPREAD(text)                                                                               \
  {                                                                                                \
    .name = (text), .kind = TSRI_OP_KERNEL, .run = run_spread, .attribute_set = TSRI_SET_channels, \
    .attribute_bytes = sizeof(tsri_channels_attributes)                                            \
  }

const tsri_op tsri_op_channel_spread[2] = {SPREAD("var"), SPREAD("std")};

const tsri_op tsri_op_channel_statistics = {.name = "batch_norm_train",
                                            .kind = TSRI_OP_KERNEL,
                                            .is_for_device = true,
                                            .run = run_statistics,
                                            .attribute_set = TSRI_SET_channels,
                                            .attribute_bytes = sizeof(tsri_channels_attributes)};

const tsri_op tsri_op_channel_slopes = {
    .name = "batch_norm_train", .kind = TSRI_OP_KERNEL, .is_for_device = true, .run = run_slopes};

#define ELEMENTWISE(text) \
  { .name = "batch_norm_train", .kind = TSRI_OP_ELEMENTWISE, .expression = (text) }

const tsri_op tsri_op_channel_norm[4] = {ELEMENTWISE("($0 - $1) * $2"), ELEMENTWISE("($0 - $1) * $2 * $3"),
                                         ELEMENTWISE("($0 - $1) * $2 + $3"), ELEMENTWISE("($0 - $1) * $2 * $3 + $4")};

const tsri_op tsri_op_channel_norm_gradient[2] = {ELEMENTWISE("($0 - $4 * #0 - ($1 - $2) * $3 * $5 * #0) * $3"),
                                                  ELEMENTWISE("($0 - $4 * #0 - ($1 - $2) * $3 * $5 * #0) * $3 * $6")};

// --- Recording -------------------------------------------------------------------------------------------------------

// Whether the device computes both numbers of a channel in one pass: whether neighbouring items have coalesced loads (GPUs).
static bool has_groups(tsr_device *device) {
  tsri_graph_state *state = NULL;
  return tsri_graph_state_for(device, &state) == TSR_OK && state->tuning.row_held != 0 &&
         device->limits.max_group_size >= ITEMS;
}

bool tsri_channel_one_pass(const tsr_tensor *x) {
  return tsri_dtype_is_float(x->dtype) && has_groups(x->value->device);
}

tsr_tensor *tsri_along_channels(tsr_tensor *channels, tsr_dtype dtype, int rank) {
  tsr_shape shape = {.rank = rank};
  for (int i = 0; i < rank; i++) shape.dims[i] = i == 1 ? tsr_tensor_shape(channels).dims[0] : 1;
  tsr_tensor *cast = tsr_cast(channels, dtype);
  return tsri_then(tsr_reshape(cast, shape), cast);
}

static tsr_tensor *row_of(tsr_tensor *table, int row) {
  tsr_tensor *slice = tsr_slice(table, 0, row, row + 1, 1);
  return tsri_then(tsr_squeeze(slice, 0), slice);
}

static int axes_but_channels(int rank, int *axes) {
  int count = 0;
  for (int i = 0; i < rank; i++) {
    if (i != 1) axes[count++] = i;
  }
  return count;
}

static tsr_tensor *packed(tsr_tensor *x) { return order_of(&x->layout).is_packed ? tsr_retain(x) : tsr_contiguous(x); }

tsr_tensor *tsri_channel_spread(tsr_tensor *x, double factor, bool is_root, tsr_dtype dtype) {
  const tsri_op *op = &tsri_op_channel_spread[is_root ? 1 : 0];
  return tsri_record_kernel(op, x->value->device, dtype, TSR_SHAPE(x->layout.shape.dims[1]), &x, 1,
                            TSRI_GIVE(op, channels, .eps = factor));
}

tsri_channel_numbers tsri_channel_statistics(tsr_tensor *x, double eps) {
  const tsri_op *op = &tsri_op_channel_statistics;
  tsr_dtype wide = tsri_accumulator(tsri_promote_float(x->dtype));
  tsri_channel_numbers found;
  if (tsri_channel_one_pass(x)) {
    tsr_tensor *input = packed(x);
    tsr_tensor *table = tsri_record_kernel(op, x->value->device, wide, TSR_SHAPE(3, x->layout.shape.dims[1]), &input, 1,
                                           TSRI_GIVE(op, channels, .eps = eps));
    found = (tsri_channel_numbers){row_of(table, 0), row_of(table, 1), row_of(table, 2)};
    tsr_release(input);
    tsr_release(table);
    return found;
  }
  int axes[TSR_MAX_RANK], count = axes_but_channels(x->layout.shape.rank, axes);
  tsr_tensor *cast = tsr_cast(x, wide);
  found.mean = tsr_mean(cast, axes, count, false);
  found.variance = tsri_then(tsr_var(cast, axes, count, false, 0), cast);
  tsr_tensor *sum = tsr_add_scalar(found.variance, eps);
  found.scale = tsri_then(tsr_rsqrt(sum), sum);
  return found;
}

void tsri_channel_slopes(tsr_tensor *g, tsr_tensor *x, tsr_tensor *mean, tsr_tensor *scale, tsr_tensor **out_first,
                         tsr_tensor **out_second) {
  const tsri_op *op = &tsri_op_channel_slopes;
  tsr_dtype wide = mean->dtype;
  int rank = x->layout.shape.rank;
  tsr_device *device = x->value->device;
  channel_order a = order_of(&g->layout), b = order_of(&x->layout);
  if (tsri_channel_one_pass(x)) {
    bool is_same = a.is_packed && b.is_packed && a.is_last == b.is_last;
    tsr_tensor *inputs[4] = {is_same ? tsr_retain(g) : tsr_contiguous(g), is_same ? tsr_retain(x) : tsr_contiguous(x),
                             mean, scale};
    tsr_tensor *table = tsri_record_kernel(op, device, wide, TSR_SHAPE(2, b.channels), inputs, 4, NULL);
    *out_first = row_of(table, 0);
    *out_second = row_of(table, 1);
    tsr_release(inputs[0]);
    tsr_release(inputs[1]);
    tsr_release(table);
    return;
  }
  int axes[TSR_MAX_RANK], count = axes_but_channels(rank, axes);
  tsr_tensor *middle = tsri_along_channels(mean, wide, rank), *factor = tsri_along_channels(scale, wide, rank);
  tsr_tensor *slope = tsr_cast(g, wide), *cast = tsr_cast(x, wide), *centred = tsr_sub(cast, middle);
  tsr_tensor *unit = tsr_mul(centred, factor), *product = tsr_mul(slope, unit);
  *out_first = tsr_sum(slope, axes, count, false);
  *out_second = tsr_sum(product, axes, count, false);
  tsri_release_all((tsr_tensor *const[]){middle, factor, slope, cast, centred, unit, product}, 7);
}
