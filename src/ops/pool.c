// SPDX-License-Identifier: MIT
// Pooling over one to three spatial axes: shapes, and the launch of kernels/op_conv.tk. max_unpool is a scatter.
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/operators.h"
#include "ops/pool.h"
#include "ops/pool_block.h"
#include "ops/promote.h"
#include "ops/window.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// MODE of kernels/op_conv.tk.
enum { MODE_MAX, MODE_ARGMAX, MODE_MEAN, MODE_POWER };

// --- Native ----------------------------------------------------------------------------------------------------------

static tsri_native_op describe(const tsri_pool_attributes *given, const tsri_layout *x, tsr_dtype dtype,
                               tsr_dtype result, tsri_pool_kind kind) {
  tsri_native_op native = {.kind = TSRI_NATIVE_POOL, .dtype = dtype, .result = result};
  tsri_pool_op *op = &native.is.pool;
  int spatial = x->shape.rank - 2;
  *op = (tsri_pool_op){.kind = kind,
                       .counts_padding = given->counts_padding != 0,
                       .images = x->shape.dims[0],
                       .channels = x->shape.dims[1],
                       .x_image = x->strides[0],
                       .x_channel = x->strides[1],
                       .x.offset = (size_t)x->offset * tsr_dtype_bytes(dtype)};
  tsri_window_axes(op->size, &x->shape.dims[2], spatial, 1);
  tsri_window_axes(op->x_axes, &x->strides[2], spatial, 0);
  tsri_window_axes(op->kernel, given->size, spatial, 1);
  tsri_window_axes(op->stride, given->stride, spatial, 1);
  tsri_window_axes(op->dilation, given->dilation, spatial, 1);
  tsri_window_axes(op->before, given->before, spatial, 0);
  tsri_window_axes(op->after, given->after, spatial, 0);
  return native;
}

// Runs the pooling natively. TSR_ERR_UNSUPPORTED, without a message: the device has no operator for it.
static tsr_status run_native(const tsri_kernel_run *run) {
  static const tsri_pool_kind kinds[] = {TSRI_POOL_LARGEST, TSRI_POOL_PLACE, TSRI_POOL_MEAN};
  const tsri_pool_attributes *given = TSRI_GIVEN(run->node, pool);
  if (given->is_adaptive || given->mode == MODE_POWER) return TSR_ERR_UNSUPPORTED;
  tsri_native_op op = describe(given, &run->layouts[0], run->input_dtypes[0], run->dtype, kinds[given->mode]);
  tsri_pool_op *pool = &op.is.pool;
  bool is_last = given->is_last != 0;
  tsri_window_axes(pool->windows, &run->shape.dims[is_last ? 1 : 2], run->shape.rank - 2, 1);
  tsri_window_strides(run->shape, is_last, &pool->y_image, &pool->y_channel, pool->y_axes);
  tsri_place_bind(&pool->x, run->inputs[0]);
  tsri_place_bind(&pool->y, run->output);
  return tsri_device_run_op(run->device, &op, (tsr_buffer *const[]){run->output, run->inputs[0]}, 2);
}

// --- Launch ----------------------------------------------------------------------------------------------------------

// The initial value of a maximum.
static double lowest_of(tsr_dtype dtype) { return tsri_dtype_is_float(dtype) ? -INFINITY : tsri_range_of(dtype).least; }

// Whether there are kernels whose loops over the window are unrolled: small windows over two axes, without dilation, on a GPU.
static bool are_written_out(const tsri_kernel_run *run, const tsri_pool_attributes *given) {
  enum { MOST = 4 };
  bool is_plain = !given->is_adaptive && run->layouts[0].shape.rank == 4 && run->input_dtypes[0] == run->dtype;
  for (int i = 0; i < 2 && is_plain; i++) {
    is_plain = given->size[i] <= MOST && given->stride[i] <= MOST && given->dilation[i] == 1;
  }
  return is_plain && tsri_dtype_is_float(run->dtype) && tsri_graph_of(run->device)->tuning.row_held != 0;
}

