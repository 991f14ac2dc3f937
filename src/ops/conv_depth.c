// SPDX-License-Identifier: MIT
// Depthwise convolutions, others with few channels in a group, and the gradient of the former by the weights, by kernels/op_conv_depth.tk: chooses how the work is divided.
#include "ops/conv_depth.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/promote.h"
#include "ops/window.h"

static int64_t divisor_of(int64_t a, int64_t b) { return b == 0 ? a : divisor_of(b, a % b); }

static int64_t chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

// --- How results are divided among items --------------------------------------------------------------------------------

// What an item computes along axis 1 or 2.
typedef struct depth_axis {
  int64_t results;  // ROWS or COLS
  int64_t step;     // between the positions of x that it reads
  int64_t reads;    // number of these positions
} depth_axis;

// A transposed convolution with stride 1 is computed as a convolution with reversed weights.
static bool is_spread(const tsri_conv_op *op) {
  return op->is_transposed && op->stride[0] * op->stride[1] * op->stride[2] != 1;
}

// The reads of `results` neighbouring results. These are the constants READS and G of the kernel.
static depth_axis axis_of(const tsri_conv_op *op, int i, int64_t results) {
  int64_t reach = (op->kernel[i] - 1) * op->dilation[i];
  if (is_spread(op)) {
    int64_t stride = op->stride[i], before = chunks_of(reach, stride);
    results = chunks_of(results, stride) * stride;  // blocks begin at multiples of the stride
    return (depth_axis){results, 1, before + (results - 1) / stride + 1};
  }
  int64_t step = results == 1 ? op->dilation[i] : divisor_of(op->stride[i], op->dilation[i]);
  return (depth_axis){results, step, ((results - 1) * op->stride[i] + reach) / step + 1};
}

// Up to `results` neighbouring results: as many as need no more reads than they would one by one. Where the reads of neighbours do not meet, an item gets one.
static depth_axis shared_axis(const tsri_conv_op *op, int i, int64_t results) {
  while (results > 1 && results > op->windows[i]) results /= 2;
  depth_axis axis = axis_of(op, i, results);
  while (!is_spread(op) && results > 1 && axis.reads > results * op->kernel[i]) axis = axis_of(op, i, results /= 2);
  return axis;
}

enum { QUAD = 4, MOST_WIDE_READS = 32, MOST_READS = 512, MOST_BLOCK = 32 };

// Whether the kernel conv_depth can compute the convolution, with so few channels of the result in a group that tiles would be mostly empty.
static bool has_blocks(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  enum { MOST_TAPS = 64, MOST_CHANNELS = 8 };
  depth_axis a = axis_of(op, 1, 1), b = axis_of(op, 2, 1);
  bool is_small = op->kernel[1] * op->kernel[2] <= MOST_TAPS && a.reads * b.reads <= MOST_READS &&
                  a.results * b.results <= MOST_BLOCK;
  return op->out_channels < MOST_CHANNELS && is_small && tsri_dtype_is_float(dtype) &&
         TSRI_TUNED(tsri_tuning_of(device), conv_depth) != 0;
}

bool tsri_conv_is_depthwise(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  return op->channels == 1 && has_blocks(device, op, dtype);
}

bool tsri_conv_is_direct(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  enum { LITTLE_WORK = 1 << 17 };  // for less, compiling a kernel for this shape takes longer than it can save
  double work = (double)op->channels * (double)(op->groups * op->out_channels * op->images);
  for (int i = 0; i < TSRI_CONV_AXES; i++) work *= (double)(op->kernel[i] * op->windows[i]);
  return work >= LITTLE_WORK && has_blocks(device, op, dtype);
}

// A launch of conv_depth.
typedef struct depth_cut {
  depth_axis rows, columns;
  bool is_spread, reads_quads, stores_quads;
  int64_t shift;                   // elements that are read before the first needed one
  int64_t first[TSRI_CONV_AXES];   // position of x that block 0 reads first
  int64_t margin[TSRI_CONV_AXES];  // results of block 0 that are before the beginning of the axis
  int64_t items, w_at,
      w_axes[TSRI_CONV_AXES];  // weights, reversed along each axis for a transposed convolution with stride 1
} depth_cut;

static bool are_quads(const int64_t *values, int count) {
  for (int i = 0; i < count; i++) {
    if (values[i] % QUAD != 0) return false;
  }
  return true;
}

