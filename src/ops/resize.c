// SPDX-License-Identifier: MIT
// resize, axis by axis. A table has, for each position of the result, the few elements of x that it is made of and their weights (kernels/op_taps.tk). For the
// nearest element only, it is an index_select by that table.
#include <math.h>
#include <stdio.h>

#include "core/error.h"
#include "graph/node.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/resize.h"

#include <tessera/ops.h>

enum { MOST_TAPS = 4 };

static const char name[] = "resize";

// --- Launch ----------------------------------------------------------------------------------------------------------

// Starts a call of weigh, or of its variant with four results per item if that applies. *out_each: results per item.
static void begin_weigh(const tsri_kernel_run *run, int64_t taps, int64_t inner, int64_t m, tsri_call *call,
                        int64_t *out_each) {
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  bool fits = inner == 1 ? m % 4 == 0 : inner % 4 == 0 && run->layouts[0].offset % 4 == 0;
  *out_each = fits && tuning->reduce_wide ? 4 : 1;
  const char *kernel = *out_each == 1 ? "weigh" : inner == 1 ? "weigh_along" : "weigh_across";
  tsri_call_init(
      call, run->device, "op_taps", kernel,
      TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("Y", run->dtype), TSRI_TYPE("A", run->input_dtypes[2]),
                TSRI_CONSTANT("TAPS", taps), TSRI_CONSTANT("WG", tuning->item_group)));
}

// Inputs: x, contiguous; indices and weights, [taps, size of the result's axis].
tsr_status tsri_run_taps(const tsri_kernel_run *run) {
  const tsri_taps_attributes *given = TSRI_GIVEN(run->node, taps);
  const tsri_layout *x = &run->layouts[0];
  int axis = (int)given->axis;
  tsri_layout result = {.shape = run->shape, .count = 1};
  int64_t inner = 1;
  for (int i = 0; i < run->shape.rank; i++) result.count *= run->shape.dims[i];
  for (int i = axis + 1; i < run->shape.rank; i++) inner *= run->shape.dims[i];
  if (result.count == 0) return TSR_OK;
  tsr_status status = tsri_call_check(name, x);
  if (status == TSR_OK) status = tsri_call_check(name, &result);
  if (status != TSR_OK) return status;
  tsr_dtype wide = run->input_dtypes[2];
  int64_t each = 1;
  tsri_call call;
  begin_weigh(run, given->taps, inner, run->shape.dims[axis], &call, &each);
  tsri_call_buffer(&call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(&call, "indices", run->inputs[1], TSR_I32);
  tsri_call_buffer(&call, "weights", run->inputs[2], wide);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "count", result.count);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "n", x->shape.dims[axis]);
  tsri_call_word(&call, "m", run->shape.dims[axis]);
  tsri_call_word(&call, "inner", inner);
  tsri_call_real(&call, "outside", given->outside);
  return tsri_call_items(&call, result.count / each);
}

// --- The table of an axis ----------------------------------------------------------------------------------------------

// An axis to resize, from n to m elements.
typedef struct resized_axis {
  const tsr_resize_desc *desc;
  int64_t n, m;
  double scale, start, stop;
} resized_axis;

static tsri_resize_line positions(const resized_axis *a) {
  double last = (double)(a->n - 1), steps = (double)(a->m - 1), half = 0.5 / a->scale - 0.5;
  switch (a->desc->coordinates) {
    case TSR_RESIZE_HALF_PIXEL:
      break;
    case TSR_RESIZE_PYTORCH_HALF_PIXEL:
      if (a->m == 1) return (tsri_resize_line){0, 0};
      break;
    case TSR_RESIZE_ALIGN_CORNERS:
      return (tsri_resize_line){a->m == 1 ? 0 : last / steps, 0};
    case TSR_RESIZE_ASYMMETRIC:
      return (tsri_resize_line){1 / a->scale, 0};
    case TSR_RESIZE_HALF_PIXEL_SYMMETRIC:
      return (tsri_resize_line){1 / a->scale, (double)a->n / 2 * (1 - (double)a->m / (a->scale * (double)a->n)) + half};
    case TSR_RESIZE_CROP:
      if (a->m == 1) return (tsri_resize_line){0, (a->start + a->stop) / 2 * last};
      return (tsri_resize_line){(a->stop - a->start) * last / steps, a->start * last};
  }
  return (tsri_resize_line){1 / a->scale, half};
}

