// SPDX-License-Identifier: MIT
// quantile and median: sorts the elements, and interpolates between the two neighbours of the wanted position.
#include <math.h>

#include "core/error.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/promote.h"

// The element of x at index `at` along the axis, which then has size 1, cast to `dtype` (the dtype of the computation).
static tsr_tensor *element(tsr_tensor *x, int axis, int64_t at, tsr_dtype dtype) {
  tsr_tensor *view = tsr_slice(x, axis, at, at + 1, 1);
  return tsri_then(tsr_cast(view, dtype), view);
}

// a * (1 - weight) + b * weight; a if both are equal, even infinite. Weights are between 0 and 1, so nothing overflows.
static tsr_tensor *between(tsr_tensor *a, tsr_tensor *b, double weight, tsr_dtype dtype) {
  tsr_dtype wide = tsri_accumulator(dtype);
  double rest = 1 - weight;
  tsr_tensor *parts[2] = {tsri_elementwise_to(TSRI_OPERATOR_mul_scalar, wide, &a, &rest),
                          tsri_elementwise_to(TSRI_OPERATOR_mul_scalar, wide, &b, &weight)};
  tsr_tensor *mean = tsri_elementwise_to(TSRI_OPERATOR_add, dtype, parts, NULL), *is_same = tsr_eq(a, b);
  tsr_tensor *result = tsr_where(is_same, a, mean);
  tsr_release(parts[0]);
  tsr_release(parts[1]);
  tsr_release(mean);
  tsr_release(is_same);
  return result;
}

// `result`, or NaN if the elements contain a NaN. Sorting puts NaN last, so it suffices to look at `last`, the last element.
static tsr_tensor *or_nan(tsr_tensor *result, tsr_tensor *last) {
  tsr_tensor *is_nan = tsr_isnan(last);
  return tsri_then(tsr_where(is_nan, last, result), is_nan);
}

static tsr_tensor *pick(tsr_tensor *sorted, int axis, int64_t size, double q, tsr_dtype dtype) {
  double position = q * (double)(size - 1), weight = position - floor(position);
  int64_t at = (int64_t)floor(position);
  tsr_tensor *a = element(sorted, axis, at, dtype);
  tsr_tensor *result = a;
  if (weight > 0) {
    tsr_tensor *b = element(sorted, axis, at + 1, dtype);
    result = tsri_then(tsri_then(between(a, b, weight, dtype), a), b);
  }
  tsr_tensor *last = element(sorted, axis, size - 1, dtype);
  return tsri_then(tsri_then(or_nan(result, last), result), last);
}

static tsr_tensor *quantile(const char *caller, tsr_tensor *x, double q, int axis, bool keep_dims) {
  tsr_status status = tsri_tensor_check(caller, x);
  if (status == TSR_OK) status = tsri_axis(caller, axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && !(q >= 0 && q <= 1)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: q is %g; it must lie between 0 and 1", caller, q);
  }
  if (status == TSR_OK && x->layout.shape.dims[axis] == 0) {
    char text[TSR_SHAPE_TEXT_BYTES];
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: axis %d of %s has no elements", caller, axis,
                       tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *sorted = tsr_sort(x, axis, false);
  tsr_tensor *result = pick(sorted, axis, x->layout.shape.dims[axis], q, tsri_promote_float(x->dtype));
  tsr_release(sorted);
  if (!keep_dims) result = tsri_then(tsr_squeeze(result, axis), result);
  return tsri_tensor_named(caller, result);
}

tsr_tensor *tsr_quantile(tsr_tensor *x, double q, int axis, bool keep_dims) {
  return quantile("quantile", x, q, axis, keep_dims);
}

tsr_tensor *tsr_median(tsr_tensor *x, int axis, bool keep_dims) { return quantile("median", x, 0.5, axis, keep_dims); }