// Whether lines of x can be read in quads: each line begins at a multiple of four elements and has a multiple of four.
static bool has_quads(const tsri_conv_op *op, const depth_axis *columns, size_t element) {
  const int64_t steps[] = {
      (int64_t)(op->x.offset / element), op->x_image, op->x_channel, op->x_axes[0], op->x_axes[1], op->size[2]};
  return columns->results % QUAD == 0 && columns->reads * columns->step <= MOST_WIDE_READS && op->x_axes[2] == 1 &&
         are_quads(steps, sizeof steps / sizeof steps[0]);
}

// Finds where block 0 begins, and the order in which weights are read.
static void place_blocks(const tsri_conv_op *op, size_t element, depth_cut *cut) {
  cut->w_at = (int64_t)(op->w.offset / element);
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    int64_t reach = (op->kernel[i] - 1) * op->dilation[i], stride = op->stride[i];
    bool is_reversed = op->is_transposed && !cut->is_spread;
    cut->w_axes[i] = is_reversed ? -op->w_axes[i] : op->w_axes[i];
    if (is_reversed) cut->w_at += (op->kernel[i] - 1) * op->w_axes[i];
    cut->first[i] = is_reversed ? op->before[i] - reach : -op->before[i];
    if (!cut->is_spread) continue;
    cut->margin[i] = i == 0 ? 0 : op->before[i] % stride;
    cut->first[i] = i == 0 ? op->before[i] : op->before[i] / stride - chunks_of(reach, stride);
  }
}

// Items compute blocks of four results along each axis, or eight along a single one, if that leaves enough items to keep the device busy. Where x cannot be read in quads, items that read
// neighbouring elements are faster than items that share more reads, so there are two columns, or one.
static depth_cut cut_of_results(const tsr_device *device, const tsri_conv_op *op, size_t element, bool is_last) {
  enum { BLOCK = 4, NARROW = 2 };
  int64_t results = op->images * op->groups * op->out_channels * op->windows[0] * op->windows[1] * op->windows[2];
  int64_t enough = TSRI_TUNED(tsri_tuning_of(device), column_items) / 4;
  depth_cut cut = {.is_spread = is_spread(op)};
  bool is_line = op->windows[1] == 1 && results / (2 * QUAD) >= enough;
  cut.columns = axis_of(op, 2, is_line ? 2 * QUAD : QUAD);
  place_blocks(op, element, &cut);
  bool is_wide = !is_last && !cut.is_spread && results / QUAD >= enough && op->windows[2] >= QUAD;
  cut.reads_quads = is_wide && has_quads(op, &cut.columns, element);
  if (cut.reads_quads) {
    cut.shift = (cut.first[2] % QUAD + QUAD) % QUAD;
    cut.first[2] -= cut.shift;
    cut.columns.step = 1;
  } else {
    cut.columns = shared_axis(op, 2, results / (BLOCK * NARROW) >= enough ? (is_last ? BLOCK : NARROW) : 1);
  }
  int64_t rows = BLOCK;
  while (rows > 1 && results / (rows * cut.columns.results) < enough) rows /= 2;
  cut.rows = shared_axis(op, 1, rows);
  const int64_t steps[] = {op->windows[2], cut.columns.results, cut.margin[2]};
  cut.stores_quads = !is_last && op->y_axes[2] == 1 && are_quads(steps, 3);
  cut.items = op->images * op->groups * op->out_channels * op->windows[0] *
              chunks_of(op->windows[1] + cut.margin[1], cut.rows.results) *
              chunks_of(op->windows[2] + cut.margin[2], cut.columns.results);
  return cut;
}

static void pass_axes(tsri_call *call, const char *stem, const int64_t *values) {
  tsri_call_words(call, stem, 0, values, TSRI_CONV_AXES);
}

static void pass_result(tsri_call *call, const tsri_kernel_run *run, const tsri_conv_op *op, const depth_cut *cut) {
  size_t element = tsr_dtype_bytes(run->dtype);
  tsri_call_buffer(call, "bias", run->inputs[op->has_bias ? 2 : 1], run->dtype);
  tsri_call_word(call, "b_at", (int64_t)(op->bias.offset / element));
  tsri_call_word(call, "b_step", op->bias_step);
  tsri_call_buffer(call, "y", run->output, run->dtype);
  tsri_call_word(call, "yn", op->y_image);
  tsri_call_word(call, "yc", op->y_channel);
  pass_axes(call, "y", op->y_axes);
  pass_axes(call, "f", cut->first);
  tsri_call_words(call, "m", 1, &cut->margin[1], 2);
}