static tsr_status run_small(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t count) {
  const tsri_layout *x = &run->layouts[0];
  bool is_last = given->is_last != 0;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_conv", "pool_small",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("MODE", given->mode), TSRI_CONSTANT("PADDING", given->counts_padding),
                           TSRI_CONSTANT("LAST", is_last), TSRI_CONSTANT("K1", given->size[0]),
                           TSRI_CONSTANT("K2", given->size[1])));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", count);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "channels", x->shape.dims[1]);
  tsri_call_word(&call, "xn", x->strides[0]);
  tsri_call_word(&call, "xc", x->strides[1]);
  tsri_call_words(&call, "i", 1, &x->shape.dims[2], 2);
  tsri_call_words(&call, "o", 1, &run->shape.dims[is_last ? 1 : 2], 2);
  tsri_call_words(&call, "x", 1, &x->strides[2], 2);
  tsri_call_words(&call, "s", 1, given->stride, 2);
  tsri_call_words(&call, "p", 1, given->before, 2);
  tsri_call_words(&call, "f", 1, given->after, 2);
  tsri_call_real(&call, "lowest", lowest_of(run->dtype));
  return tsri_call_items(&call, count);
}

// Launches the kernel `pool` for the windows of `run`'s first input. `given` has the mode, and the order of the result, `out`, whose dtype and spatial sizes are given.
static tsr_status pool_windows(const tsri_kernel_run *run, const tsri_pool_attributes *given, tsr_buffer *out,
                               tsr_dtype out_dtype, const int64_t *windows) {
  const tsri_layout *x = &run->layouts[0];
  tsr_dtype dtype = run->input_dtypes[0];
  int spatial = x->shape.rank - 2;
  int64_t count = x->shape.dims[0] * x->shape.dims[1];
  for (int i = 0; i < spatial; i++) count *= windows[i];
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_conv", "pool",
      TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_accumulator(dtype)), TSRI_TYPE("Y", out_dtype),
                TSRI_CONSTANT("MODE", given->mode), TSRI_CONSTANT("ADAPTIVE", given->is_adaptive),
                TSRI_CONSTANT("PADDING", given->counts_padding), TSRI_CONSTANT("LAST", given->is_last != 0)));
  tsri_call_buffer(&call, "x", run->inputs[0], dtype);
  tsri_call_buffer(&call, "y", out, out_dtype);
  tsri_call_word(&call, "n", count);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "channels", x->shape.dims[1]);
  tsri_window_pass(&call, "i", &x->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "k", given->size, spatial, 1);
  tsri_window_pass(&call, "o", windows, spatial, 1);
  tsri_call_word(&call, "xn", x->strides[0]);
  tsri_call_word(&call, "xc", x->strides[1]);
  tsri_window_pass(&call, "x", &x->strides[2], spatial, 0);
  tsri_window_pass(&call, "s", given->stride, spatial, 1);
  tsri_window_pass(&call, "d", given->dilation, spatial, 1);
  tsri_window_pass(&call, "p", given->before, spatial, 0);
  tsri_window_pass(&call, "f", given->after, spatial, 0);
  if (tsri_dtype_is_float(dtype)) {
    tsri_call_real(&call, "lowest", lowest_of(dtype));
    tsri_call_real(&call, "power", given->power);
  } else {
    tsri_call_word(&call, "lowest", dtype == TSR_I64 ? INT64_MIN : (int64_t)lowest_of(dtype));
    tsri_call_word(&call, "power", 1);
  }
  return tsri_call_items(&call, count);
}

