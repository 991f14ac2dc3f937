// SPDX-License-Identifier: MIT
// Gradients of running sums, products, extremes and logarithms of sums.
#include "grad/rule.h"
#include "ops/scan.h"

// Element i of the result is part of x for sums i, i + 1, …: the sum from each element to the end.
static tsr_tensor *sums_to_end(tsr_tensor *x, int axis) { return tsr_flip(tsr_cumsum(tsr_flip(x, axis), axis), axis); }

void tsri_gradient_cumsum(const grad_view *v) {
  v->gradients[0] = sums_to_end(v->cotangents[0], (int)TSRI_GIVEN(v, scan)->axis);
}

// Before the first 0 of a line the derivative of result i by element j is result i divided by element j; at that 0 it is the product of all
// others; behind it all are 0.
void tsri_gradient_cumprod(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, scan)->axis;
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *y = tsri_grad_wide(v->outputs[0]);
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]), *is_zero = tsr_eq_scalar(x, 0);
  tsr_tensor *zeros = tsr_cumsum(tsr_cast(is_zero, TSR_I32), axis);
  tsr_tensor *is_first = tsr_logical_and(is_zero, tsr_eq_scalar(zeros, 1));
  tsr_tensor *others = tsr_cumprod(tsr_masked_fill(x, is_first, 1), axis);
  tsr_tensor *before = tsr_div(sums_to_end(tsr_mul(g, y), axis), tsr_masked_fill(x, is_zero, 1));
  tsr_tensor *at_first = tsr_masked_fill(sums_to_end(tsr_mul(g, others), axis), tsr_logical_not(is_first), 0);
  v->gradients[0] = tsr_where(tsr_eq_scalar(zeros, 0), before, at_first);
}

// Of weights g above 0: the sum over i >= j of g[i] * exp(x[j] - y[i]), as exp(x[j] + log(sum of exp(log(g[i]) - y[i]))), which does not overflow.
static tsr_tensor *share_of(tsr_tensor *g, tsr_tensor *x, tsr_tensor *y, int axis) {
  const double lowest = -1e30;  // its exponential is 0
  tsr_tensor *is_none = tsr_le_scalar(g, 0);
  tsr_tensor *logs = tsr_masked_fill(tsr_log(tsr_masked_fill(g, is_none, 1)), is_none, lowest);
  tsr_tensor *terms = tsr_masked_fill(tsr_sub(logs, y), is_none, lowest);
  tsr_tensor *sums = tsr_flip(tsr_logcumsumexp(tsr_flip(terms, axis), axis), axis);
  return tsr_exp(tsr_add(x, sums));
}

void tsri_gradient_logcumsumexp(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, scan)->axis;
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *y = tsri_grad_wide(v->outputs[0]);
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  v->gradients[0] = tsr_sub(share_of(g, x, y, axis), share_of(tsr_neg(g), x, y, axis));
}

// The gradient of each result goes to the element that was the extreme there.
void tsri_gradient_running_extreme(const grad_view *v) {
  const tsri_scan_attributes *given = TSRI_GIVEN(v, scan);
  int axis = (int)given->axis;
  tsr_tensor *x = v->inputs[0], *places = NULL;
  bool is_max = given->combination == TSRI_SCAN_LARGEST || given->combination == TSRI_SCAN_FIRST_LARGEST;
  tsr_status status = is_max ? tsr_cummax(x, axis, NULL, &places) : tsr_cummin(x, axis, NULL, &places);
  v->gradients[0] =
      status == TSR_OK ? tsr_scatter_add(tsri_grad_zeros(x), axis, places, v->cotangents[0]) : tsri_tensor_fail(status);
}