static void pass_operands(tsri_call *call, const tsri_kernel_run *run, const tsri_conv_op *op, const depth_cut *cut) {
  tsri_call_buffer(call, "x", run->inputs[0], run->dtype);
  tsri_call_word(call, "x_at", (int64_t)(op->x.offset / tsr_dtype_bytes(run->dtype)));
  tsri_call_word(call, "xn", op->x_image);
  tsri_call_word(call, "xc", op->x_channel);
  pass_axes(call, "x", op->x_axes);
  tsri_call_buffer(call, "w", run->inputs[1], run->dtype);
  tsri_call_word(call, "w_at", cut->w_at);
  tsri_call_word(call, "wg", op->w_group);
  tsri_call_word(call, "wn", op->w_out);
  tsri_call_word(call, "wc", op->w_channel);
  pass_axes(call, "w", cut->w_axes);
}

tsr_status tsri_conv_run_direct(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last) {
  depth_cut cut = cut_of_results(run->device, op, tsr_dtype_bytes(run->dtype), is_last);
  const int64_t *k = op->kernel;
  tsri_call call;
  tsri_call_init_hooked(
      &call, run, "op_conv_depth", "conv_depth",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma), TSRI_CONSTANT("BIAS", op->has_bias),
                TSRI_CONSTANT("LAST", is_last), TSRI_CONSTANT("TRANSPOSED", cut.is_spread),
                TSRI_CONSTANT("DEEP", op->channels > 1), TSRI_CONSTANT("WIDE", cut.reads_quads),
                TSRI_CONSTANT("WIDE_Y", cut.stores_quads), TSRI_CONSTANT("K0", k[0]), TSRI_CONSTANT("K1", k[1]),
                TSRI_CONSTANT("K2", k[2]), TSRI_CONSTANT("S0", op->stride[0]), TSRI_CONSTANT("S1", op->stride[1]),
                TSRI_CONSTANT("S2", op->stride[2]), TSRI_CONSTANT("D1", op->dilation[1]),
                TSRI_CONSTANT("D2", op->dilation[2]), TSRI_CONSTANT("G1", cut.rows.step),
                TSRI_CONSTANT("G2", cut.columns.step), TSRI_CONSTANT("ROWS", cut.rows.results),
                TSRI_CONSTANT("COLS", cut.columns.results), TSRI_CONSTANT("SHIFT", cut.shift)));
  tsri_call_word(&call, "n", cut.items);
  tsri_call_word(&call, "channels", op->channels);
  tsri_call_word(&call, "out_channels", op->groups * op->out_channels);
  tsri_call_word(&call, "group_channels", op->out_channels);
  tsri_call_word(&call, "d0", op->dilation[0]);
  pass_axes(&call, "i", op->size);
  pass_axes(&call, "o", op->windows);
  pass_operands(&call, run, op, &cut);
  pass_result(&call, run, op, &cut);
  return tsri_call_items(&call, cut.items);
}

// --- The gradient by the weights --------------------------------------------------------------------------------------

// Launches join_splits, which adds the partial sums of all parts.
static tsr_status join_weights(const tsri_kernel_run *run, tsr_buffer *sums, int64_t count, int64_t parts) {
  enum { GROUP = 128, LANES = 8 };
  tsri_call call;
  tsri_call_init(&call, run->device, "op_conv_tiles", "join_splits",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("LANES", LANES), TSRI_CONSTANT("WG", GROUP)));
  tsri_call_buffer(&call, "parts", sums, tsri_accumulator(run->dtype));
  tsri_call_buffer(&call, "bias", run->inputs[0], run->dtype);  // a placeholder, not read
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "count", count);
  tsri_call_word(&call, "splits", parts);
  tsri_call_word(&call, "positions", 1);
  tsri_call_word(&call, "o2", 1);
  tsri_call_word(&call, "b_at", 0);
  tsri_call_word(&call, "b_step", 0);
  tsri_call_word(&call, "out_channels", 1);
  return tsri_call_many_groups(&call, (count + GROUP / LANES - 1) / (GROUP / LANES));
}