// Input: x as [image, channel, spatial …].
tsr_status tsri_run_pool(const tsri_kernel_run *run) {
  const tsri_pool_attributes *given = TSRI_GIVEN(run->node, pool);
  const tsri_layout *x = &run->layouts[0];
  tsri_layout result = {.shape = run->shape, .count = 1};
  for (int i = 0; i < run->shape.rank; i++) result.count *= run->shape.dims[i];
  if (result.count == 0) return TSR_OK;
  tsr_status status = run_native(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = tsri_call_check(run->node->op->name, x);
  if (status == TSR_OK) status = tsri_call_check(run->node->op->name, &result);
  if (status != TSR_OK) return status;
  if (given->mode == MODE_MAX || given->mode == MODE_MEAN) {
    status = tsri_pool_blocks(run, given, result.count, lowest_of(run->dtype));
    if (status != TSR_ERR_UNSUPPORTED) return status;
    if (are_written_out(run, given)) return run_small(run, given, result.count);
  }
  return pool_windows(run, given, run->output, run->dtype, &run->shape.dims[given->is_last ? 1 : 2]);
}

// --- The gradient of max_pool ----------------------------------------------------------------------------------------

static tsr_status gradient_native(const tsri_kernel_run *run) {
  if (run->epilogue || TSRI_GIVEN(run->node, pool)->is_last) return TSR_ERR_UNSUPPORTED;
  const tsri_layout *g = &run->layouts[1];
  tsri_native_op op =
      describe(TSRI_GIVEN(run->node, pool), &run->layouts[0], run->dtype, run->dtype, TSRI_POOL_GRADIENT);
  tsri_pool_op *pool = &op.is.pool;
  int spatial = g->shape.rank - 2;
  tsri_window_axes(pool->windows, &g->shape.dims[2], spatial, 1);
  tsri_window_axes(pool->y_axes, &g->strides[2], spatial, 0);
  pool->y_image = g->strides[0];
  pool->y_channel = g->strides[1];
  pool->g.offset = (size_t)g->offset * tsr_dtype_bytes(run->dtype);
  tsri_place_bind(&pool->x, run->inputs[0]);
  tsri_place_bind(&pool->g, run->inputs[1]);
  tsri_place_bind(&pool->y, run->output);
  return tsri_device_run_op(run->device, &op, (tsr_buffer *const[]){run->output, run->inputs[0], run->inputs[1]}, 3);
}

// Whether windows are at most twice as large as their stride, so that at most four windows overlap a cell (stride x stride elements) of
// max_pool_gradient_cells.
static bool has_cells(const tsri_pool_attributes *given) {
  return given->size[0] <= 2 * given->stride[0] && given->size[1] <= 2 * given->stride[1];
}

// Compile-time arguments of max_pool_places and max_pool_gradient_cells.
#define CELL_ARGUMENTS                                                                 \
  TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),            \
      TSRI_CONSTANT("LAST", given->is_last != 0), TSRI_CONSTANT("K1", given->size[0]), \
      TSRI_CONSTANT("K2", given->size[1]), TSRI_CONSTANT("S1", given->stride[0]),      \
      TSRI_CONSTANT("S2", given->stride[1])

static void pass_windows(tsri_call *call, const tsri_kernel_run *run, const tsri_pool_attributes *given,
                         int64_t count) {
  const tsri_layout *x = &run->layouts[0], *g = &run->layouts[1];
  tsri_call_buffer(call, "x", run->inputs[0], run->dtype);
  tsri_call_word(call, "n", count);
  tsri_call_word(call, "x_at", x->offset);
  tsri_call_word(call, "channels", x->shape.dims[1]);
  tsri_call_words(call, "i", 1, &x->shape.dims[2], 2);
  tsri_call_words(call, "o", 1, &g->shape.dims[2], 2);
  tsri_call_word(call, "xn", x->strides[0]);
  tsri_call_word(call, "xc", x->strides[1]);
  tsri_call_words(call, "x", 1, &x->strides[2], 2);
  tsri_call_words(call, "p", 1, given->before, 2);
}

static tsr_status find_places(const tsri_kernel_run *run, const tsri_pool_attributes *given, tsr_buffer *places) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_conv", "max_pool_places", TSRI_WITH(CELL_ARGUMENTS));
  pass_windows(&call, run, given, run->layouts[1].count);
  tsri_call_buffer(&call, "places", places, TSR_U32);
  return tsri_call_items(&call, run->layouts[1].count);
}

