// SPDX-License-Identifier: MIT
// Pooling by blocks of results (pool_block of kernels/op_conv.tk): which results and reads an item gets.
#include "ops/pool_block.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/promote.h"
#include "ops/window.h"

// The pooling along three axes, as tsri_window_axes orders them.
typedef struct pool_axes {
  int64_t size[TSRI_MAX_SPATIAL], stride[TSRI_MAX_SPATIAL], before[TSRI_MAX_SPATIAL], after[TSRI_MAX_SPATIAL];
  int64_t input[TSRI_MAX_SPATIAL], windows[TSRI_MAX_SPATIAL], steps[TSRI_MAX_SPATIAL];
} pool_axes;

static pool_axes axes_of(const tsri_kernel_run *run, const tsri_pool_attributes *given) {
  const tsri_layout *x = &run->layouts[0];
  int spatial = x->shape.rank - 2;
  pool_axes axes;
  tsri_window_axes(axes.size, given->size, spatial, 1);
  tsri_window_axes(axes.stride, given->stride, spatial, 1);
  tsri_window_axes(axes.before, given->before, spatial, 0);
  tsri_window_axes(axes.after, given->after, spatial, 0);
  tsri_window_axes(axes.input, &x->shape.dims[2], spatial, 1);
  tsri_window_axes(axes.windows, &run->shape.dims[given->is_last ? 1 : 2], spatial, 1);
  tsri_window_axes(axes.steps, &x->strides[2], spatial, 0);
  return axes;
}

static bool has_blocks(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t results) {
  enum { MOST_SIZE = 8 };
  enum { LITTLE_WORK = 1 << 17 };  // for less, compiling a kernel for this shape takes longer than it can save
  if (given->is_adaptive || run->input_dtypes[0] != run->dtype || !tsri_dtype_is_float(run->dtype) ||
      TSRI_TUNED(tsri_call_tuning(run->device), row_held) == 0)
    return false;
  int64_t window = 1;
  for (int i = 0; i < run->layouts[0].shape.rank - 2; i++) {
    if (given->dilation[i] != 1 || given->size[i] > MOST_SIZE || given->stride[i] > MOST_SIZE) return false;
    window *= given->size[i];
  }
  return results * window >= LITTLE_WORK;
}

// A launch of pool_block; the fields are its parameters.
typedef struct pool_cut {
  int64_t rows, columns, reads, stores, shift, items;
} pool_cut;

static int64_t chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

// The largest power of two, up to `most`, of which all values are multiples.
static int64_t common_step(const int64_t *values, int count, int64_t most) {
  for (int i = 0; i < count; i++) {
    while (values[i] % most != 0) most /= 2;
  }
  return most;
}

// An item gets four columns, or eight along a single axis. Where it cannot read several elements at a time, items that read neighbouring elements are faster than items
// that share more reads, so it gets two; where it must store results one by one, four. Rows share reads if windows overlap. There are fewer of both if too few items
// would be left to keep the device busy.
static pool_cut cut_of(const tsri_kernel_run *run, const pool_axes *axes, bool is_last, int64_t results) {
  enum { QUAD = 4, MOST_STEPS = 400 };
  const tsri_layout *x = &run->layouts[0];
  const int64_t lines[] = {x->offset, x->strides[0], x->strides[1], axes->steps[0], axes->steps[1], axes->input[2]};
  int64_t enough = TSRI_TUNED(tsri_call_tuning(run->device), column_items) / 4;
  bool is_line = x->shape.rank == 3;
  pool_cut cut = {.rows = is_line ? 1 : axes->size[1] > axes->stride[1] ? QUAD : 2};
  cut.reads = is_last || axes->steps[2] != 1 ? 1 : common_step(lines, sizeof lines / sizeof lines[0], QUAD);
  cut.columns = cut.reads == 1 && !is_last ? 2 : is_line && axes->windows[2] % 2 == 0 ? 2 * QUAD : QUAD;
  while (cut.columns > 1 && (results / cut.columns < enough || cut.columns >= 2 * axes->windows[2])) cut.columns /= 2;
  while (cut.rows > 1 && (results / (cut.rows * cut.columns) < enough || cut.rows >= 2 * axes->windows[1] ||
                          cut.rows * cut.columns * axes->size[1] * axes->size[2] > MOST_STEPS))
    cut.rows /= 2;
  if (cut.reads > cut.columns) cut.reads = cut.columns;
  cut.stores = is_last ? 1 : common_step((int64_t[]){axes->windows[2], cut.columns}, 2, QUAD);
  cut.shift = (cut.reads - axes->before[2] % cut.reads) % cut.reads;
  cut.items = results / (axes->windows[1] * axes->windows[2]) * chunks_of(axes->windows[1], cut.rows) *
              chunks_of(axes->windows[2], cut.columns);
  return cut;
}

tsr_status tsri_pool_blocks(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t results,
                            double lowest) {
  const tsri_layout *x = &run->layouts[0];
  bool is_last = given->is_last != 0;
  if (!has_blocks(run, given, results)) return TSR_ERR_UNSUPPORTED;
  pool_axes axes = axes_of(run, given);
  pool_cut cut = cut_of(run, &axes, is_last, results);
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_conv", "pool_block",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                TSRI_CONSTANT("MODE", given->mode), TSRI_CONSTANT("PADDING", given->counts_padding),
                TSRI_CONSTANT("LAST", is_last), TSRI_CONSTANT("AXES", x->shape.rank - 2),
                TSRI_CONSTANT("K1", axes.size[1]), TSRI_CONSTANT("K2", axes.size[2]),
                TSRI_CONSTANT("S1", axes.stride[1]), TSRI_CONSTANT("S2", axes.stride[2]),
                TSRI_CONSTANT("ROWS", cut.rows), TSRI_CONSTANT("COLS", cut.columns), TSRI_CONSTANT("READS", cut.reads),
                TSRI_CONSTANT("STORES", cut.stores), TSRI_CONSTANT("SHIFT", cut.shift)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", cut.items);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "channels", x->shape.dims[1]);
  tsri_call_word(&call, "k0", axes.size[0]);
  tsri_call_word(&call, "s0", axes.stride[0]);
  tsri_call_words(&call, "i", 0, axes.input, TSRI_MAX_SPATIAL);
  tsri_call_words(&call, "o", 0, axes.windows, TSRI_MAX_SPATIAL);
  tsri_call_word(&call, "xn", x->strides[0]);
  tsri_call_word(&call, "xc", x->strides[1]);
  tsri_call_words(&call, "x", 0, axes.steps, TSRI_MAX_SPATIAL);
  tsri_call_words(&call, "p", 0, axes.before, TSRI_MAX_SPATIAL);
  tsri_call_words(&call, "f", 0, axes.after, TSRI_MAX_SPATIAL);
  tsri_call_real(&call, "lowest", lowest);
  return tsri_call_items(&call, cut.items);
}
