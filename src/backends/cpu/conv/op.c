// SPDX-License-Identifier: MIT
// Describes convolutions of f32, f64, f16 and bf16 as passes of columns.c and sums.c.
//
// A transposed convolution with strides becomes several passes, one for each remainder of positions by the strides. Each has different kernel elements, whose
// windows are neighbours.
#include "backends/cpu/conv/conv.h"
#include "core/alloc.h"
#include "core/error.h"

enum { AXES = TSRI_CONV_AXES, LAST = TSRI_CONV_AXES - 1 };

int tsri_conv_threads(const cpu_device *device, const tsri_conv_pass *pass) {
  enum { WORTH_A_THREAD = 1500000 };  // as for products
  return tsri_cpu_threads(device, (uint64_t)(tsri_conv_work(pass) / WORTH_A_THREAD));
}

// --- Axes -------------------------------------------------------------------------------------------------------------

static void swap_axes(int64_t *values, int i, int j) {
  int64_t value = values[i];
  values[i] = values[j];
  values[j] = value;
}

// Moves axes of size 1 to the front, so that runs along the last axis are long.
static void order_axes(tsri_conv_op *op) {
  int64_t *all[] = {op->size,   op->kernel, op->windows, op->stride, op->dilation,
                    op->before, op->x_axes, op->w_axes,  op->y_axes};
  for (int i = LAST; i > 0; i--) {
    for (int j = i; j > 0; j--) {
      if (op->size[j] != 1 || op->kernel[j] != 1 || op->windows[j] != 1) break;
      for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) swap_axes(all[k], j, j - 1);
    }
  }
}

// --- Lines ------------------------------------------------------------------------------------------------------------

// One axis of the grid of taps. Tap i of the axis is at `offset` in x and at `place` in the tensor by line.
typedef struct line_axis {
  int64_t count, offset, offset_step, place, place_step;
} line_axis;

typedef struct line_table {
  int64_t (*offsets)[AXES];
  int64_t *places;
} line_table;

static void measure_lines(const line_axis *axes, tsri_conv_windows *w) {
  w->taps = 1;
  for (int i = 0; i < AXES; i++) {
    int64_t last = axes[i].offset + (axes[i].count - 1) * axes[i].offset_step;
    w->taps *= axes[i].count;
    w->least[i] = axes[i].offset_step < 0 ? last : axes[i].offset;
    w->span[i] = (axes[i].offset_step < 0 ? axes[i].offset - last : last - axes[i].offset) + 1;
    if (axes[i].count > 0) continue;
    w->least[i] = 0;
    w->span[i] = 1;
  }
}

static void list_lines(const line_axis *axes, const line_table *table) {
  int64_t at = 0;
  for (int64_t a = 0; a < axes[0].count; a++) {
    for (int64_t b = 0; b < axes[1].count; b++) {
      for (int64_t c = 0; c < axes[2].count; c++, at++) {
        const int64_t index[AXES] = {a, b, c};
        table->places[at] = 0;
        for (int i = 0; i < AXES; i++) {
          table->offsets[at][i] = axes[i].offset + index[i] * axes[i].offset_step;
          table->places[at] += axes[i].place + index[i] * axes[i].place_step;
        }
      }
    }
  }
}

// --- Passes -----------------------------------------------------------------------------------------------------------

static tsri_conv_pass pass_of(cpu_device *device, const tsri_native_op *op, const tsri_conv_op *given) {
  tsr_dtype sums = op->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  tsri_conv_pass pass = {
      .kernels = tsri_product_kernels_for(device->simd, sums),
      .math = tsri_cpu_engine(device)->math,
      .is_narrow = op->dtype != sums,
      .groups = given->groups,
      .x_group = given->channels * given->x_channel,
      .w_group = given->w_group,
      .y_group = given->out_channels * given->y_channel,
      .out = given->out_channels,
      .windows = {.x = tsri_cpu_place(given->x),
                  .element = tsr_dtype_bytes(op->dtype),
                  .sum_bytes = tsr_dtype_bytes(sums),
                  .storage = &tsri_cpu_engine(device)->isa->storage[op->dtype]},
      .bias = given->has_bias ? tsri_cpu_place(given->bias) : NULL,
      .bias_step = given->bias_step,
      .activation = given->activation,
  };
  for (int i = 0; i < AXES; i++) {
    pass.windows.size[i] = given->size[i];
    pass.windows.step[i] = given->x_axes[i];
  }
  return pass;
}

