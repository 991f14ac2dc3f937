// SPDX-License-Identifier: MIT
// Joining, splitting, repeating, padding, rolling, triangles. Operators return views where they can. concat uses join_lines.h and pad a kernel (pad_lines.h)
// where these apply; otherwise both use the strided-copy kernel.
#include "core/alloc.h"
#include "core/error.h"
#include "graph/order.h"
#include "graph/transfer.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/join_lines.h"
#include "ops/pad_lines.h"
#include "ops/promote.h"
#include "ops/walk.h"

// --- Copying into a part of the result -------------------------------------------------------------------------------

// Copies input `index` into the output, from element `at` on, with the strides of the whole output.
static tsr_status copy_into(const tsri_kernel_run *run, int index, int64_t at) {
  tsri_view from = {.buffer = run->inputs[index], .dtype = run->dtype, .layout = run->layouts[index]};
  if (from.layout.count == 0) return TSR_OK;
  tsri_layout to = {.shape = from.layout.shape, .offset = at, .count = from.layout.count};
  tsri_row_major(run->shape, to.strides);
  return tsri_copy_strided(&from, run->output, &to);
}

// --- concat and stack ------------------------------------------------------------------------------------------------

tsr_status tsri_run_concat(const tsri_kernel_run *run) {
  int axis = (int)TSRI_GIVEN(run->node, concat)->axis;
  tsr_status joined = tsri_join_lines(run, axis);
  if (joined != TSR_ERR_UNSUPPORTED) return joined;
  int64_t strides[TSR_MAX_RANK], at = 0;
  tsri_row_major(run->shape, strides);
  tsr_status status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++) {
    status = copy_into(run, i, at * strides[axis]);
    at += run->layouts[i].shape.dims[axis];
  }
  return status;
}

// Checks that all tensors are usable, have the same rank, and the same sizes except along the axis.
static tsr_status check_parts(const char *caller, tsr_tensor *const *tensors, int count, int *axis) {
  if (count < 1 || !tensors) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %d tensors given, it takes 1 or more", caller, count);
  }
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(caller, tensors[i]);
  if (status == TSR_OK) status = tsri_axis(caller, *axis, tensors[0]->layout.shape.rank, axis);
  if (status != TSR_OK) return status;
  tsr_shape first = tensors[0]->layout.shape;
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  for (int i = 1; i < count; i++) {
    tsr_shape shape = tensors[i]->layout.shape;
    if (shape.rank != first.rank) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "%s: ranks differ, the first is %s, number %d is %s", caller,
                       tsr_shape_format(first, a, sizeof a), i, tsr_shape_format(shape, b, sizeof b));
    }
    for (int j = 0; j < first.rank; j++) {
      if (j == *axis || shape.dims[j] == first.dims[j]) continue;
      return TSRI_FAIL(TSR_ERR_SHAPE, "%s: sizes differ along axis %d: %lld and %lld; the first is %s, number %d is %s",
                       caller, j, (long long)first.dims[j], (long long)shape.dims[j],
                       tsr_shape_format(first, a, sizeof a), i, tsr_shape_format(shape, b, sizeof b));
    }
  }
  return TSR_OK;
}

// The tensors must have the same dtype.
static tsr_tensor *concat_all(tsr_tensor *const *tensors, int count, int axis) {
  if (count == 1) return tsr_retain(tensors[0]);
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check("concat", tensors[i]);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = tensors[0]->layout.shape;
  shape.dims[axis] = 0;
  for (int i = 0; i < count; i++) {
    if (!tsri_add_i64(shape.dims[axis], tensors[i]->layout.shape.dims[axis], &shape.dims[axis])) {
      return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_SHAPE, "concat: axis %d would be longer than 2^63", axis));
    }
  }
  tsr_device *device = NULL;
  status = tsri_record_device("concat", tensors, count, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(TSRI_BODY(concat), device, tensors[0]->dtype, shape, tensors, count,
                            TSRI_GIVE(TSRI_BODY(concat), concat, .axis = axis));
}

// Concatenates transposed views with their axes in the order of their strides: contiguous lines can then be copied, and the result is a transposed view, too.
// The views replace `tensors`, which are released.
static tsr_tensor *concat_in_order(tsr_tensor **tensors, int count, int axis, const tsri_order *order) {
  int back[TSR_MAX_RANK] = {0};
  for (int i = 0; i < order->rank; i++) back[order->axes[i]] = i;
  for (int i = 0; i < count; i++) {
    tsr_tensor *view = tsr_permute(tensors[i], order->axes, order->rank);
    tsr_release(tensors[i]);
    tensors[i] = view;
  }
  tsr_tensor *joined = concat_all(tensors, count, back[axis]), *result = tsr_permute(joined, back, order->rank);
  tsr_release(joined);
  return result;
}

