// SPDX-License-Identifier: MIT
// Elements of images at fractional positions: grid_sample, affine_grid and roi_align (kernels/op_sample.tk).
#include <math.h>

#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/roi.h"
#include "ops/sample_planes.h"
#include "ops/window.h"

#include <tessera/ops.h>

static int64_t count_of(tsr_shape shape) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return count;
}

static tsr_status check_run(const tsri_kernel_run *run, int inputs) {
  tsri_layout result = {.shape = run->shape, .count = count_of(run->shape)};
  tsr_status status = tsri_call_check(run->node->op->name, &result);
  for (int i = 0; i < inputs && status == TSR_OK; i++) status = tsri_call_check(run->node->op->name, &run->layouts[i]);
  return status;
}

// Casts the tensors to `dtype`, and those from index `whole` on to i32, and records the operator. Inputs have been checked.
static tsr_tensor *record(const tsri_op *op, tsr_dtype dtype, tsr_shape shape, tsr_tensor *const *given, int count,
                          int whole, const void *attributes) {
  tsr_tensor *inputs[3];
  tsr_device *device = NULL;
  for (int i = 0; i < count; i++) inputs[i] = tsr_cast(given[i], i < whole ? dtype : TSR_I32);
  tsr_status status = tsri_shape_check(op->name, shape, &(int64_t){0});
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, device, dtype, shape, inputs, count, attributes)
                                        : tsri_tensor_fail(status);
  tsri_release_all(inputs, count);
  return tsri_tensor_named(op->name, result);
}

// --- grid_sample -----------------------------------------------------------------------------------------------------

void tsri_sample_pass(const tsri_kernel_run *run, tsri_call *call) {
  const tsri_layout *x = &run->layouts[0], *grid = &run->layouts[1];
  tsri_call_buffer(call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(call, "grid", run->inputs[1], run->dtype);
  tsri_call_buffer(call, "y", run->output, run->dtype);
  tsri_call_word(call, "x_at", x->offset);
  tsri_call_word(call, "g_at", grid->offset);
  tsri_call_word(call, "channels", x->shape.dims[1]);
  tsri_call_word(call, "xn", x->strides[0]);
  tsri_call_word(call, "xc", x->strides[1]);
  tsri_call_word(call, "gn", grid->strides[0]);
  tsri_call_word(call, "gk", grid->strides[grid->shape.rank - 1]);
}

static int64_t chunks_of(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

// How many channels an item of grid_sample computes: as many as leave enough items to keep the device busy, and as there are planes in the first-level cache, but at
// least two. Items are not all at the same channel at a time, so neighbours read from so many planes.
static int64_t share_of_item(const tsri_kernel_run *run) {
  enum { CACHE_BYTES = 1 << 17 };
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  if (tuning->row_held == 0) return 1;
  int64_t channels = run->shape.dims[1], each = count_of(run->shape) / channels;
  int64_t plane = run->layouts[0].count / (run->shape.dims[0] * channels) * (int64_t)tsr_dtype_bytes(run->dtype);
  int64_t most = CACHE_BYTES / plane > 2 ? CACHE_BYTES / plane : 2;
  int64_t shares = chunks_of(tuning->column_items, each), share = chunks_of(channels, shares);
  return share < most ? share : most;
}

tsr_status tsri_run_grid_sample(const tsri_kernel_run *run) {
  const tsri_grid_attributes *given = TSRI_GIVEN(run->node, grid);
  const tsri_layout *x = &run->layouts[0], *grid = &run->layouts[1];
  int spatial = x->shape.rank - 2;
  if (count_of(run->shape) == 0) return TSR_OK;
  tsr_status status = check_run(run, 2);
  if (status != TSR_OK) return status;
  status = tsri_sample_planes(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  int64_t channels = x->shape.dims[1], share = share_of_item(run);
  int64_t items = count_of(run->shape) / channels * chunks_of(channels, share);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_sample", "grid_sample",
                 TSRI_WITH(TSRI_GRID_ARGUMENTS, TSRI_CONSTANT("SOLID", spatial == 3)));
  tsri_sample_pass(run, &call);
  tsri_call_word(&call, "n", items);
  tsri_call_word(&call, "share", share);
  tsri_window_pass(&call, "i", &x->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "o", &run->shape.dims[2], spatial, 1);
  tsri_window_pass(&call, "x", &x->strides[2], spatial, 0);
  tsri_window_pass(&call, "g", &grid->strides[1], spatial, 0);
  return tsri_call_items(&call, items);
}

static tsr_status check_grid(const tsr_tensor *x, const tsr_tensor *grid, const tsr_grid_desc *desc) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape image = x->layout.shape, points = grid->layout.shape;
  int spatial = image.rank - 2;
  bool fits = (spatial == 2 || spatial == 3) && points.rank == image.rank && points.dims[0] == image.dims[0] &&
              points.dims[points.rank - 1] == spatial;
  for (int i = 0; fits && i < spatial; i++) fits = image.dims[2 + i] > 0 && image.dims[2 + i] < 1 << 24;
  if (!fits) {
    return TSRI_FAIL(
        TSR_ERR_SHAPE,
        "grid_sample: x is %s, the grid is %s; they are [images, channels, sizes …] and [images, points …, 2], "
        "or 3 beside three sizes; no size is 0",
        tsr_shape_format(image, a, sizeof a), tsr_shape_format(points, b, sizeof b));
  }
  if ((unsigned)desc->mode > TSR_GRID_CUBIC || (unsigned)desc->padding > TSR_GRID_REFLECTION) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grid_sample: there is no mode %d or padding %d", (int)desc->mode,
                     (int)desc->padding);
  }
  if (spatial == 2 || desc->mode != TSR_GRID_CUBIC) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "grid_sample: cubic takes two sizes, x is %s",
                   tsr_shape_format(image, a, sizeof a));
}