// Describes a pass that sums over lines, which are channels and kernel elements; the result is by run.
static void sum_lines(const tsri_conv_op *op, tsri_conv_pass *pass) {
  tsri_conv_windows *w = &pass->windows;
  w->channels = op->channels;
  w->channel_step = op->x_channel;
  w->images = op->images;
  w->image_step = op->x_image;
  pass->lines = (tsri_conv_by_line){.at = tsri_cpu_place(op->w), .out = op->w_out, .channel = op->w_channel};
  pass->runs = (tsri_conv_by_run){.at = tsri_cpu_place(op->y), .out = op->y_channel, .image = op->y_image};
}

static tsr_status run_lines(cpu_device *device, const tsri_conv_pass *pass, const line_axis *axes, line_table *table,
                            tsr_status (*run)(cpu_device *device, const tsri_conv_pass *pass)) {
  tsri_conv_pass now = *pass;
  measure_lines(axes, &now.windows);
  list_lines(axes, table);
  now.windows.offsets = (const int64_t(*)[AXES])table->offsets;
  now.lines.taps = table->places;
  return run(device, &now);
}

static tsr_status run_forward(cpu_device *device, const tsri_conv_op *op, tsri_conv_pass *pass, line_table *table) {
  line_axis axes[AXES];
  sum_lines(op, pass);
  for (int i = 0; i < AXES; i++) {
    axes[i] = (line_axis){
        .count = op->kernel[i], .offset = -op->before[i], .offset_step = op->dilation[i], .place_step = op->w_axes[i]};
    pass->windows.counts[i] = op->windows[i];
    pass->windows.stride[i] = op->stride[i];
    pass->runs.axes[i] = op->y_axes[i];
  }
  return run_lines(device, pass, axes, table, tsri_conv_columns);
}

// Runs a pass that sums over runs, which are channels and kernel elements; lines are images and positions of the result.
static tsr_status run_sums(cpu_device *device, const tsri_conv_op *op, tsri_conv_pass *pass, line_table *table) {
  line_axis axes[AXES];
  tsri_conv_windows *w = &pass->windows;
  w->channels = op->images;
  w->channel_step = op->x_image;
  w->images = op->channels;
  w->image_step = op->x_channel;
  pass->lines = (tsri_conv_by_line){.at = tsri_cpu_place(op->y), .out = op->y_channel, .channel = op->y_image};
  pass->runs = (tsri_conv_by_run){.at = tsri_cpu_place(op->w), .out = op->w_out, .image = op->w_channel};
  for (int i = 0; i < AXES; i++) {
    axes[i] = (line_axis){
        .count = op->windows[i], .offset = -op->before[i], .offset_step = op->stride[i], .place_step = op->y_axes[i]};
    w->counts[i] = op->kernel[i];
    w->stride[i] = op->dilation[i];
    pass->runs.axes[i] = op->w_axes[i];
  }
  return run_lines(device, pass, axes, table, tsri_conv_sums);
}

// One axis of a transposed convolution, for the positions p with (p + before) % stride == `remainder`. Position number j reads element j + offset of x, for
// each kernel element k with k * dilation % stride == `remainder`. Returns the number of positions.
static int64_t transposed_axis(const tsri_conv_op *op, int axis, int64_t remainder, line_axis *out,
                               int64_t *out_first) {
  int64_t stride = op->stride[axis], dilation = op->dilation[axis], before = op->before[axis], first_k = 0, period = 1;
  int64_t first = ((remainder - before) % stride + stride) % stride;
  *out_first = first;
  while (first_k < op->kernel[axis] && first_k < stride && first_k * dilation % stride != remainder) first_k++;
  while (period * dilation % stride != 0) period++;  // distance between kernel elements with this remainder
  bool is_none = first_k >= op->kernel[axis] || first_k >= stride;
  *out = (line_axis){0};
  if (!is_none) {
    *out = (line_axis){.count = (op->kernel[axis] - 1 - first_k) / period + 1,
                       .offset = (first + before - first_k * dilation) / stride,
                       .offset_step = -(period * dilation / stride),
                       .place = first_k * op->w_axes[axis],
                       .place_step = period * op->w_axes[axis]};
  }
  return first < op->windows[axis] ? (op->windows[axis] - 1 - first) / stride + 1 : 0;
}

