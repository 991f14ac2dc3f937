// SPDX-License-Identifier: MIT
// Operators computed from singular values: pinv, matrix_rank, cond, norms of matrices.
#include <float.h>
#include <math.h>

#include "core/error.h"
#include "graph/watch.h"
#include "ops/autocast.h"
#include "ops/jacobi.h"
#include "ops/matrix.h"
#include "ops/operators.h"

// The largest (index 0) or the smallest singular value, [batch …, 1].
static tsr_tensor *value_at(tsr_tensor *s, int64_t index) { return tsr_slice(s, -1, index, index + 1, 1); }

static int64_t least_size(const tsr_tensor *x) {
  return tsri_rows(x) < tsri_columns(x) ? tsri_rows(x) : tsri_columns(x);
}

// 1 for the singular values that count as not 0: those above `tolerance` times the largest. Tolerance 0: those above what rounding errors may turn a 0 into.
static tsr_tensor *which_count(const tsr_tensor *x, tsr_tensor *s, double tolerance) {
  int64_t size = tsri_rows(x) > tsri_columns(x) ? tsri_rows(x) : tsri_columns(x);
  double unit = tsri_promote_float(x->dtype) == TSR_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  tsr_tensor *most = value_at(s, 0);
  tsr_tensor *limit = tsri_then(tsr_mul_scalar(most, tolerance > 0 ? tolerance : unit * (double)size), most);
  return tsri_then(tsr_gt(s, limit), limit);
}

static tsr_status check_tolerance(const char *caller, const tsr_tensor *x, double tolerance) {
  tsr_status status = tsri_matrix_check(caller, x);
  if (status != TSR_OK || (tolerance >= 0 && tolerance < 1)) return status;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: tolerance is %g; it must be 0 or more, and below 1", caller,
                   tolerance);
}

// v * diag(1 / s, or 0 where s does not count) * u^T
static tsr_tensor *inverse_of(const tsri_singular *d, tsr_tensor *counts) {
  tsr_tensor *turned = tsr_reciprocal(d->s), *none = tsr_logical_not(counts);
  tsr_tensor *factors = tsri_then(tsri_then(tsr_masked_fill(turned, none, 0), turned), none);
  tsr_tensor *row = tsri_then(tsr_unsqueeze(factors, -2), factors), *v = tsri_then(tsr_mul(d->v, row), row);
  tsr_tensor *ut = tsri_matrix_transposed(d->u);
  return tsri_then(tsri_then(tsri_matmul_exact(v, ut), v), ut);
}

tsr_tensor *tsr_pinv(tsr_tensor *x, double tolerance) {
  tsr_status status = check_tolerance("pinv", x, tolerance);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (x->layout.count == 0) return tsri_narrowed("pinv", tsri_matrix_transposed(x), x->dtype);
  tsr_tensor *wide = tsri_widened(x);
  tsri_whole_begin();
  tsri_singular d = tsri_decompose("pinv", x, false);
  tsr_tensor *counts = which_count(x, d.s, tolerance), *result = tsri_then(inverse_of(&d, counts), counts);
  tsri_singular_release(&d);
  tsri_whole_end(
      &(tsri_whole){.op = TSRI_BODY(pinv), .inputs = &wide, .input_count = 1, .outputs = &result, .output_count = 1});
  tsr_release(wide);
  return tsri_narrowed("pinv", result, x->dtype);
}

// The singular values of a matrix that passed tsri_matrix_check.
static tsr_tensor *values_of(const char *caller, tsr_tensor *x) {
  tsri_singular d = tsri_decompose(caller, x, false);
  tsr_release(d.u);
  tsr_release(d.v);
  return d.s;
}

// A matrix with NaN has rank 0, since NaN is not above the limit.
tsr_tensor *tsr_matrix_rank(tsr_tensor *x, double tolerance) {
  tsr_status status = check_tolerance("matrix_rank", x, tolerance);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *s = values_of("matrix_rank", x);
  tsr_tensor *counts = least_size(x) > 0 ? which_count(x, s, tolerance) : tsr_isfinite(s);
  tsr_tensor *rank = tsri_then(tsri_then(tsr_sum(counts, TSR_AXES(-1), false), counts), s);
  return tsri_tensor_named("matrix_rank", rank);
}

static tsr_status check_p(const char *caller, const tsr_tensor *x, double p) {
  tsr_status status = tsri_matrix_check(caller, x);
  if (status != TSR_OK) return status;
  if (fabs(p) != 1 && fabs(p) != 2 && !isinf(p)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: p is %g; it must be 1, 2 or infinity, or one of these negated",
                     caller, p);
  }
  char text[TSR_SHAPE_TEXT_BYTES];
  if (least_size(x) > 0) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: the matrices of %s have no elements", caller,
                   tsr_shape_format(x->layout.shape, text, sizeof text));
}

// The largest (or smallest) of the sums of magnitudes along an axis.
static tsr_tensor *extreme_sum(tsr_tensor *x, int axis, bool is_least) {
  tsr_tensor *sums = tsr_norm(x, 1, TSR_AXES(axis), false);
  return tsri_then(is_least ? tsr_min(sums, TSR_AXES(-1), false) : tsr_max(sums, TSR_AXES(-1), false), sums);
}

static tsr_tensor *norm_of(const char *caller, tsr_tensor *x, double p) {
  if (fabs(p) != 2 || tsr_error(x) != TSR_OK) return extreme_sum(x, isinf(p) ? -1 : -2, p < 0);
  tsr_tensor *s = values_of(caller, x), *one = tsri_then(value_at(s, p < 0 ? least_size(x) - 1 : 0), s);
  return tsri_then(tsr_squeeze(one, -1), one);
}

tsr_tensor *tsr_matrix_norm(tsr_tensor *x, double p) {
  tsr_status status = check_p("matrix_norm", x, p);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *wide = tsri_widened(x), *result = tsri_then(norm_of("matrix_norm", wide, p), wide);
  return tsri_narrowed("matrix_norm", result, x->dtype);
}

// The quotient of the extreme singular values. Releases s.
static tsr_tensor *quotient(tsr_tensor *s, int64_t count, bool is_least) {
  tsr_tensor *most = value_at(s, 0), *least = tsri_then(value_at(s, count - 1), s);
  tsr_tensor *result = is_least ? tsr_div(least, most) : tsr_div(most, least);
  tsr_tensor *one = tsri_then(tsri_then(result, most), least);
  return tsri_then(tsr_squeeze(one, -1), one);
}

tsr_tensor *tsr_cond(tsr_tensor *x, double p) {
  tsr_status status = check_p("cond", x, p);
  if (status == TSR_OK && fabs(p) != 2) status = tsri_square_check("cond", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (fabs(p) == 2) return tsri_narrowed("cond", quotient(values_of("cond", x), least_size(x), p < 0), x->dtype);
  tsr_tensor *wide = tsri_widened(x), *inverse = tsr_inverse(wide);
  tsr_tensor *norms[2] = {norm_of("cond", wide, p), norm_of("cond", inverse, p)};
  tsr_tensor *result = tsri_then(tsri_then(tsr_mul(norms[0], norms[1]), norms[0]), norms[1]);
  return tsri_narrowed("cond", tsri_then(tsri_then(result, wide), inverse), x->dtype);
}