static int taps_of(tsr_resize_mode mode) { return mode == TSR_RESIZE_NEAREST ? 1 : mode == TSR_RESIZE_LINEAR ? 2 : 4; }

// Passes a number as the sum of two: its value rounded to f32, and the rounding error.
static void pass_parts(tsri_call *call, const char *stem, const char *rest, double value, tsr_dtype wide) {
  double head = wide == TSR_F32 ? (double)(float)value : value;
  tsri_call_real(call, stem, head);
  tsri_call_real(call, rest, value - head);
}

void tsri_resize_pass_line(tsri_call *call, const char *suffix, tsri_resize_line line, tsr_dtype wide) {
  char names[4][24];
  static const char *const stems[] = {"step", "start"};
  for (int i = 0; i < 4; i++) snprintf(names[i], sizeof names[i], "%s%s%s", stems[i / 2], suffix, i % 2 ? "_rest" : "");
  pass_parts(call, names[0], names[1], line.step, wide);
  pass_parts(call, names[2], names[3], line.start, wide);
}

// Outputs of the table's operator: indices and weights, [taps, m].
static tsr_status run_table(const tsri_kernel_run *run) {
  const tsri_positions_attributes *given = TSRI_GIVEN(run->node, positions);
  tsr_dtype wide = given->is_f64 ? TSR_F64 : TSR_F32;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_taps", "taps",
      TSRI_WITH(TSRI_TYPE("A", wide), TSRI_CONSTANT("MODE", given->mode), TSRI_CONSTANT("ROUNDING", given->rounding),
                TSRI_CONSTANT("CROP", given->is_crop), TSRI_CONSTANT("EXCLUDE", given->excludes)));
  tsri_call_buffer(&call, "indices", run->outputs[0], TSR_I32);
  tsri_call_buffer(&call, "weights", run->outputs[1], wide);
  tsri_call_word(&call, "m", given->m);
  tsri_call_word(&call, "n", given->n);
  tsri_resize_pass_line(&call, "", (tsri_resize_line){given->step, given->start}, wide);
  tsri_call_real(&call, "cubic", given->cubic);
  return tsri_call_items(&call, given->m);
}

const tsri_op tsri_op_resize_table = {.name = "resize",
                                      .kind = TSRI_OP_KERNEL,
                                      .run = run_table,
                                      .attribute_set = TSRI_SET_positions,
                                      .attribute_bytes = sizeof(tsri_positions_attributes)};

// Records the indices and the weights of an axis; both may be failed tensors.
static void record_table(const resized_axis *a, tsr_device *device, tsr_dtype wide, tsr_tensor **out_table) {
  tsri_resize_line at = positions(a);
  tsri_positions_attributes given = {.step = at.step,
                                     .start = at.start,
                                     .cubic = a->desc->cubic != 0 ? a->desc->cubic : -0.75,
                                     .n = a->n,
                                     .m = a->m,
                                     .mode = (int64_t)a->desc->mode,
                                     .rounding = (int64_t)a->desc->rounding,
                                     .is_crop = a->desc->coordinates == TSR_RESIZE_CROP,
                                     .excludes = a->desc->excludes_outside,
                                     .is_f64 = wide == TSR_F64};
  tsr_shape shape = TSR_SHAPE(a->m * taps_of(a->desc->mode));
  tsri_result results[2] = {{TSR_I32, shape}, {wide, shape}};
  tsri_record_kernel_results(&tsri_op_resize_table, device, results, 2, NULL, 0,
                             TSRI_GIVE_ALL(&tsri_op_resize_table, positions, &given), out_table);
}

// --- One axis ----------------------------------------------------------------------------------------------------------

