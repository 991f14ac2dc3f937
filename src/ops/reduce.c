// SPDX-License-Identifier: MIT
// Reductions. The basic ones are recorded as such; mean, var, std, norm and logsumexp are composed of them and of
// element-wise operators, so that everything can be fused. f16 and bf16 are computed in f32 until the last step.
#include <math.h>
#include <stdio.h>

#include "core/error.h"
#include "graph/order.h"
#include "ops/autocast.h"
#include "ops/axes.h"
#include "ops/channel_sums.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/logsumexp.h"
#include "ops/operators.h"
#include "ops/promote.h"

// --- Basic reductions ------------------------------------------------------------------------------------------------

// The reduced axes.
typedef struct reduction {
  uint32_t axes;  // bit i: axis i is reduced
  int64_t count;  // elements that are reduced to one result
} reduction;

static tsr_status start(const char *caller, const tsr_tensor *x, const int *axes, int axis_count, reduction *out) {
  tsr_status status = tsri_tensor_check(caller, x);
  if (status == TSR_OK) status = tsri_axis_set(caller, x->layout.shape.rank, axes, axis_count, &out->axes);
  if (status != TSR_OK) return status;
  out->count = 1;
  for (int i = 0; i < x->layout.shape.rank; i++) {
    if (out->axes >> i & 1u) out->count *= x->layout.shape.dims[i];
  }
  return TSR_OK;
}

