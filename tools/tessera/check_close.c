// SPDX-License-Identifier: MIT
// isclose, allclose, nextafter: references and cases.
#include <math.h>
#include <string.h>

#include "check.h"

static const tsr_shape shapes[] = {{1, {13}}, {2, {7, 11}}, {0, {0}}, {2, {0, 3}}, {3, {3, 5, 2}}};
enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

// --- isclose, allclose ------------------------------------------------------------------------------------------------

// Moves `value` by a tenth of the tolerance or by ten times the tolerance, so that rounding cannot change the answer.
static check_value beside(check_run *run, tsr_dtype dtype, check_value value, double rtol, double atol) {
  static const double shares[] = {0, 0.1, -0.1, 10, -10, 0};
  double share = shares[check_random(run, 6)];
  if (check_is_float(dtype))
    return (check_value){.real = check_round(dtype, value.real + share * (atol + rtol * fabs(value.real)))};
  int64_t apart = (int64_t)(share * (atol + rtol * fabs((double)value.whole)));
  int64_t moved = (int64_t)((uint64_t)value.whole + (uint64_t)apart);
  bool is_inside = moved >= check_least(dtype) && moved <= check_most(dtype);
  return (check_value){.whole = is_inside ? moved : value.whole};
}

static bool is_close(tsr_dtype dtype, check_value a, check_value b, double rtol, double atol, bool equal_nan) {
  if (!check_is_float(dtype)) {
    double apart = a.whole > b.whole ? (double)((uint64_t)a.whole - (uint64_t)b.whole)
                                     : (double)((uint64_t)b.whole - (uint64_t)a.whole);
    return apart <= atol + rtol * fabs((double)b.whole);
  }
  if (isnan(a.real) || isnan(b.real)) return equal_nan && isnan(a.real) && isnan(b.real);
  return a.real == b.real || (isfinite(b.real) && fabs(a.real - b.real) <= atol + rtol * fabs(b.real));
}

static void run_close(check_run *run, tsr_dtype dtype, int i, bool wants_all) {
  static const double rtols[] = {0.25, 0, 0.0625}, atols[] = {4, 20, 0};
  double rtol = rtols[i % 3], atol = atols[i % 3];
  bool equal_nan = i % 2;
  check_tensor *b =
      check_input(run, dtype, shapes[i % SHAPE_COUNT], (check_view)(i % CHECK_VIEW_COUNT), CHECK_MODERATE);
  check_value *near = check_alloc(run, (size_t)b->count, sizeof *near);
  bool is_all_equal = wants_all && i % 4 < 2;  // otherwise allclose would almost never be true
  for (int64_t k = 0; k < b->count; k++)
    near[k] = is_all_equal ? b->values[k] : beside(run, dtype, b->values[k], rtol, atol);
  check_tensor *a = check_input_of(run, dtype, b->shape, CHECK_PLAIN, near);
  check_expected *wanted = check_expect(run, TSR_BOOL, wants_all ? TSR_SCALAR : b->shape);
  bool are_all = true;
  for (int64_t k = 0; k < b->count; k++) {
    bool is = is_close(dtype, a->values[k], b->values[k], rtol, atol, equal_nan);
    are_all = are_all && is;
    if (!wants_all) wanted->values[k].whole = is;
  }
  if (wants_all) wanted->values[0].whole = are_all;
  check_result(run,
               wants_all ? tsr_allclose(a->tensor, b->tensor, rtol, atol, equal_nan)
                         : tsr_isclose(a->tensor, b->tensor, rtol, atol, equal_nan),
               wanted);
}

void check_isclose(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < 21; i++) {
    if (check_begin(run, i < 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) run_close(run, dtype, i, false);
  }
}

void check_allclose(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < 12; i++) {
    if (check_begin(run, i < 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) run_close(run, dtype, i, true);
  }
}

// --- nextafter --------------------------------------------------------------------------------------------------------

// The number of the dtype that follows `a` in the direction of `b`, computed from the spacing of the dtype's numbers: the spacing is halved below a power of 2,
// and infinity follows the largest number.
static double neighbour(tsr_dtype dtype, double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return b;
  if (isinf(a)) return a > 0 ? check_max(dtype) : -check_max(dtype);
  double direction = a < b ? 1 : -1, ulp = check_ulp(dtype, a);
  bool is_inwards = a != 0 && (a < b) != (a > 0);
  int exponent = 0;
  if (is_inwards && fabs(frexp(a, &exponent)) == 0.5 && fabs(a) > check_min_normal(dtype)) ulp /= 2;
  return fabs(a) == check_max(dtype) && !is_inwards ? direction * INFINITY : a + direction * ulp;
}

void check_nextafter(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  tsr_dtype computed = check_float(dtype);
  for (int i = 0; i < 14; i++) {
    if (!check_begin(run, i < 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) continue;
    tsr_shape shape = i == 0 ? TSR_SHAPE(257) : shapes[i % SHAPE_COUNT];
    check_tensor *a = check_input(run, dtype, shape, (check_view)(i % CHECK_VIEW_COUNT), CHECK_ANY);
    check_tensor *b = check_input(run, dtype, shape, CHECK_PLAIN, CHECK_ANY);
    check_expected *wanted = check_expect(run, computed, shape);
    for (int64_t k = 0; k < a->count; k++) {
      wanted->values[k].real = neighbour(computed, check_convert(computed, dtype, a->values[k]).real,
                                         check_convert(computed, dtype, b->values[k]).real);
    }
    check_result(run, tsr_nextafter(a->tensor, b->tensor), wanted);
  }
}