static tsr_tensor *weighed(tsr_tensor *x, int axis, const resized_axis *a, tsr_tensor *const *table, tsr_dtype dtype) {
  const tsri_op *op = TSRI_BODY(resize);
  tsr_shape shape = x->layout.shape;
  shape.dims[axis] = a->m;
  tsr_tensor *packed = tsr_contiguous(x), *inputs[3] = {packed, table[0], table[1]};
  tsr_status status = tsri_shape_check(name, shape, &(int64_t){0});
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check(name, inputs[i]);
  tsri_taps_attributes given = {.axis = axis, .taps = taps_of(a->desc->mode), .outside = a->desc->outside};
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, x->value->device, dtype, shape, inputs, 3,
                                                             TSRI_GIVE_ALL(op, taps, &given))
                                        : tsri_tensor_fail(status);
  return tsri_then(result, packed);
}

// Selects the nearest element for each position. Works for any dtype.
static tsr_tensor *selected(tsr_tensor *x, int axis, const resized_axis *a, tsr_tensor *indices) {
  tsr_tensor *result = tsr_index_select(x, axis, indices);
  if (a->desc->coordinates == TSR_RESIZE_CROP) {
    tsr_shape along = {.rank = x->layout.shape.rank};
    for (int i = 0; i < along.rank; i++) along.dims[i] = i == axis ? a->m : 1;
    tsr_tensor *is_outside = tsr_lt_scalar(indices, 0), *mask = tsri_then(tsr_reshape(is_outside, along), is_outside);
    result = tsri_then(tsri_then(tsr_masked_fill(result, mask, a->desc->outside), mask), result);
  }
  return result;
}

// Whether resizing this axis changes nothing.
static bool is_same(const resized_axis *a) {
  return a->n == a->m && a->scale == 1 && a->desc->coordinates != TSR_RESIZE_CROP;
}

// Resizes one axis, with sums and weights of dtype `wide`. Releases x.
static tsr_tensor *resize_axis(tsr_tensor *x, int axis, const resized_axis *a, tsr_dtype wide, tsr_dtype dtype) {
  tsr_status status = tsri_tensor_check(name, x);
  if (status != TSR_OK) return tsri_then(tsri_tensor_fail(status), x);
  if (is_same(a)) return x;
  if (a->m == 0) return tsri_then(tsr_slice(x, axis, 0, 0, 1), x);
  bool is_nearest = a->desc->mode == TSR_RESIZE_NEAREST;
  tsr_tensor *table[2];
  record_table(a, x->value->device, is_nearest ? TSR_F32 : wide, table);
  tsr_tensor *result = is_nearest ? selected(x, axis, a, table[0]) : weighed(x, axis, a, table, dtype);
  tsri_release_all(table, 2);
  return tsri_then(result, x);
}

// --- resize --------------------------------------------------------------------------------------------------------------

static tsr_status check_desc(const tsr_resize_desc *desc) {
  if ((unsigned)desc->mode > TSR_RESIZE_CUBIC || (unsigned)desc->coordinates > TSR_RESIZE_CROP ||
      (unsigned)desc->rounding > TSR_RESIZE_CEIL) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "resize: there is no mode %d, coordinates %d or rounding %d",
                     (int)desc->mode, (int)desc->coordinates, (int)desc->rounding);
  }
  if (!isfinite(desc->cubic)) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "resize: cubic is %g", desc->cubic);
  for (int i = 0; i < TSR_MAX_SPATIAL; i++) {
    if (!(desc->scale[i] >= 0) || !isfinite(desc->scale[i]) || !isfinite(desc->start[i]) || !isfinite(desc->stop[i])) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "resize: scale %g, start %g, stop %g; they are numbers, scale above 0",
                       desc->scale[i], desc->start[i], desc->stop[i]);
    }
  }
  return TSR_OK;
}

static tsr_status check_sizes(const tsr_tensor *x, tsr_shape size) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = x->layout.shape;
  bool fits = size.rank >= 1 && size.rank <= TSR_MAX_SPATIAL && size.rank <= shape.rank;
  for (int i = 0; fits && i < size.rank; i++) {
    int64_t n = shape.dims[shape.rank - size.rank + i];
    fits = size.dims[i] >= 0 && size.dims[i] <= INT32_MAX / MOST_TAPS && n <= INT32_MAX && (n > 0 || size.dims[i] == 0);
  }
  if (fits) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "resize: the last axes of %s become %s; that is 1 to %d axes, and none of 0 grows",
                   tsr_shape_format(shape, a, sizeof a), tsr_shape_format(size, b, sizeof b), TSR_MAX_SPATIAL);
}