// Launches max_pool_gradient_cells. `places`: the result of find_places, or NULL if the kernel finds the largest elements itself.
static tsr_status gather_cells(const tsri_kernel_run *run, const tsri_pool_attributes *given, tsr_buffer *places) {
  const tsri_layout *x = &run->layouts[0], *g = &run->layouts[1];
  tsr_dtype stored = places ? TSR_U32 : run->dtype;
  int64_t cells[2];
  for (int i = 0; i < 2; i++) cells[i] = (x->shape.dims[2 + i] + given->before[i] - 1) / given->stride[i] + 1;
  int64_t count = x->shape.dims[0] * x->shape.dims[1] * cells[0] * cells[1];
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_conv", "max_pool_gradient_cells",
                        TSRI_WITH(CELL_ARGUMENTS, TSRI_TYPE("P", stored), TSRI_CONSTANT("LISTED", places != NULL)));
  pass_windows(&call, run, given, count);
  tsri_call_buffer(&call, "g", run->inputs[1], run->dtype);
  tsri_call_buffer(&call, "places", places ? places : run->inputs[0], stored);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "g_at", g->offset);
  tsri_call_words(&call, "m", 1, cells, 2);
  tsri_call_word(&call, "gn", g->strides[0]);
  tsri_call_word(&call, "gc", g->strides[1]);
  tsri_call_words(&call, "g", 1, &g->strides[2], 2);
  return tsri_call_items(&call, count);
}

// As run_gradient, by max_pool_gradient_cells. If windows overlap, several cells need the index of a window's largest element, so it is found only once, in a
// launch before.
static tsr_status run_cells(const tsri_kernel_run *run, const tsri_pool_attributes *given) {
  if (given->size[0] <= given->stride[0] && given->size[1] <= given->stride[1]) return gather_cells(run, given, NULL);
  tsr_buffer *places = NULL;
  tsr_status status = tsri_call_scratch(run->device, run->layouts[1].count, TSR_U32, &places);
  if (status == TSR_OK) status = find_places(run, given, places);
  if (status == TSR_OK) status = gather_cells(run, given, places);
  tsr_buffer_release(places);
  return status;
}

// As run_gradient, by max_pool_gradient_small: for small windows that are more than twice as large as their stride.
static tsr_status gradient_small(const tsri_kernel_run *run, const tsri_pool_attributes *given) {
  const tsri_layout *const layouts[] = {&run->layouts[0], &run->layouts[1], &run->layouts[2]};
  static const char *const names[] = {"x", "g", "best"}, *const stems[] = {"x", "g", "b"},
                           *const images[] = {"xn", "gn", "bn"}, *const channels[] = {"xc", "gc", "bc"},
                           *const offsets[] = {"x_at", "g_at", "b_at"};
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_conv", "max_pool_gradient_small", TSRI_WITH(CELL_ARGUMENTS));
  for (int i = 0; i < 3; i++) {
    tsri_call_buffer(&call, names[i], run->inputs[i], run->dtype);
    tsri_call_word(&call, offsets[i], layouts[i]->offset);
    tsri_call_word(&call, images[i], layouts[i]->strides[0]);
    tsri_call_word(&call, channels[i], layouts[i]->strides[1]);
    tsri_call_words(&call, stems[i], 1, &layouts[i]->strides[2], 2);
  }
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", layouts[0]->count);
  tsri_call_word(&call, "channels", layouts[0]->shape.dims[1]);
  tsri_call_words(&call, "i", 1, &layouts[0]->shape.dims[2], 2);
  tsri_call_words(&call, "o", 1, &layouts[1]->shape.dims[2], 2);
  tsri_call_words(&call, "p", 1, given->before, 2);
  return tsri_call_items(&call, layouts[0]->count);
}

// Launches max_pool_gradient. `places`: the index of the largest element of each window. If there are no windows, x is bound instead of g, and neither is read.
static tsr_status gather_windows(const tsri_kernel_run *run, const tsri_pool_attributes *given, tsr_buffer *places) {
  const tsri_layout *x = &run->layouts[0], *g = &run->layouts[1];
  int spatial = x->shape.rank - 2;
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_conv", "max_pool_gradient",
                        TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                                  TSRI_CONSTANT("LAST", given->is_last != 0)));
  tsri_call_buffer(&call, "g", run->inputs[g->count > 0 ? 1 : 0], run->dtype);
  tsri_call_buffer(&call, "places", places, TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", x->count);
  tsri_call_word(&call, "g_at", g->offset);
  tsri_call_word(&call, "channels", x->shape.dims[1]);
  tsri_call_word(&call, "gn", g->strides[0]);
  tsri_call_word(&call, "gc", g->strides[1]);
  tsri_window_pass(&call, "g", &g->strides[2], spatial, 0);
  tsri_window_pass(&call, "i", &x->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "o", &g->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "p", given->before, spatial, 0);
  tsri_window_pass(&call, "k", given->size, spatial, 1);
  tsri_window_pass(&call, "s", given->stride, spatial, 1);
  tsri_window_pass(&call, "d", given->dilation, spatial, 1);
  return tsri_call_items(&call, x->count);
}