tsr_tensor *tsr_sum(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("sum", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_reduce(TSRI_BODY(sum), tsri_autocast(TSRI_BODY(sum), tsri_promote_sum(x->dtype)), x, over.axes,
                            keep_dims);
}

tsr_tensor *tsr_prod(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("prod", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_reduce(TSRI_BODY(prod), tsri_autocast(TSRI_BODY(prod), tsri_promote_sum(x->dtype)), x, over.axes,
                            keep_dims);
}

// For bools, the maximum is computed as any().
tsr_tensor *tsr_max(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("max", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_reduce(x->dtype == TSR_BOOL ? TSRI_BODY(any) : TSRI_BODY(max), x->dtype, x, over.axes, keep_dims);
}

tsr_tensor *tsr_min(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("min", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_reduce(x->dtype == TSR_BOOL ? TSRI_BODY(all) : TSRI_BODY(min), x->dtype, x, over.axes, keep_dims);
}

tsr_tensor *tsr_any(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("any", x, axes, axis_count, &over);
  return status == TSR_OK ? tsri_record_reduce(TSRI_BODY(any), TSR_BOOL, x, over.axes, keep_dims)
                          : tsri_tensor_fail(status);
}

tsr_tensor *tsr_all(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("all", x, axes, axis_count, &over);
  return status == TSR_OK ? tsri_record_reduce(TSRI_BODY(all), TSR_BOOL, x, over.axes, keep_dims)
                          : tsri_tensor_fail(status);
}

// --- Index of the largest -------------------------------------------------------------------------------------------

static tsr_status check_index(const char *caller, const tsr_tensor *x, const reduction *over) {
  char text[TSR_SHAPE_TEXT_BYTES];
  if (over->count == 0) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: there is nothing to choose from in %s", caller,
                     tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  if (over->count > INT32_MAX) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld elements; an index is i32", caller, (long long)over->count);
  }
  return TSR_OK;
}

// `x` with the reduced axes as its last axis, in row-major order: [kept …, count].
static tsr_tensor *with_joined_axes(tsr_tensor *x, const reduction *over) {
  const tsr_shape from = x->layout.shape;
  tsr_shape shape = {.rank = 0};
  int axes[TSR_MAX_RANK], used = 0;
  bool are_last = true;
  for (int i = 0; i < from.rank; i++) {
    if (over->axes >> i & 1u) continue;
    are_last = are_last && used == i;
    axes[used++] = i;
    shape.dims[shape.rank++] = from.dims[i];
  }
  for (int i = 0; i < from.rank; i++) {
    if (over->axes >> i & 1u) axes[used++] = i;
  }
  shape.dims[shape.rank++] = over->count;
  if (are_last) return tsr_reshape(x, shape);
  tsr_tensor *turned = tsr_permute(x, axes, from.rank);
  return tsri_then(tsr_reshape(turned, shape), turned);
}

static tsr_shape shape_with_ones(tsr_shape shape, uint32_t axes) {
  for (int i = 0; i < shape.rank; i++) {
    if (axes >> i & 1u) shape.dims[i] = 1;
  }
  return shape;
}

static tsr_tensor *index_of(const tsri_op *op, tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start(op->name, x, axes, axis_count, &over);
  if (status == TSR_OK) status = check_index(op->name, x, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *input = x->dtype == TSR_BOOL ? tsr_cast(x, TSR_U8) : tsr_retain(x);
  if (axis_count == 1) return tsri_then(tsri_record_reduce(op, TSRI_INDEX_DTYPE, input, over.axes, keep_dims), input);
  tsr_tensor *joined = tsri_then(with_joined_axes(input, &over), input);
  status = tsri_tensor_check(op->name, joined);
  if (status != TSR_OK) return tsri_tensor_named(op->name, joined);
  uint32_t last = 1u << (joined->layout.shape.rank - 1);
  tsr_tensor *result = tsri_then(tsri_record_reduce(op, TSRI_INDEX_DTYPE, joined, last, false), joined);
  if (!keep_dims) return tsri_tensor_named(op->name, result);
  tsr_tensor *shaped = tsri_then(tsr_reshape(result, shape_with_ones(x->layout.shape, over.axes)), result);
  return tsri_tensor_named(op->name, shaped);
}

tsr_tensor *tsr_argmax(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  return index_of(TSRI_BODY(argmax), x, axes, axis_count, keep_dims);
}

tsr_tensor *tsr_argmin(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  return index_of(TSRI_BODY(argmin), x, axes, axis_count, keep_dims);
}

// --- Composed reductions ---------------------------------------------------------------------------------------------

// Records a reduction of an intermediate result. Passes a failed tensor on.
static tsr_tensor *reduce(const tsri_op *op, tsr_dtype dtype, tsr_tensor *x, uint32_t axes, bool keep_dims) {
  tsr_status status = tsri_tensor_check(op->name, x);
  return status == TSR_OK ? tsri_record_reduce(op, dtype, x, axes, keep_dims) : tsri_tensor_fail(status);
}

// sum / divisor, cast to `dtype`. It divides instead of multiplying by the reciprocal, so that the mean of equal numbers is exactly that number. The sum of f16
// and bf16 is computed in f32, because it might overflow.
static tsr_tensor *divided_sum(tsr_tensor *x, const reduction *over, bool keep_dims, double divisor, tsr_dtype dtype) {
  tsr_tensor *sum =
      reduce(TSRI_BODY(sum), tsri_accumulator(tsri_promote_float(tsr_tensor_dtype(x))), x, over->axes, keep_dims);
  return tsri_then(tsri_elementwise_to(TSRI_OPERATOR_div_scalar, dtype, &sum, &divisor), sum);
}

tsr_tensor *tsr_mean(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("mean", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(mean), tsri_promote_float(x->dtype));
  return tsri_tensor_named("mean", divided_sum(x, &over, keep_dims, (double)over.count, dtype));
}

// Reshapes the shape to [reduced, kept, reduced]. True if the kept axes are neighbours. Axes of size 1 may belong to either side.
static bool as_channels(tsr_shape shape, uint32_t axes, tsr_shape *out_shape) {
  enum { BEFORE, KEPT, AFTER };
  int part = BEFORE;
  *out_shape = TSR_SHAPE(1, 1, 1);
  for (int i = 0; i < shape.rank; i++) {
    bool is_reduced = axes >> i & 1u;
    if (shape.dims[i] == 1) continue;
    if (part == BEFORE && !is_reduced) part = KEPT;
    if (part == KEPT && is_reduced) part = AFTER;
    if (part == AFTER && !is_reduced) return false;
    out_shape->dims[part] *= shape.dims[i];
  }
  return true;
}

// A view of x with its axes in memory order, and the set of reduced axes in that order. NULL: that would change the order of the kept axes.
static tsr_tensor *in_memory_order(tsr_tensor *x, uint32_t axes, uint32_t *out_axes) {
  tsri_order order;
  *out_axes = axes;
  if (!tsri_order_find_of(&x, 1, &order)) return tsr_retain(x);
  int last_kept = -1;
  *out_axes = 0;
  for (int i = 0; i < order.rank; i++) {
    if (axes >> order.axes[i] & 1u) *out_axes |= 1u << i;
    else if (order.axes[i] < last_kept) return NULL;
    else last_kept = order.axes[i];
  }
  return tsr_permute(x, order.axes, order.rank);
}

static tsr_shape shape_without(tsr_shape from, uint32_t axes, bool keep_dims) {
  tsr_shape shape = {.rank = 0};
  for (int i = 0; i < from.rank; i++) {
    bool is_reduced = axes >> i & 1u;
    if (!is_reduced || keep_dims) shape.dims[shape.rank++] = is_reduced ? 1 : from.dims[i];
  }
  return shape;
}

// The variance, or its root, in one pass over memory, by the kernels for channels. NULL if they cannot be used: the kept axes are not neighbours in memory, the view
// cannot be reshaped to [reduced, channel, reduced] without a copy, or one pass is not faster on the device.
static tsr_tensor *spread_in_one_pass(tsr_tensor *x, const reduction *over, bool keep_dims, double divisor,
                                      bool is_root, tsr_dtype dtype) {
  enum { MOST_CHANNELS = 65535 };
  tsr_shape shape;
  uint32_t axes = 0;
  if (x->layout.count == 0 || x->layout.count > INT32_MAX || !tsri_channel_one_pass(x)) return NULL;
  tsr_tensor *ordered = in_memory_order(x, over->axes, &axes);
  if (!ordered) return NULL;
  tsri_layout view;
  bool is_view = false;
  bool fits = as_channels(ordered->layout.shape, axes, &shape) && shape.dims[1] <= MOST_CHANNELS &&
              tsri_layout_reshape(&ordered->layout, shape, &view, &is_view) == TSR_OK && is_view;
  if (!fits) {
    tsr_release(ordered);
    return NULL;
  }
  tsr_tensor *channels = tsri_then(tsr_reshape(ordered, shape), ordered);
  tsr_tensor *spread = tsri_then(tsri_channel_spread(channels, 1 / divisor, is_root, dtype), channels);
  return tsri_then(tsr_reshape(spread, shape_without(x->layout.shape, over->axes, keep_dims)), spread);
}

// The sum of (x - mean)^2, divided by count - correction, as `dtype`.
static tsr_tensor *variance(tsr_tensor *x, const reduction *over, bool keep_dims, double correction, tsr_dtype dtype) {
  tsr_dtype wide = tsri_accumulator(tsri_promote_float(x->dtype));
  double divisor = fmax((double)over->count - correction, 0);
  tsr_tensor *mean = divided_sum(x, over, true, (double)over->count, wide);
  tsr_tensor *centred = tsri_then(tsri_elementwise_to(TSRI_OPERATOR_sub, wide, (tsr_tensor *[]){x, mean}, NULL), mean);
  tsr_tensor *squares = tsri_then(tsr_square(centred), centred);
  return tsri_then(divided_sum(squares, over, keep_dims, divisor, dtype), squares);
}

tsr_tensor *tsr_var(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims, double correction) {
  reduction over;
  tsr_status status = start("var", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(var), tsri_promote_float(x->dtype));
  tsr_tensor *found = spread_in_one_pass(x, &over, keep_dims, fmax((double)over.count - correction, 0), false, dtype);
  return tsri_tensor_named("var", found ? found : variance(x, &over, keep_dims, correction, dtype));
}

tsr_tensor *tsr_std(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims, double correction) {
  reduction over;
  tsr_status status = start("std", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(std), tsri_promote_float(x->dtype));
  tsr_tensor *found = spread_in_one_pass(x, &over, keep_dims, fmax((double)over.count - correction, 0), true, dtype);
  if (found) return tsri_tensor_named("std", found);
  tsr_tensor *var = variance(x, &over, keep_dims, correction, tsri_accumulator(dtype));
  return tsri_tensor_named("std", tsri_then(tsri_elementwise_to(TSRI_OPERATOR_sqrt, dtype, &var, NULL), var));
}

// (sum of |x|^p)^(1 / p), or, for p 0, how many elements are not 0. `sizes` are the magnitudes.
static tsr_tensor *norm_of_powers(tsr_tensor *sizes, double p, const reduction *over, bool keep_dims, tsr_dtype dtype) {
  tsr_dtype wide = tsri_accumulator(dtype);
  tsr_tensor *each = p == 0 ? tsr_ne_scalar(sizes, 0) : tsr_pow_scalar(sizes, p);
  if (p == 0) return tsri_then(reduce(TSRI_BODY(sum), dtype, each, over->axes, keep_dims), each);
  tsr_tensor *sum = tsri_then(reduce(TSRI_BODY(sum), wide, each, over->axes, keep_dims), each);
  return tsri_then(tsri_elementwise_to(TSRI_OPERATOR_pow_scalar, dtype, &sum, &(double){1 / p}), sum);
}

static tsr_tensor *norm(tsr_tensor *x, double p, const reduction *over, bool keep_dims) {
  bool is_largest = isinf(p);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(norm), tsri_promote_float(x->dtype)), wide = tsri_accumulator(dtype);
  tsr_tensor *input = tsri_dtype_is_float(x->dtype) ? tsr_retain(x) : tsr_cast(x, wide);
  tsr_tensor *each =
      tsri_then(tsri_elementwise_to(p == 2 ? TSRI_OPERATOR_square : TSRI_OPERATOR_abs, wide, &input, NULL), input);
  if (!isinf(p) && p != 1 && p != 2) return tsri_then(norm_of_powers(each, p, over, keep_dims, dtype), each);
  if (isinf(p) && p < 0) return tsri_then(reduce(TSRI_BODY(min), dtype, each, over->axes, keep_dims), each);
  if (is_largest && over->count == 0) {  // |x| is at least 0, so the maximum of no elements is 0, like the sum
    return tsri_then(reduce(TSRI_BODY(sum), dtype, each, over->axes, keep_dims), each);
  }
  if (p != 2)
    return tsri_then(reduce(is_largest ? TSRI_BODY(max) : TSRI_BODY(sum), dtype, each, over->axes, keep_dims), each);
  tsr_tensor *sum = tsri_then(reduce(TSRI_BODY(sum), wide, each, over->axes, keep_dims), each);
  return tsri_then(tsri_elementwise_to(TSRI_OPERATOR_sqrt, dtype, &sum, NULL), sum);
}

tsr_tensor *tsr_norm(tsr_tensor *x, double p, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("norm", x, axes, axis_count, &over);
  if (status == TSR_OK && !(p >= 0) && p != -INFINITY) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "norm: p is %g; it must be 0 or more, or -infinity", p);
  }
  return status == TSR_OK ? tsri_tensor_named("norm", norm(x, p, &over, keep_dims)) : tsri_tensor_fail(status);
}

// The maximum if it is finite, else 0: subtracting an infinite maximum would turn finite elements into NaN.
const tsri_op tsri_op_anchor = {
    .name = "logsumexp", .kind = TSRI_OP_ELEMENTWISE, .expression = "isfinite($0) ? $0 : T(0)"};
const tsri_op tsri_op_shifted_exp = {
    .name = "logsumexp", .kind = TSRI_OP_ELEMENTWISE, .expression = "exp($0 - $1)", .is_costly = true};
const tsri_op tsri_op_log_plus = {
    .name = "logsumexp", .kind = TSRI_OP_ELEMENTWISE, .expression = "log($0) + $1", .is_costly = true};

static tsr_tensor *record(const tsri_op *op, tsr_dtype dtype, tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = tsri_tensor_check(op->name, a);
  if (status == TSR_OK && b) status = tsri_tensor_check(op->name, b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype wide = tsri_accumulator(dtype);
  return tsri_record_elementwise(op, dtype, (tsri_operand_ref[]){{a, wide}, {b, wide}}, b ? 2 : 1, NULL);
}

tsr_tensor *tsr_logsumexp(tsr_tensor *x, const int *axes, int axis_count, bool keep_dims) {
  reduction over;
  tsr_status status = start("logsumexp", x, axes, axis_count, &over);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(logsumexp), tsri_promote_float(x->dtype)), wide = tsri_accumulator(dtype);
  tsr_tensor *top = reduce(TSRI_BODY(max), wide, x, over.axes, true);
  tsr_tensor *anchor = tsri_then(record(&tsri_op_anchor, wide, top, NULL), top);
  tsr_tensor *each = record(&tsri_op_shifted_exp, wide, x, anchor);
  tsr_tensor *sum = tsri_then(reduce(TSRI_BODY(sum), wide, each, over.axes, true), each);
  tsr_tensor *result = tsri_then(tsri_then(record(&tsri_op_log_plus, dtype, sum, anchor), sum), anchor);
  if (!keep_dims) result = tsri_then(tsri_drop_axes(result, over.axes), result);
  return tsri_tensor_named("logsumexp", result);
}

// --- Of a diagonal ---------------------------------------------------------------------------------------------------

tsr_tensor *tsr_trace(tsr_tensor *x, int64_t offset, int axis_a, int axis_b) {
  tsr_status status = tsri_tensor_check("trace", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *diagonal = tsr_diagonal(x, offset, axis_a, axis_b);
  return tsri_tensor_named("trace", tsri_then(tsr_sum(diagonal, TSR_AXES(-1), false), diagonal));
}