static resized_axis axis_of(const tsr_tensor *x, tsr_shape size, int i, const tsr_resize_desc *desc) {
  int64_t n = x->layout.shape.dims[x->layout.shape.rank - size.rank + i];
  resized_axis a = {.desc = desc, .n = n, .m = size.dims[i], .start = desc->start[i], .stop = desc->stop[i]};
  a.scale = desc->scale[i] != 0 ? desc->scale[i] : (double)a.m / (double)(n > 0 ? n : 1);
  return a;
}

// The next axis to resize: axes that shrink come first, so that the others have less work.
static int next_axis(const resized_axis *axes, int count, unsigned done) {
  int best = -1;
  double least = 0;
  for (int i = 0; i < count; i++) {
    double growth = (double)axes[i].m / (double)(axes[i].n > 0 ? axes[i].n : 1);
    if ((done >> i & 1u) || (best >= 0 && growth >= least)) continue;
    best = i;
    least = growth;
  }
  return best;
}

// Whether one kernel resizes both axes. For cubic interpolation, 16 elements for each of the result would be more work than two kernels of 4.
static bool goes_by_planes(const tsr_tensor *x, tsr_shape size, const tsr_resize_desc *desc, const resized_axis *axes) {
  return size.rank == 2 && desc->mode != TSR_RESIZE_CUBIC && desc->coordinates != TSR_RESIZE_CROP &&
         !desc->excludes_outside && !(is_same(&axes[0]) && is_same(&axes[1])) && tsri_resize_has_planes(x);
}

static tsr_tensor *resize_planes(tsr_tensor *x, const resized_axis *axes, tsr_dtype dtype, tsr_dtype wide) {
  tsri_resize_line rows = positions(&axes[0]), columns = positions(&axes[1]);
  tsri_plane_attributes given = {.row_step = rows.step,
                                 .row_start = rows.start,
                                 .column_step = columns.step,
                                 .column_start = columns.start,
                                 .mode = (int64_t)axes[0].desc->mode,
                                 .rounding = (int64_t)axes[0].desc->rounding,
                                 .first = next_axis(axes, 2, 0),
                                 .is_f64 = wide == TSR_F64};
  tsr_shape shape = x->layout.shape;
  for (int i = 0; i < 2; i++) shape.dims[shape.rank - 2 + i] = axes[i].m;
  tsr_tensor *cast = tsr_cast(x, dtype);
  return tsri_tensor_named(name, tsri_then(tsri_resize_planes(cast, shape, dtype, &given), cast));
}

tsr_tensor *tsr_resize(tsr_tensor *x, tsr_shape size, const tsr_resize_desc *desc) {
  static const tsr_resize_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = check_sizes(x, size);
  if (status == TSR_OK) status = check_desc(desc);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  bool is_nearest = desc->mode == TSR_RESIZE_NEAREST;
  tsr_dtype dtype = is_nearest ? x->dtype : tsri_promote_float(x->dtype), wide = tsri_accumulator(dtype);
  resized_axis axes[TSR_MAX_SPATIAL];
  for (int i = 0; i < size.rank; i++) axes[i] = axis_of(x, size, i, desc);
  if (goes_by_planes(x, size, desc, axes)) return resize_planes(x, axes, dtype, is_nearest ? TSR_F32 : wide);
  tsr_tensor *result = tsr_cast(x, dtype);
  unsigned done = 0;
  for (int pass = 0; pass < size.rank; pass++) {
    int i = next_axis(axes, size.rank, done);
    done |= 1u << i;
    bool is_rounded = is_nearest || pass + 1 == size.rank;
    result = resize_axis(result, x->layout.shape.rank - size.rank + i, &axes[i], wide, is_rounded ? dtype : wide);
  }
  return tsri_tensor_named(name, tsri_then(tsr_cast(result, dtype), result));
}