// Inputs: x, the gradient of the result, and the result, all as [image, channel, spatial …].
static tsr_status run_gradient(const tsri_kernel_run *run) {
  const tsri_pool_attributes *given = TSRI_GIVEN(run->node, pool);
  const tsri_layout *x = &run->layouts[0], *g = &run->layouts[1];
  if (x->count == 0) return TSR_OK;
  if (g->count == 0 && !run->epilogue) return tsri_call_zero(run);
  tsr_status status = gradient_native(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = tsri_call_check(run->node->op->name, x);
  if (status == TSR_OK) status = tsri_call_check(run->node->op->name, g);
  if (status != TSR_OK) return status;
  bool is_small = are_written_out(run, given) && g->count > 0;
  if (is_small) return has_cells(given) ? run_cells(run, given) : gradient_small(run, given);
  tsr_buffer *places = NULL;
  tsri_pool_attributes finds = *given;
  finds.mode = MODE_ARGMAX;
  finds.is_last = false;
  status = tsri_call_scratch(run->device, g->count > 0 ? g->count : 1, TSRI_INDEX_DTYPE, &places);
  if (status == TSR_OK && g->count > 0) status = pool_windows(run, &finds, places, TSRI_INDEX_DTYPE, &g->shape.dims[2]);
  if (status == TSR_OK) status = gather_windows(run, given, places);
  tsr_buffer_release(places);
  return status;
}

#define GRADIENT(is_hooked)                                                                          \
  {                                                                                                  \
    .name = "max_pool", .kind = TSRI_OP_KERNEL, .run = run_gradient, .attribute_set = TSRI_SET_pool, \
    .attribute_bytes = sizeof(tsri_pool_attributes), .has_store_hook = (is_hooked)                   \
  }

const tsri_op tsri_op_max_pool_gradient[2] = {GRADIENT(false), GRADIENT(true)};

bool tsri_max_pool_gradient_fuses(tsr_device *device) {
  tsri_graph_state *state = NULL;
  return tsri_graph_state_for(device, &state) == TSR_OK && state->tuning.row_held != 0;
}

tsr_tensor *tsri_max_pool_gradient(tsr_tensor *x, tsr_tensor *g, tsr_tensor *y, const tsri_pool_attributes *given) {
  tsr_tensor *inputs[3] = {x, g, y};
  tsr_device *device = NULL;
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check("max_pool", inputs[i]);
  if (status == TSR_OK) status = tsri_record_device("max_pool", inputs, 3, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool is_hooked = tsri_max_pool_gradient_fuses(device);
  const tsri_op *op = &tsri_op_max_pool_gradient[is_hooked];
  tsri_pool_attributes attributes = *given;
  attributes.is_last = is_hooked && given->is_last;
  tsr_shape shape = x->layout.shape;
  for (int i = 1; i < shape.rank && attributes.is_last; i++) {
    shape.dims[i] = x->layout.shape.dims[i == shape.rank - 1 ? 1 : i + 1];
  }
  tsr_tensor *found = tsri_record_kernel(op, device, x->dtype, shape, inputs, 3, TSRI_GIVE_ALL(op, pool, &attributes));
  return attributes.is_last ? tsri_then(tsr_moveaxis(found, -1, 1), found) : found;
}

// --- Shapes ----------------------------------------------------------------------------------------------------------

typedef struct pooling {
  const tsri_op *op;
  tsri_pool_attributes given;
  tsr_shape shape;  // of x, with its channels as axis 1
  int64_t sizes[TSRI_MAX_SPATIAL];
} pooling;

static tsr_status check_desc(const pooling *p, const tsr_pool_desc *desc) {
  const char *name = p->op->name;
  if (desc->counts_padding && p->given.mode != MODE_MEAN) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .counts_padding of the description", name);
  }
  if (desc->power != 0 && p->given.mode != MODE_POWER) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .power of the description", name);
  }
  if (desc->power < 0 || !isfinite(desc->power)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the power is %g; it must be above 0", name, desc->power);
  }
  bool is_adaptive = desc->output[0] != 0, has_window = desc->rounds_up || desc->counts_padding;
  for (int i = 0; i < TSRI_MAX_SPATIAL; i++) {
    has_window =
        has_window || desc->size[i] || desc->stride[i] || desc->dilation[i] || desc->before[i] || desc->after[i];
  }
  if (!is_adaptive || !has_window) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: .output works out windows, and yet options of windows are given",
                   name);
}