static tsr_status run_transposed(cpu_device *device, const tsri_conv_op *op, tsri_conv_pass *pass, line_table *table) {
  int64_t number = op->stride[0] * op->stride[1] * op->stride[2];
  tsr_status status = TSR_OK;
  sum_lines(op, pass);
  char *y = pass->runs.at;
  for (int64_t i = 0; i < number && status == TSR_OK; i++) {
    int64_t rest = i, at = 0, positions = 1;
    line_axis axes[AXES];
    for (int axis = LAST; axis >= 0; axis--) {
      int64_t first = 0, remainder = rest % op->stride[axis];
      rest /= op->stride[axis];
      pass->windows.counts[axis] = transposed_axis(op, axis, remainder, &axes[axis], &first);
      pass->windows.stride[axis] = 1;
      pass->runs.axes[axis] = op->stride[axis] * op->y_axes[axis];
      positions *= pass->windows.counts[axis];
      at += first * op->y_axes[axis];
    }
    pass->runs.at = y + at * (int64_t)pass->windows.element;
    if (positions > 0) status = run_lines(device, pass, axes, table, tsri_conv_columns);
  }
  return status;
}

// --- The operator -----------------------------------------------------------------------------------------------------

static int64_t product_of(const int64_t *values) { return values[0] * values[1] * values[2]; }

// Whether the sums go over a kernel that is larger than the result, so that sums.c is faster.
static bool has_long_sums(const tsri_conv_op *op, const tsri_product_kernels *kernels) {
  return kernels->direct && !op->is_transposed && op->kernel[LAST] > op->windows[LAST] &&
         product_of(op->kernel) > product_of(op->windows);
}

tsr_status tsri_cpu_conv(cpu_device *device, const tsri_native_op *op) {
  tsri_conv_op given = op->is.conv;
  order_axes(&given);
  tsri_conv_pass pass = pass_of(device, op, &given);
  bool is_long = has_long_sums(&given, pass.kernels);
  size_t lines = (size_t)product_of(is_long ? given.windows : given.kernel);
  line_table table = {.offsets = tsri_calloc(lines, sizeof *table.offsets),
                      .places = tsri_calloc(lines, sizeof *table.places)};
  tsr_status status = TSR_OK;
  if (!table.offsets || !table.places) status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "conv: no host memory for its kernel");
  else if (given.is_transposed) status = run_transposed(device, &given, &pass, &table);
  else status = (is_long ? run_sums : run_forward)(device, &given, &pass, &table);
  tsri_free(table.offsets);
  tsri_free(table.places);
  return status;
}

// Whether the boxes of a pass are small enough. Runs are `images` x `counts` positions, `strides` apart, each with `lines` lines, `steps` apart.
static bool fits(int64_t images, const int64_t *counts, const int64_t *strides, const int64_t *lines,
                 const int64_t *steps, bool is_transposed) {
  enum { MOST_PLANE = 1 << 22 };
  tsri_conv_windows w = {.images = images};
  for (int i = 0; i < AXES; i++) {
    int64_t reach = (lines[i] - 1) * steps[i] + 1;
    w.counts[i] = counts[i];
    w.stride[i] = is_transposed ? 1 : strides[i];
    w.span[i] = is_transposed ? reach / strides[i] + 1 : reach;
  }
  return tsri_conv_cut(&w, TSRI_CONV_COLUMNS).most_plane <= MOST_PLANE;
}

// The box of a block contains all elements between those of its windows. Convolutions whose windows are so spread out that the box would be too large, and transposed
// convolutions whose strides would need many passes, are left to the portable kernel.
bool tsri_cpu_has_conv(const tsri_conv_op *op) {
  enum { MOST_PASSES = 256, MOST_LINES = 1 << 20, MOST_STEP = 1 << 16 };
  int64_t passes = 1, lines = 1;
  for (int i = 0; i < AXES; i++) {
    int64_t more = op->kernel[i] > op->windows[i] ? op->kernel[i] : op->windows[i];
    if (more > MOST_LINES || op->stride[i] > MOST_STEP || op->dilation[i] > MOST_STEP) return false;
    passes *= op->is_transposed ? op->stride[i] : 1;
    lines *= op->kernel[i];
    if (passes > MOST_PASSES || lines > MOST_LINES) return false;
  }
  if (!fits(op->images, op->windows, op->stride, op->kernel, op->dilation, op->is_transposed)) return false;
  return op->is_transposed || fits(op->channels, op->kernel, op->dilation, op->windows, op->stride, false);
}