static tsr_tensor *concat_ordered(tsr_tensor **tensors, int count, int axis) {
  tsri_order order;
  for (int i = 0; i < count; i++) {
    if (tsr_error(tensors[i]) != TSR_OK) return concat_all(tensors, count, axis);  // reports the error
  }
  return tsri_order_find_of(tensors, count, &order) ? concat_in_order(tensors, count, axis, &order)
                                                    : concat_all(tensors, count, axis);
}

// Converts the tensors to their common dtype, inserts the new axis for stack, and joins them.
static tsr_tensor *join(const char *caller, tsr_tensor *const *tensors, int count, int axis, bool is_stack) {
  tsr_dtype dtype = tensors[0]->dtype;
  for (int i = 1; i < count; i++) dtype = tsri_promote(dtype, tensors[i]->dtype);
  tsr_tensor **parts = tsri_calloc((size_t)count, sizeof *parts);
  if (!parts) {
    return tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a list of %d tensors", caller, count));
  }
  for (int i = 0; i < count; i++) {
    parts[i] = tsr_cast(tensors[i], dtype);
    if (!is_stack) continue;
    tsr_tensor *view = tsr_unsqueeze(parts[i], axis);
    tsr_release(parts[i]);
    parts[i] = view;
  }
  tsr_tensor *result = concat_ordered(parts, count, axis);
  for (int i = 0; i < count; i++) tsr_release(parts[i]);
  tsri_free(parts);
  return tsri_tensor_named(caller, result);
}

tsr_tensor *tsr_concat(tsr_tensor *const *tensors, int count, int axis) {
  tsr_status status = check_parts("concat", tensors, count, &axis);
  return status == TSR_OK ? join("concat", tensors, count, axis, false) : tsri_tensor_fail(status);
}

static tsr_status check_stack(tsr_tensor *const *tensors, int count, int *axis) {
  if (count < 1 || !tensors) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "stack: %d tensors given, it takes 1 or more", count);
  }
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check("stack", tensors[i]);
  if (status != TSR_OK) return status;
  tsr_shape first = tensors[0]->layout.shape;
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  if (first.rank == TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "stack: a new axis on %s makes more than %d", tsr_shape_format(first, a, sizeof a),
                     TSR_MAX_RANK);
  }
  for (int i = 1; i < count; i++) {
    tsr_shape shape = tensors[i]->layout.shape;
    if (tsri_shape_equal(shape, first)) continue;
    return TSRI_FAIL(TSR_ERR_SHAPE, "stack: shapes differ, the first is %s, number %d is %s",
                     tsr_shape_format(first, a, sizeof a), i, tsr_shape_format(shape, b, sizeof b));
  }
  return tsri_axis("stack", *axis, first.rank + 1, axis);
}

tsr_tensor *tsr_stack(tsr_tensor *const *tensors, int count, int axis) {
  tsr_status status = check_stack(tensors, count, &axis);
  return status == TSR_OK ? join("stack", tensors, count, axis, true) : tsri_tensor_fail(status);
}

// --- split -----------------------------------------------------------------------------------------------------------

static tsr_status check_sizes(const tsr_tensor *x, const int64_t *sizes, int part_count, int axis) {
  int64_t total = 0, size = x->layout.shape.dims[axis];
  for (int i = 0; i < part_count; i++) {
    if (sizes[i] < 0 || !tsri_add_i64(total, sizes[i], &total)) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "split: size %d is %lld", i, (long long)sizes[i]);
    }
  }
  if (total == size) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "split: the sizes add up to %lld, axis %d has %lld", (long long)total, axis,
                   (long long)size);
}

tsr_status tsr_split(tsr_tensor *x, const int64_t *sizes, int part_count, int axis, tsr_tensor **out_parts) {
  tsr_status status = tsri_tensor_check("split", x);
  if (status == TSR_OK && (!sizes || !out_parts || part_count < 1)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "split: %d parts, and sizes or out_parts may be NULL", part_count);
  }
  if (status == TSR_OK) status = tsri_axis("split", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK) status = check_sizes(x, sizes, part_count, axis);
  if (status != TSR_OK) return status;
  int64_t at = 0;
  for (int i = 0; i < part_count; at += sizes[i++]) out_parts[i] = tsr_slice(x, axis, at, at + sizes[i], 1);
  return tsri_keep_all("split", out_parts, part_count);
}

// --- repeat, tile, roll ----------------------------------------------------------------------------------------------

