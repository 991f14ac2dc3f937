// SPDX-License-Identifier: MIT
// The reference of operators whose results are sums of products.
#include "check_products.h"

#include <math.h>

#include "check_reference.h"

static void real_element(const check_products *p, const int64_t *index, int64_t at, check_expected *wanted) {
  ref_sum sum = {0};
  double magnitude = 0;
  for (int64_t i = 0; i < p->terms; i++) {
    check_term term = p->term(p->context, index, i);
    if (term.is_nothing) continue;
    double x = check_convert(wanted->dtype, p->a->dtype, p->a->values[term.a]).real;
    double y = check_convert(wanted->dtype, p->b->dtype, p->b->values[term.b]).real;
    ref_sum_add_product(&sum, term.is_subtracted ? -x : x, y);
    magnitude += fabs(x * y);
  }
  if (p->bias) {
    double added = check_convert(wanted->dtype, p->bias->dtype, p->bias->values[index[p->bias_axis]]).real;
    ref_sum_add(&sum, added);
    magnitude += fabs(added);
  }
  wanted->values[at].real = ref_sum_value(&sum);
  wanted->magnitudes[at] = magnitude;
}

static void whole_element(const check_products *p, const int64_t *index, int64_t at, check_expected *wanted) {
  int64_t sum = 0;
  for (int64_t i = 0; i < p->terms; i++) {
    check_term term = p->term(p->context, index, i);
    if (term.is_nothing) continue;
    int64_t product = times(check_convert(wanted->dtype, p->a->dtype, p->a->values[term.a]).whole,
                            check_convert(wanted->dtype, p->b->dtype, p->b->values[term.b]).whole);
    sum = term.is_subtracted ? minus(sum, product) : plus(sum, product);
  }
  if (p->bias) {
    sum = plus(sum, check_convert(wanted->dtype, p->bias->dtype, p->bias->values[index[p->bias_axis]]).whole);
  }
  wanted->values[at].whole = check_wrap(wanted->dtype, sum);
}

check_expected *check_expect_products(check_run *run, tsr_shape shape, const check_products *p) {
  tsr_dtype dtype = check_promote(p->a->dtype, p->b->dtype);
  if (p->bias) dtype = check_promote(dtype, p->bias->dtype);
  check_expected *wanted = check_expect(run, dtype, shape);
  wanted->terms = p->terms;
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  for (int64_t at = 0; at < wanted->count; at++) {
    int64_t index[TSR_MAX_RANK] = {0};
    check_unravel(shape, at, index);
    if (check_is_float(dtype)) real_element(p, index, at, wanted);
    else whole_element(p, index, at, wanted);
  }
  return wanted;
}