tsr_tensor *tsr_grid_sample(tsr_tensor *x, tsr_tensor *grid, const tsr_grid_desc *desc) {
  static const tsr_grid_desc usual;
  const tsri_op *op = TSRI_BODY(grid_sample);
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, grid);
  if (status == TSR_OK) status = check_grid(x, grid, desc);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = x->layout.shape;
  for (int i = 2; i < shape.rank; i++) shape.dims[i] = grid->layout.shape.dims[i - 1];
  tsri_grid_attributes given = {
      .mode = (int64_t)desc->mode, .padding = (int64_t)desc->padding, .align_corners = desc->align_corners};
  tsr_dtype dtype = tsri_promote_float(tsri_promote(x->dtype, grid->dtype));
  return record(op, dtype, shape, (tsr_tensor *[]){x, grid}, 2, 2, TSRI_GIVE_ALL(op, grid, &given));
}

// --- affine_grid -----------------------------------------------------------------------------------------------------

// Coordinates of `size` elements, from -1 to 1. align_corners: -1 and 1 are the outermost elements, otherwise the ends of the axis. A single element is in the
// middle.
static tsr_tensor *positions(tsr_device *device, tsr_dtype dtype, int64_t size, bool align_corners) {
  double end = size <= 1 ? 0 : align_corners ? 1 : 1 - 1 / (double)size;
  return tsr_linspace(device, dtype, -end, end, size);
}

// Column `j` of theta in a shape that broadcasts to the grid: [images, 1 …, axes].
static tsr_tensor *column(tsr_tensor *theta, int j, int axes) {
  tsr_shape shape = {.rank = axes + 2, .dims = {theta->layout.shape.dims[0]}};
  for (int i = 1; i <= axes; i++) shape.dims[i] = 1;
  shape.dims[axes + 1] = axes;
  tsr_tensor *part = tsr_slice(theta, 2, j, j + 1, 1);
  return tsri_then(tsr_reshape(part, shape), part);
}

// sum + theta's column `j` * coordinates along the axis of that column (column 0 belongs to the last axis). Releases `sum`.
static tsr_tensor *add_axis(tsr_tensor *sum, tsr_tensor *theta, tsr_shape size, int j, bool align_corners) {
  int axes = size.rank - 2, axis = size.rank - 1 - j;
  tsr_shape along = {.rank = axes + 1};
  for (int i = 0; i <= axes; i++) along.dims[i] = 1;
  along.dims[axes - 1 - j] = size.dims[axis];
  tsr_tensor *list = positions(theta->value->device, theta->dtype, size.dims[axis], align_corners);
  tsr_tensor *points = tsri_then(tsr_reshape(list, along), list), *factor = column(theta, j, axes);
  return tsri_then(tsri_then(tsri_then(tsr_fma(factor, points, sum), sum), factor), points);
}

tsr_tensor *tsr_affine_grid(tsr_tensor *theta, tsr_shape size, bool align_corners) {
  static const char name[] = "affine_grid";
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(name, theta);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = theta->layout.shape;
  int axes = size.rank == 4 || size.rank == 5 ? size.rank - 2 : 0;
  if (axes == 0 || shape.rank != 3 || shape.dims[0] != size.dims[0] || shape.dims[1] != axes ||
      shape.dims[2] != axes + 1) {
    return tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_SHAPE,
                  "%s: theta is %s, the size is %s; they are [images, 2, 3] and [images, channels, rows, "
                  "columns], or 3, 4 and three sizes",
                  name, tsr_shape_format(shape, a, sizeof a), tsr_shape_format(size, b, sizeof b)));
  }
  tsr_dtype dtype = tsri_promote_float(theta->dtype);
  tsr_tensor *wide = tsr_cast(theta, tsri_accumulator(dtype));
  status = tsri_tensor_check(name, wide);
  if (status != TSR_OK) return tsri_tensor_named(name, wide);
  tsr_tensor *sum = column(wide, axes, axes);
  for (int j = axes - 1; j >= 0; j--) sum = add_axis(sum, wide, size, j, align_corners);
  tsr_release(wide);
  return tsri_tensor_named(name, tsri_then(tsr_cast(sum, dtype), sum));
}

