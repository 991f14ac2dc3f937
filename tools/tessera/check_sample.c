// SPDX-License-Identifier: MIT
// sample and repetition_penalty: references and cases.
#include <math.h>

#include "check.h"
#include "check_random.h"

typedef struct sample_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  tsr_sample_desc desc;
} sample_case;

static const sample_case samples[] = {
    {"plain", CHECK_ALWAYS, CHECK_PLAIN, {2, {37, 11}}, {.top_k = 0}},
    {"hot", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {37, 11}}, {.temperature = 3}},
    {"top-k", CHECK_ALWAYS, CHECK_PLAIN, {3, {5, 7, 13}}, {.top_k = 3, .temperature = 4}},
    {"top-p", CHECK_ALWAYS, CHECK_SLICED, {2, {29, 17}}, {.top_p = 0.7, .temperature = 4}},
    {"min-p", CHECK_OFTEN, CHECK_PLAIN, {2, {29, 17}}, {.min_p = 0.3, .temperature = 5}},
    {"all", CHECK_OFTEN, CHECK_REVERSED, {2, {29, 17}}, {.top_k = 9, .top_p = 0.8, .min_p = 0.1, .temperature = 5}},
    {"largest", CHECK_OFTEN, CHECK_PLAIN, {2, {9, 21}}, {.top_k = 1}},
    {"row", CHECK_OFTEN, CHECK_PLAIN, {1, {21}}, {.temperature = 2}},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {2, {5, 1}}, {.top_p = 0.1}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 5}}, {.top_k = 2}},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {2, {3, 509}}, {.temperature = 4, .top_p = 0.9}},
};

// The next class in descending order of logits after class `before`; equal logits in ascending order of class. before = -1: the class of the largest logit.
static int64_t next_class(const double *x, int64_t n, int64_t before) {
  int64_t best = -1;
  for (int64_t i = 0; i < n; i++) {
    bool is_after = before < 0 || x[i] < x[before] || (x[i] == x[before] && i > before);
    if (is_after && (best < 0 || x[i] > x[best])) best = i;
  }
  return best;
}

static int64_t sampled_class(check_run *run, const sample_case *c, const double *x, int64_t n, double random) {
  const tsr_sample_desc *d = &c->desc;
  int64_t most = d->top_k > 0 && d->top_k < n ? d->top_k : n, kept = 0,
          *order = check_alloc(run, (size_t)n, sizeof *order);
  double *share = check_alloc(run, (size_t)n, sizeof *share), all = 0, before = 0, through = 0;
  for (int64_t i = 0; i < most; i++) {
    order[i] = next_class(x, n, i > 0 ? order[i - 1] : -1);
    share[i] = exp((x[order[i]] - x[order[0]]) / (d->temperature != 0 ? d->temperature : 1));
    all += share[i];
  }
  for (; kept < most; kept++) {
    if (share[kept] < d->min_p * share[0] || (d->top_p > 0 && d->top_p < 1 && before / all >= d->top_p)) break;
    before += share[kept];
  }
  for (int64_t i = 0; i < kept; i++) {
    through += share[i];
    if (through > random * before) return order[i];
  }
  return order[kept - 1];
}

// Many logits are near each other, and few are equal.
void check_sample(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    const sample_case *c = &samples[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_LOGITS);
    tsr_shape shape = c->shape;
    int64_t n = shape.dims[--shape.rank];
    check_expected *wanted = check_expect(run, TSR_I32, shape);
    double *row = check_alloc(run, (size_t)n, sizeof *row);
    for (int64_t k = 0; k < wanted->count; k++) {
      for (int64_t j = 0; j < n; j++) row[j] = check_convert(TSR_F32, dtype, x->values[k * n + j]).real;
      wanted->values[k].whole = sampled_class(run, c, row, n, check_uniform_at(TSR_F32, k, 42 + i));
    }
    check_result(run, tsr_sample(x->tensor, 42 + i, &c->desc), wanted);
  }
}

void check_repetition_penalty(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const double penalties[] = {2, 1, 0.5, 1.25};
  tsr_dtype computed = check_float(dtype);
  for (int i = 0; i < 4; i++) {
    if (!check_begin(run, i ? CHECK_OFTEN : CHECK_ALWAYS, "%g", penalties[i])) continue;
    int64_t rows = 5, n = 13, size = i == 2 ? 0 : 7;
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(rows, n), (check_view)i, CHECK_LOGITS);
    check_tensor *tokens = check_indices(run, TSR_I32, TSR_SHAPE(rows, size), CHECK_PLAIN, 0, n);
    check_expected *wanted = check_expect(run, computed, x->shape);
    for (int64_t k = 0; k < wanted->count; k++) {
      double value = check_convert(computed, dtype, x->values[k]).real;
      bool is_seen = false;
      for (int64_t j = 0; j < size; j++) is_seen = is_seen || tokens->values[k / n * size + j].whole == k % n;
      wanted->values[k].real = !is_seen ? value : value < 0 ? value * penalties[i] : value / penalties[i];
    }
    check_result(run, tsr_repetition_penalty(x->tensor, tokens->tensor, penalties[i]), wanted);
  }
}