// The launch of conv_depth_weight: `lanes` channels per work-group, `parts` parts of `span` positions each.
typedef struct weight_cut {
  int lanes;
  int64_t positions, span, parts;
} weight_cut;

static weight_cut cut_of(const tsr_device *device, const tsri_conv_op *op, int group) {
  enum { GROUPS_PER_TILE = 8, LEAST_ROUNDS = 8, MOST_LANES = 32, MOST_PARTS = 1024 };
  bool is_last = op->x_channel == 1 && op->y_channel == 1 && op->groups > 1;
  weight_cut cut = {.lanes = is_last ? MOST_LANES : 1,
                    .positions = op->images * op->windows[0] * op->windows[1] * op->windows[2]};
  int64_t groups = (op->groups * op->out_channels + cut.lanes - 1) / cut.lanes, side = group / cut.lanes;
  int64_t wanted = (int64_t)TSRI_TUNED(tsri_tuning_of(device), matmul_tiles) * GROUPS_PER_TILE / groups,
          most = cut.positions / (side * LEAST_ROUNDS);
  if (wanted > most) wanted = most;
  if (wanted > MOST_PARTS) wanted = MOST_PARTS;
  if (wanted < 1) wanted = 1;
  cut.span = (cut.positions + wanted - 1) / wanted;
  cut.parts = (cut.positions + cut.span - 1) / cut.span;
  return cut;
}

static tsr_status sum_parts(const tsri_kernel_run *run, const tsri_conv_op *op, const weight_cut *cut, int group,
                            tsr_buffer *sums) {
  size_t element = tsr_dtype_bytes(run->dtype);
  int64_t channels = op->groups * op->out_channels;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_conv_depth", "conv_depth_weight",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma), TSRI_CONSTANT("K0", op->kernel[0]),
                TSRI_CONSTANT("K1", op->kernel[1]), TSRI_CONSTANT("K2", op->kernel[2]),
                TSRI_CONSTANT("LANES", cut->lanes), TSRI_CONSTANT("WG", group)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "g", run->inputs[1], run->dtype);
  tsri_call_buffer(&call, "parts", sums, tsri_accumulator(run->dtype));
  tsri_call_word(&call, "n", cut->positions);
  tsri_call_word(&call, "span", cut->span);
  tsri_call_word(&call, "x_at", (int64_t)(op->x.offset / element));
  tsri_call_word(&call, "g_at", (int64_t)(op->y.offset / element));
  tsri_call_word(&call, "out_channels", channels);
  tsri_call_word(&call, "group_channels", op->out_channels);
  tsri_call_word(&call, "xn", op->x_image);
  tsri_call_word(&call, "xc", op->x_channel);
  tsri_call_word(&call, "gn", op->y_image);
  tsri_call_word(&call, "gc", op->y_channel);
  pass_axes(&call, "i", op->size);
  pass_axes(&call, "o", op->windows);
  pass_axes(&call, "x", op->x_axes);
  pass_axes(&call, "g", op->y_axes);
  pass_axes(&call, "s", op->stride);
  pass_axes(&call, "d", op->dilation);
  pass_axes(&call, "p", op->before);
  return tsri_call_groups(&call, (channels + cut->lanes - 1) / cut->lanes, cut->parts, 1);
}

bool tsri_conv_weight_is_depthwise(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  enum { MOST_TAPS = 64 };  // an item has a sum for each
  return op->channels == 1 && !op->is_transposed && op->kernel[0] * op->kernel[1] * op->kernel[2] <= MOST_TAPS &&
         tsri_dtype_is_float(dtype) && TSRI_TUNED(tsri_tuning_of(device), conv_depth) != 0;
}

tsr_status tsri_conv_run_depthwise_weight(const tsri_kernel_run *run, const tsri_conv_op *op) {
  enum { GROUP = 256 };
  weight_cut cut = cut_of(run->device, op, GROUP);
  int64_t count = op->groups * op->out_channels * op->kernel[0] * op->kernel[1] * op->kernel[2];
  tsr_buffer *sums = NULL;
  tsr_status status = tsri_call_scratch(run->device, count * cut.parts, tsri_accumulator(run->dtype), &sums);
  if (status == TSR_OK) status = sum_parts(run, op, &cut, GROUP, sums);
  if (status == TSR_OK) status = join_weights(run, sums, count, cut.parts);
  tsr_buffer_release(sums);
  return status;
}