// Reshapes x to outer x folded[0] x folded[1] x inner, where `folded` holds the axis and a size of 1, and expands these two axes to the sizes `expanded`. Gives
// a view if strides can express it, else a copy.
static tsr_tensor *around(tsr_tensor *x, int axis, const int64_t folded[2], const int64_t expanded[2]) {
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; i++) outer *= x->layout.shape.dims[i];
  for (int i = axis + 1; i < x->layout.shape.rank; i++) inner *= x->layout.shape.dims[i];
  tsr_tensor *split = tsr_reshape(x, TSR_SHAPE(outer, folded[0], folded[1], inner));
  tsr_tensor *view = tsr_expand(split, TSR_SHAPE(outer, expanded[0], expanded[1], inner));
  tsr_release(split);
  return view;
}

static tsr_tensor *repeat_axis(const char *caller, tsr_tensor *x, int axis, int64_t times, bool is_tile) {
  tsr_shape shape = x->layout.shape;
  int64_t size = shape.dims[axis];
  char text[TSR_SHAPE_TEXT_BYTES];
  if (times < 0 || !tsri_mul_i64(size, times, &shape.dims[axis])) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d of %s cannot be repeated %lld times", caller, axis,
                                      tsr_shape_format(x->layout.shape, text, sizeof text), (long long)times));
  }
  tsr_status status = tsri_shape_check(caller, shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (shape.dims[axis] == 0 || x->layout.count == 0) {
    return tsri_tensor_named(caller, tsri_record_zeros(x->value->device, x->dtype, shape));
  }
  tsr_tensor *view = is_tile ? around(x, axis, (int64_t[]){1, size}, (int64_t[]){times, size})
                             : around(x, axis, (int64_t[]){size, 1}, (int64_t[]){size, times});
  tsr_tensor *result = tsr_reshape(view, shape);
  tsr_release(view);
  return tsri_tensor_named(caller, result);
}

tsr_tensor *tsr_repeat(tsr_tensor *x, int64_t times, int axis) {
  tsr_status status = tsri_tensor_check("repeat", x);
  if (status == TSR_OK) status = tsri_axis("repeat", axis, x->layout.shape.rank, &axis);
  return status == TSR_OK ? repeat_axis("repeat", x, axis, times, false) : tsri_tensor_fail(status);
}

// x with additional leading axes of size 1, so that it has `rank` axes.
static tsr_tensor *with_rank(tsr_tensor *x, int rank) {
  tsri_layout view = {.shape = {.rank = rank}, .offset = x->layout.offset, .count = x->layout.count};
  int missing = rank - x->layout.shape.rank;
  for (int i = 0; i < rank; i++) {
    view.shape.dims[i] = i < missing ? 1 : x->layout.shape.dims[i - missing];
    view.strides[i] = i < missing ? 0 : x->layout.strides[i - missing];
  }
  return tsri_tensor_view(x, &view);
}