// --- roi_align -------------------------------------------------------------------------------------------------------

// Passes the regions and how they are sampled.
static void pass_regions(tsri_call *call, const tsri_roi_attributes *given, const tsri_layout *regions) {
  tsri_call_word(call, "r_at", regions->offset);
  tsri_call_words(call, "r", 0, regions->strides, 2);
  tsri_call_word(call, "points", given->points);
  tsri_call_real(call, "scale", given->scale);
  tsri_call_real(call, "shift", given->is_aligned ? 0.5 : 0);
  tsri_call_real(call, "least", given->is_aligned ? 0 : 1);
}

// Passes the arguments that roi_align and roi_places have in common; `shape` is the shape of roi_align's result.
static void pass_parts(const tsri_kernel_run *run, const tsri_roi_attributes *given, const int64_t *parts,
                       tsri_call *call) {
  const tsri_layout *x = &run->layouts[0], *images = &run->layouts[2];
  tsri_call_buffer(call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(call, "regions", run->inputs[1], run->input_dtypes[1]);
  tsri_call_buffer(call, "images", run->inputs[2], TSR_I32);
  tsri_call_word(call, "x_at", x->offset);
  tsri_call_word(call, "channels", x->shape.dims[1]);
  tsri_call_word(call, "xn", x->strides[0]);
  tsri_call_word(call, "xc", x->strides[1]);
  tsri_call_word(call, "m_at", images->offset);
  tsri_call_word(call, "image_count", x->shape.dims[0]);
  tsri_call_words(call, "i", 1, &x->shape.dims[2], 2);
  tsri_call_words(call, "o", 1, parts, 2);
  tsri_call_words(call, "x", 1, &x->strides[2], 2);
  tsri_call_word(call, "m0", images->strides[0]);
  pass_regions(call, given, &run->layouts[1]);
}

tsr_status tsri_run_roi_align(const tsri_kernel_run *run) {
  const tsri_roi_attributes *given = TSRI_GIVEN(run->node, roi);
  if (count_of(run->shape) == 0) return TSR_OK;
  if (run->layouts[0].count == 0) return tsri_call_zero(run);
  tsr_status status = check_run(run, 3);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_sample", "roi_align",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("MAX", given->is_max)));
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", count_of(run->shape));
  pass_parts(run, given, &run->shape.dims[2], &call);
  return tsri_call_items(&call, count_of(run->shape));
}

static tsr_status check_regions(const tsr_tensor *x, const tsr_tensor *regions, const tsr_tensor *images) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES], c[TSR_SHAPE_TEXT_BYTES];
  tsr_shape image = x->layout.shape, boxes = regions->layout.shape, list = images->layout.shape;
  tsr_dtype_kind kind = tsr_dtype_kind_of(images->dtype);
  if (kind != TSR_KIND_INT && kind != TSR_KIND_UINT) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "roi_align: images are integers, not %s", tsr_dtype_name(images->dtype));
  }
  if (image.rank == 4 && boxes.rank == 2 && boxes.dims[1] == 4 && list.rank == 1 && list.dims[0] == boxes.dims[0])
    return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE,
                   "roi_align: x is %s, regions are %s, images are %s; they are [images, channels, rows, columns], "
                   "[regions, 4] and [regions]",
                   tsr_shape_format(image, a, sizeof a), tsr_shape_format(boxes, b, sizeof b),
                   tsr_shape_format(list, c, sizeof c));
}