// Measures the windows along spatial axis i; without a given size, the window is the whole axis.
static tsr_status measure_axis(pooling *p, const tsr_pool_desc *desc, int i) {
  int64_t input = p->shape.dims[2 + i], size = desc->size[i] ? desc->size[i] : input;
  tsri_window window = {.input = input,
                        .size = size,
                        .stride = desc->stride[i] ? desc->stride[i] : size,
                        .dilation = desc->dilation[i] ? desc->dilation[i] : 1,
                        .before = desc->before[i],
                        .after = desc->after[i]};
  if (input == 0) return TSRI_FAIL(TSR_ERR_SHAPE, "%s: spatial axis %d of 0 has nothing to pool", p->op->name, i);
  tsr_status status = tsri_window_check(p->op->name, &window, i);
  if (status == TSR_OK) status = tsri_window_count(p->op->name, &window, desc->rounds_up, i, &p->sizes[i]);
  p->given.size[i] = window.size;
  p->given.stride[i] = window.stride;
  p->given.dilation[i] = window.dilation;
  p->given.before[i] = window.before;
  p->given.after[i] = window.after;
  return status;
}

// Measures adaptive windows: the given number of windows, which together cover the axis. The kernel multiplies sizes in u32, so they are limited.
static tsr_status measure_adaptive(pooling *p, const tsr_pool_desc *desc, int i) {
  int64_t input = p->shape.dims[2 + i], count = desc->output[i];
  if (input < 1 || count < 1 || count > INT32_MAX || input > INT32_MAX || (count + 1) * input > INT32_MAX) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %lld windows do not cover spatial axis %d of %lld", p->op->name,
                     (long long)count, i, (long long)input);
  }
  p->sizes[i] = count;
  p->given.size[i] = p->given.stride[i] = p->given.dilation[i] = 1;
  return TSR_OK;
}

// Replaces adaptive windows by ordinary ones (with size and stride) if they divide every axis evenly.
static void use_even_windows(pooling *p) {
  bool is_even = true;
  for (int i = 0; i < p->shape.rank - 2; i++) is_even = is_even && p->shape.dims[2 + i] % p->sizes[i] == 0;
  p->given.is_adaptive = !is_even;
  for (int i = 0; is_even && i < p->shape.rank - 2; i++) {
    p->given.size[i] = p->given.stride[i] = p->shape.dims[2 + i] / p->sizes[i];
  }
}

static tsr_status measure(pooling *p, const tsr_pool_desc *desc) {
  char text[TSR_SHAPE_TEXT_BYTES];
  if (p->shape.rank < 3 || p->shape.rank > 2 + TSRI_MAX_SPATIAL) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes 3 to 5 axes, not %s", p->op->name,
                     tsr_shape_format(p->shape, text, sizeof text));
  }
  tsr_status status = check_desc(p, desc);
  for (int i = 0; i < p->shape.rank - 2 && status == TSR_OK; i++) {
    status = desc->output[0] != 0 ? measure_adaptive(p, desc, i) : measure_axis(p, desc, i);
  }
  if (status == TSR_OK && desc->output[0] != 0) use_even_windows(p);
  return status;
}