// Repeats axis by axis, from the last one on, each with a copy, so that the first copies are small.
tsr_tensor *tsr_tile(tsr_tensor *x, tsr_shape times) {
  tsr_status status = tsri_tensor_check("tile", x);
  if (status == TSR_OK) status = tsri_shape_check("tile", times, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int rank = x->layout.shape.rank > times.rank ? x->layout.shape.rank : times.rank, missing = rank - times.rank;
  tsr_tensor *result = with_rank(x, rank);
  for (int axis = rank - 1; axis >= missing && tsri_tensor_check("tile", result) == TSR_OK; axis--) {
    if (times.dims[axis - missing] == 1) continue;
    tsr_tensor *tiled = repeat_axis("tile", result, axis, times.dims[axis - missing], true);
    tsr_release(result);
    result = tiled;
  }
  return result;
}

tsr_tensor *tsr_roll(tsr_tensor *x, int64_t shift, int axis) {
  tsr_status status = tsri_tensor_check("roll", x);
  if (status == TSR_OK) status = tsri_axis("roll", axis, x->layout.shape.rank, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t size = x->layout.shape.dims[axis], by = size ? shift % size : 0;
  if (by < 0) by += size;
  if (by == 0) return tsri_tensor_named("roll", tsr_contiguous(x));
  tsr_tensor *last = tsr_slice(x, axis, size - by, size, 1), *first = tsr_slice(x, axis, 0, size - by, 1);
  tsr_tensor *result = tsr_concat((tsr_tensor *[]){last, first}, 2, axis);
  tsr_release(last);
  tsr_release(first);
  return tsri_tensor_named("roll", result);
}

// --- pad -------------------------------------------------------------------------------------------------------------

tsr_status tsri_run_pad(const tsri_kernel_run *run) {
  const tsri_pad_attributes *given = TSRI_GIVEN(run->node, pad);
  tsri_view x = {.buffer = run->inputs[0], .dtype = run->dtype, .layout = run->layouts[0]};
  if (tsri_shape_equal(run->shape, x.layout.shape)) return tsri_copy_packed(&x, run->output);
  unsigned char pattern[8];
  int64_t strides[TSR_MAX_RANK], at = 0;
  tsr_status status = tsr_convert(run->dtype, pattern, TSR_F64, &given->value, 1);
  if (status != TSR_OK) return status;
  status = tsri_pad_lines(run, given->before, pattern);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = tsr_buffer_fill(run->output, 0, tsr_buffer_bytes(run->output), pattern, tsr_dtype_bytes(run->dtype));
  tsri_row_major(run->shape, strides);
  for (int i = 0; i < run->shape.rank; i++) at += given->before[i] * strides[i];
  return status == TSR_OK ? copy_into(run, 0, at) : status;
}

static tsr_status pad_shape(const tsr_tensor *x, const int64_t *before, const int64_t *after, int axis_count,
                            tsr_shape *out_shape) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = x->layout.shape;
  if (axis_count != shape.rank || (axis_count > 0 && (!before || !after))) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "pad: %d axes given, %s has %d", axis_count,
                     tsr_shape_format(shape, text, sizeof text), (int)shape.rank);
  }
  for (int i = 0; i < axis_count; i++) {
    bool fits = before[i] >= 0 && after[i] >= 0 && tsri_add_i64(shape.dims[i], before[i], &shape.dims[i]) &&
                tsri_add_i64(shape.dims[i], after[i], &shape.dims[i]);
    if (fits) continue;
    return TSRI_FAIL(TSR_ERR_SHAPE, "pad: %lld before and %lld after axis %d of %s", (long long)before[i],
                     (long long)after[i], i, tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  *out_shape = shape;
  return tsri_shape_check("pad", shape, &(int64_t){0});
}

tsr_tensor *tsr_pad(tsr_tensor *x, const int64_t *before, const int64_t *after, int axis_count, double value) {
  tsr_shape shape;
  tsr_status status = tsri_tensor_check("pad", x);
  if (status == TSR_OK) status = pad_shape(x, before, after, axis_count, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_pad_attributes given = {.value = value};
  for (int i = 0; i < axis_count; i++) given.before[i] = before[i];
  return tsri_record_kernel(TSRI_BODY(pad), x->value->device, x->dtype, shape, &x, 1,
                            TSRI_GIVE_ALL(TSRI_BODY(pad), pad, &given));
}

// --- Triangles -------------------------------------------------------------------------------------------------------

// Operands of the expressions of tril and triu: $0 is row + diagonal, $1 the column, $2 the element.

static tsr_tensor *triangle(const tsri_op *op, tsr_tensor *x, int64_t diagonal) {
  tsr_status status = tsri_tensor_check(op->name, x);
  char text[TSR_SHAPE_TEXT_BYTES];
  if (status == TSR_OK && x->layout.shape.rank < 2) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes 2 axes or more, not %s", op->name,
                       tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int rank = x->layout.shape.rank;
  int64_t rows = x->layout.shape.dims[rank - 2], cols = x->layout.shape.dims[rank - 1];
  if (rows > INT32_MAX / 2 || cols > INT32_MAX / 2) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %s is too large", op->name,
                                      tsr_shape_format(x->layout.shape, text, sizeof text)));
  }
  // All diagonals outside of the matrix give the same result; clamp them so that they fit into i32.
  if (diagonal > cols) diagonal = cols;
  if (diagonal < -rows) diagonal = -rows;
  // Rows and columns are parts of one sequence, so that one kernel computes both. Columns begin at a multiple of four, so that they are read in quads.
  int64_t first = diagonal < 0 ? (3 - diagonal) / 4 * -4 : 0, end = diagonal + rows > cols ? diagonal + rows : cols;
  tsr_tensor *all = tsr_arange(x->value->device, TSR_I32, (double)first, (double)end, 1);
  tsr_tensor *row = tsr_slice(all, 0, diagonal - first, diagonal - first + rows, 1);
  tsr_tensor *column_of_rows = tsr_unsqueeze(row, 1), *col = tsr_slice(all, 0, -first, cols - first, 1);
  tsr_release(all);
  status = tsri_tensor_check(op->name, column_of_rows);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, col);
  tsri_operand_ref refs[3] = {{column_of_rows, TSR_I32}, {col, TSR_I32}, {x, x->dtype}};
  tsr_tensor *result =
      status == TSR_OK ? tsri_record_elementwise(op, x->dtype, refs, 3, NULL) : tsri_tensor_fail(status);
  tsr_release(row);
  tsr_release(column_of_rows);
  tsr_release(col);
  return tsri_tensor_named(op->name, result);
}

tsr_tensor *tsr_tril(tsr_tensor *x, int64_t diagonal) { return triangle(TSRI_BODY(tril), x, diagonal); }

tsr_tensor *tsr_triu(tsr_tensor *x, int64_t diagonal) { return triangle(TSRI_BODY(triu), x, diagonal); }