tsr_tensor *tsr_roi_align(tsr_tensor *x, tsr_tensor *regions, tsr_tensor *images, const tsr_roi_desc *desc) {
  static const tsr_roi_desc usual;
  const tsri_op *op = TSRI_BODY(roi_align);
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, regions);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, images);
  if (status == TSR_OK) status = check_regions(x, regions, images);
  if (status == TSR_OK && (!isfinite(desc->scale) || desc->points < 0 || desc->points > 4096 || desc->rows < 0 ||
                           desc->columns < 0 || desc->rows > INT32_MAX || desc->columns > INT32_MAX)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "roi_align: scale %g, %lld points, %lldx%lld parts", desc->scale,
                       (long long)desc->points, (long long)desc->rows, (long long)desc->columns);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_roi_attributes given = {.scale = desc->scale != 0 ? desc->scale : 1,
                               .points = desc->points,
                               .is_max = desc->takes_max,
                               .is_aligned = !desc->not_aligned};
  tsr_shape shape = TSR_SHAPE(regions->layout.shape.dims[0], x->layout.shape.dims[1], desc->rows ? desc->rows : 1,
                              desc->columns ? desc->columns : 1);
  tsr_dtype dtype = tsri_promote_float(tsri_promote(x->dtype, regions->dtype));
  return record(op, dtype, shape, (tsr_tensor *[]){x, regions, images}, 3, 2, TSRI_GIVE_ALL(op, roi, &given));
}

// --- Parts of roi_align, for its gradient ------------------------------------------------------------------------------

// Input: the regions. The attribute `is_max` holds the axis here.
static tsr_status run_weights(const tsri_kernel_run *run) {
  const tsri_roi_attributes *given = TSRI_GIVEN(run->node, roi);
  int64_t count = count_of(run->shape);
  if (count == 0) return TSR_OK;
  tsr_status status = check_run(run, 1);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_sample", "roi_weights",
                 TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("A", run->dtype)));
  tsri_call_buffer(&call, "regions", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(&call, "weights", run->output, run->dtype);
  tsri_call_word(&call, "n", count);
  tsri_call_word(&call, "low", given->is_max ? 0 : 1);  // regions are left, top, right, bottom
  tsri_call_word(&call, "parts", run->shape.dims[1]);
  tsri_call_word(&call, "size", run->shape.dims[2]);
  pass_regions(&call, given, &run->layouts[0]);
  return tsri_call_items(&call, count);
}

const tsri_op tsri_op_roi_weights = {.name = "roi_align",
                                     .kind = TSRI_OP_KERNEL,
                                     .run = run_weights,
                                     .attribute_set = TSRI_SET_roi,
                                     .attribute_bytes = sizeof(tsri_roi_attributes)};

tsr_tensor *tsri_roi_weights(const tsri_roi_attributes *given, tsr_tensor *regions, int axis, int64_t parts,
                             int64_t size) {
  tsr_status status = tsri_tensor_check("roi_align", regions);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_roi_attributes of_axis = *given;
  of_axis.is_max = axis;
  tsr_shape shape = TSR_SHAPE(regions->layout.shape.dims[0], parts, size);
  return tsri_record_kernel(&tsri_op_roi_weights, regions->value->device, tsri_accumulator(regions->dtype), shape,
                            &regions, 1, TSRI_GIVE_ALL(&tsri_op_roi_weights, roi, &of_axis));
}

// Inputs: x, regions, images. The attributes `points` and `is_max` are those of roi_align. Results: [4, regions, channels, rows, columns].
static tsr_status run_places(const tsri_kernel_run *run) {
  const tsri_roi_attributes *given = TSRI_GIVEN(run->node, roi);
  int64_t count = count_of(run->shape) / 4;
  if (count == 0) return TSR_OK;
  tsr_status status = check_run(run, 3);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_sample", "roi_places",
      TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("A", tsri_accumulator(run->input_dtypes[0]))));
  tsri_call_buffer(&call, "numbers", run->outputs[0], TSR_I32);
  tsri_call_buffer(&call, "weights", run->outputs[1], tsri_accumulator(run->input_dtypes[0]));
  tsri_call_word(&call, "n", count);
  pass_parts(run, given, &run->shape.dims[3], &call);
  return tsri_call_items(&call, count);
}

const tsri_op tsri_op_roi_places = {.name = "roi_align",
                                    .kind = TSRI_OP_KERNEL,
                                    .run = run_places,
                                    .attribute_set = TSRI_SET_roi,
                                    .attribute_bytes = sizeof(tsri_roi_attributes)};

void tsri_roi_places(const tsri_roi_attributes *given, tsr_tensor *const *inputs, tsr_shape shape,
                     tsr_tensor **out_table) {
  tsr_shape all = {.rank = 5, .dims = {4, shape.dims[0], shape.dims[1], shape.dims[2], shape.dims[3]}};
  tsri_result results[2] = {{TSR_I32, all}, {tsri_accumulator(inputs[0]->dtype), all}};
  tsri_record_kernel_results(&tsri_op_roi_places, inputs[0]->value->device, results, 2, inputs, 3,
                             TSRI_GIVE_ALL(&tsri_op_roi_places, roi, given), out_table);
  for (int i = 0; i < 2; i++) {
    tsr_tensor *flat = tsr_reshape(out_table[i], TSR_SHAPE(4, count_of(shape)));
    out_table[i] = tsri_then(flat, out_table[i]);
  }
}
