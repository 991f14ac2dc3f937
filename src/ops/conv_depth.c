// SPDX-License-Identifier: MIT
// Depthwise convolutions and their gradient by the weights, by kernels/op_conv_depth.tk: chooses which axes the kernels take, and how the work is divided.
#include "ops/conv_depth.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/promote.h"
#include "ops/window.h"

// Which axes of a convolution are axes 1 and 2 of the kernel, as indices into the arrays of tsri_conv_op.
typedef struct depth_axes {
  int a, b;
  bool is_line;  // the convolution has one axis, which is the kernel's axis 1
} depth_axes;

static bool is_missing(const tsri_conv_op *op, int axis) {
  return op->size[axis] * op->kernel[axis] * op->windows[axis] == 1 && op->before[axis] == 0;
}

static depth_axes axes_of(const tsri_conv_op *op) {
  bool is_line = is_missing(op, 1);
  return is_line ? (depth_axes){2, 1, true} : (depth_axes){1, 2, false};
}

bool tsri_conv_is_depthwise(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  enum { MOST_TAPS = 64, MOST_STEP = 4 };
  depth_axes axes = axes_of(op);
  bool is_small = op->kernel[1] * op->kernel[2] <= MOST_TAPS && op->stride[axes.a] <= MOST_STEP &&
                  op->dilation[axes.a] <= MOST_STEP && is_missing(op, 0);
  bool is_plain = !op->is_transposed || op->stride[1] * op->stride[2] == 1;
  return op->channels == 1 && is_small && is_plain && tsri_dtype_is_float(dtype) &&
         TSRI_TUNED(tsri_tuning_of(device), conv_depth) != 0;
}

// Results per item (ROWS): as many as leave enough items to keep the device busy. Items have several loads in flight, so a fourth of the usual number of items
// suffices.
static int rows_of(const tsr_device *device, int64_t count, int64_t size) {
  int64_t enough = TSRI_TUNED(tsri_tuning_of(device), column_items) / 4;
  int rows = 4;
  while (rows > 1 && (rows > size || count / rows < enough)) rows /= 2;
  return rows;
}

static void pass_pair(tsri_call *call, const char *stem, const int64_t *values, depth_axes axes) {
  tsri_call_words(call, stem, 1, (const int64_t[]){values[axes.a], values[axes.b]}, 2);
}

// Passes weights and padding. A transposed convolution with stride 1 is passed as a convolution with the weights reversed along each axis.
static void pass_kernel(tsri_call *call, const tsri_kernel_run *run, const tsri_conv_op *op, depth_axes axes) {
  int64_t at = (int64_t)(op->w.offset / tsr_dtype_bytes(run->dtype)), steps[TSRI_CONV_AXES], before[TSRI_CONV_AXES];
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    int64_t last = op->kernel[i] - 1;
    steps[i] = op->is_transposed ? -op->w_axes[i] : op->w_axes[i];
    before[i] = op->is_transposed ? last * op->dilation[i] - op->before[i] : op->before[i];
    if (op->is_transposed) at += last * op->w_axes[i];
  }
  tsri_call_buffer(call, "w", run->inputs[1], run->dtype);
  tsri_call_word(call, "w_at", at);
  tsri_call_word(call, "wg", op->w_group);
  tsri_call_word(call, "wn", op->w_out);
  pass_pair(call, "w", steps, axes);
  pass_pair(call, "p", before, axes);
}

tsr_status tsri_conv_run_depthwise(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last) {
  depth_axes axes = axes_of(op);
  int64_t channels = op->groups * op->out_channels, size = op->windows[axes.a],
          lines = op->images * channels * op->windows[axes.b];
  int rows = rows_of(run->device, lines * size, size);
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_conv_depth", "conv_depth",
                        TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                                  TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma),
                                  TSRI_CONSTANT("BIAS", op->has_bias), TSRI_CONSTANT("LAST", is_last),
                                  TSRI_CONSTANT("LINE", axes.is_line), TSRI_CONSTANT("K1", op->kernel[axes.a]),
                                  TSRI_CONSTANT("K2", op->kernel[axes.b]), TSRI_CONSTANT("S1", op->stride[axes.a]),
                                  TSRI_CONSTANT("D1", op->dilation[axes.a]), TSRI_CONSTANT("ROWS", rows)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "bias", run->inputs[op->has_bias ? 2 : 1], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  int64_t items = lines * ((size + rows - 1) / rows);
  tsri_call_word(&call, "n", items);
  tsri_call_word(&call, "x_at", (int64_t)(op->x.offset / tsr_dtype_bytes(run->dtype)));
  tsri_call_word(&call, "b_at", (int64_t)(op->bias.offset / tsr_dtype_bytes(run->dtype)));
  tsri_call_word(&call, "b_step", op->bias_step);
  tsri_call_word(&call, "out_channels", channels);
  tsri_call_word(&call, "group_channels", op->out_channels);
  pass_pair(&call, "i", op->size, axes);
  pass_pair(&call, "o", op->windows, axes);
  tsri_call_word(&call, "xn", op->x_image);
  tsri_call_word(&call, "xc", op->x_channel);
  pass_pair(&call, "x", op->x_axes, axes);
  pass_kernel(&call, run, op, axes);
  tsri_call_word(&call, "yn", op->y_image);
  tsri_call_word(&call, "yc", op->y_channel);
  pass_pair(&call, "y", op->y_axes, axes);
  tsri_call_word(&call, "s2", op->stride[axes.b]);
  tsri_call_word(&call, "d2", op->dilation[axes.b]);
  return tsri_call_items(&call, items);
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
  weight_cut cut = {.lanes = is_last ? MOST_LANES : 1, .positions = op->images * op->windows[1] * op->windows[2]};
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
  depth_axes axes = axes_of(op);
  size_t element = tsr_dtype_bytes(run->dtype);
  int64_t channels = op->groups * op->out_channels;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_conv_depth", "conv_depth_weight",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma),
                           TSRI_CONSTANT("K1", op->kernel[axes.a]), TSRI_CONSTANT("K2", op->kernel[axes.b]),
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
  pass_pair(&call, "i", op->size, axes);
  pass_pair(&call, "o", op->windows, axes);
  pass_pair(&call, "x", op->x_axes, axes);
  pass_pair(&call, "g", op->y_axes, axes);
  pass_pair(&call, "s", op->stride, axes);
  pass_pair(&call, "d", op->dilation, axes);
  pass_pair(&call, "p", op->before, axes);
  return tsri_call_groups(&call, (channels + cut->lanes - 1) / cut->lanes, cut->parts, 1);
}

tsr_status tsri_conv_run_depthwise_weight(const tsri_kernel_run *run, const tsri_conv_op *op) {
  enum { GROUP = 256 };
  weight_cut cut = cut_of(run->device, op, GROUP);
  int64_t count = op->groups * op->out_channels * op->kernel[1] * op->kernel[2];
  tsr_buffer *sums = NULL;
  tsr_status status = tsri_call_scratch(run->device, count * cut.parts, tsri_accumulator(run->dtype), &sums);
  if (status == TSR_OK) status = sum_parts(run, op, &cut, GROUP, sums);
  if (status == TSR_OK) status = join_weights(run, sums, count, cut.parts);
  tsr_buffer_release(sums);
  return status;
}