// --- Recording -------------------------------------------------------------------------------------------------------

static tsr_tensor *record(const pooling *p, tsr_tensor *x, tsr_dtype dtype) {
  tsr_shape shape = {.rank = p->shape.rank, .dims = {p->shape.dims[0]}};
  int at = 1, spatial = p->shape.rank - 2;
  if (!p->given.is_last) shape.dims[at++] = p->shape.dims[1];
  for (int i = 0; i < spatial; i++) shape.dims[at++] = p->sizes[i];
  if (p->given.is_last) shape.dims[at] = p->shape.dims[1];
  tsr_status status = tsri_shape_check(p->op->name, shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(p->op, x->value->device, dtype, shape, &x, 1, TSRI_GIVE_ALL(p->op, pool, &p->given));
}

// Whether each channel has one window that covers all of it.
static bool has_whole_planes(const pooling *p) {
  bool is_whole = !p->given.is_adaptive;
  for (int i = 0; i < p->shape.rank - 2; i++) {
    is_whole = is_whole && p->sizes[i] == 1 && p->given.size[i] == p->shape.dims[2 + i] && p->given.before[i] == 0 &&
               p->given.dilation[i] == 1;
  }
  return is_whole;
}

// The mean of each channel, as a reduction, which has many items per channel; the pooling kernel has only one.
static tsr_tensor *mean_of_planes(const pooling *p, tsr_tensor *x, tsr_dtype dtype) {
  int axes[TSRI_MAX_SPATIAL], spatial = p->shape.rank - 2;
  for (int i = 0; i < spatial; i++) axes[i] = 2 + i;
  tsr_tensor *mean = tsr_mean(x, axes, spatial, true), *as = tsr_cast(mean, dtype);
  tsr_release(mean);
  return p->given.is_last ? tsri_then(tsr_moveaxis(as, 1, -1), as) : as;
}

// Records the pooling. `as`: the dtype that x is cast to; `dtype`: the dtype of the result.
static tsr_tensor *pool(const tsri_op *op, int mode, tsr_tensor *x, const tsr_pool_desc *desc, tsr_dtype as,
                        tsr_dtype dtype) {
  pooling p = {.op = op,
               .given = {.mode = mode,
                         .is_last = desc->channels_last,
                         .counts_padding = desc->counts_padding,
                         .power = desc->power > 0 ? desc->power : 2}};
  tsr_tensor *cast = tsr_cast(x, as);
  tsr_tensor *turned = desc->channels_last && x->layout.shape.rank >= 2 ? tsr_moveaxis(cast, -1, 1) : tsr_retain(cast);
  tsr_release(cast);
  tsr_status status = tsri_tensor_check(op->name, turned);
  if (status == TSR_OK) {
    p.shape = turned->layout.shape;
    status = measure(&p, desc);
  }
  tsr_tensor *result = NULL;
  if (status != TSR_OK) result = tsri_tensor_fail(status);
  else if (mode == MODE_MEAN && has_whole_planes(&p)) result = mean_of_planes(&p, turned, dtype);
  else result = record(&p, turned, dtype);
  return tsri_tensor_named(op->name, tsri_then(result, turned));
}

static const tsr_pool_desc usual;

tsr_tensor *tsr_max_pool(tsr_tensor *x, const tsr_pool_desc *desc) {
  const tsri_op *op = TSRI_BODY(max_pool);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (x->dtype != TSR_BOOL) return pool(op, MODE_MAX, x, desc ? desc : &usual, x->dtype, x->dtype);
  tsr_tensor *largest = pool(op, MODE_MAX, x, desc ? desc : &usual, TSR_U8, TSR_U8);
  return tsri_tensor_named(op->name, tsri_then(tsr_cast(largest, TSR_BOOL), largest));
}

tsr_tensor *tsri_pool_places(tsr_tensor *x, const tsri_pool_attributes *given, tsr_shape shape) {
  tsri_pool_attributes places = *given;
  places.mode = MODE_ARGMAX;
  places.is_last = false;
  const tsri_op *op = TSRI_BODY(argmax_pool);
  return tsri_record_kernel(op, x->value->device, TSRI_INDEX_DTYPE, shape, &x, 1, TSRI_GIVE_ALL(op, pool, &places));
}

tsr_tensor *tsr_argmax_pool(tsr_tensor *x, const tsr_pool_desc *desc) {
  const tsri_op *op = TSRI_BODY(argmax_pool);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return pool(op, MODE_ARGMAX, x, desc ? desc : &usual, x->dtype == TSR_BOOL ? TSR_U8 : x->dtype, TSRI_INDEX_DTYPE);
}

tsr_tensor *tsr_avg_pool(tsr_tensor *x, const tsr_pool_desc *desc) {
  const tsri_op *op = TSRI_BODY(avg_pool);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  return pool(op, MODE_MEAN, x, desc ? desc : &usual, dtype, dtype);
}

tsr_tensor *tsr_lp_pool(tsr_tensor *x, const tsr_pool_desc *desc) {
  const tsri_op *op = TSRI_BODY(lp_pool);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  return pool(op, MODE_POWER, x, desc ? desc : &usual, dtype, dtype);
}

// --- max_unpool ------------------------------------------------------------------------------------------------------

static tsr_status check_unpool(const tsr_tensor *x, const tsr_tensor *indices, tsr_shape size, int64_t *out_plane) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = x->layout.shape;
  if (!tsri_shape_equal(shape, indices->layout.shape)) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "max_unpool: shapes differ, x is %s, the indices are %s",
                     tsr_shape_format(shape, a, sizeof a), tsr_shape_format(indices->layout.shape, b, sizeof b));
  }
  tsr_status status = tsri_shape_check("max_unpool", size, out_plane);
  if (status != TSR_OK) return status;
  if (shape.rank >= 3 && size.rank == shape.rank - 2 && *out_plane <= INT32_MAX) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "max_unpool: x is %s, which does not go into planes of %s",
                   tsr_shape_format(shape, a, sizeof a), tsr_shape_format(size, b, sizeof b));
}

// Converts the indices of argmax_pool to those that scatter takes. Index -1 (a window without elements) is mapped to one that scatter skips. Planes have
// `count` elements.
static tsr_tensor *scatter_indices(tsr_tensor *indices, tsr_shape lines, int64_t count) {
  tsr_tensor *flat = tsr_reshape(indices, lines), *wide = tsri_then(tsr_cast(flat, TSRI_INDEX_DTYPE), flat);
  tsr_tensor *is_none = tsr_lt_scalar(wide, 0);
  return tsri_then(tsri_then(tsr_masked_fill(wide, is_none, (double)count), is_none), wide);
}

tsr_tensor *tsr_max_unpool(tsr_tensor *x, tsr_tensor *indices, tsr_shape size) {
  int64_t plane = 0;
  tsr_status status = tsri_tensor_check("max_unpool", x);
  if (status == TSR_OK) status = tsri_tensor_check("max_unpool", indices);
  if (status == TSR_OK && tsr_dtype_kind_of(indices->dtype) != TSR_KIND_INT) {
    status =
        TSRI_FAIL(TSR_ERR_DTYPE, "max_unpool: indices are signed integers, not %s", tsr_dtype_name(indices->dtype));
  }
  if (status == TSR_OK) status = check_unpool(x, indices, size, &plane);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape from = x->layout.shape, whole = {.rank = from.rank, .dims = {from.dims[0], from.dims[1]}};
  int64_t line = 1;
  for (int i = 0; i < size.rank; i++) {
    line *= from.dims[2 + i];
    whole.dims[2 + i] = size.dims[i];
  }
  tsr_shape lines = TSR_SHAPE(from.dims[0], from.dims[1], line);
  tsr_tensor *at = scatter_indices(indices, lines, plane), *source = tsr_reshape(x, lines);
  tsr_tensor *zeros = tsri_record_zeros(x->value->device, x->dtype, TSR_SHAPE(from.dims[0], from.dims[1], plane));
  tsr_tensor *planes = tsri_then(tsri_then(tsri_then(tsr_scatter(zeros, 2, at, source), at), source), zeros);
  return tsri_tensor_named("max_unpool", tsri_then(tsr_reshape(planes, whole), planes));
}
