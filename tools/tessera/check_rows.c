// SPDX-License-Identifier: MIT
// Row operators: softmax, log_softmax, layer_norm, rms_norm, and the norms of a sum. References and cases.
#include <float.h>
#include <math.h>

#include "check.h"
#include "check_reference.h"

// A row of the tensor: n elements, `step` apart, in the dtype of the computation.
typedef struct row {
  int64_t first, step, n;
  const double *x;
} row;

typedef void (*row_reference)(const row *r, const double *weight, const double *bias, check_expected *wanted);

// --- References -------------------------------------------------------------------------------------------------------

static double largest(const row *r) {
  double top = -INFINITY;
  for (int64_t i = 0; i < r->n; i++) top = ref_maximum(top, r->x[i]);
  return top;
}

static double sum_of_exp(const row *r, double top) {
  ref_sum sum = {0};
  for (int64_t i = 0; i < r->n; i++) ref_sum_add(&sum, exp(r->x[i] - top));
  return ref_sum_value(&sum);
}

// exp multiplies the rounding error of x - top by the size of that difference, so the magnitude grows with it.
static void ref_softmax_row(const row *r, const double *weight, const double *bias, check_expected *wanted) {
  (void)weight, (void)bias;
  double top = largest(r), sum = sum_of_exp(r, top);
  for (int64_t i = 0; i < r->n; i++) {
    int64_t at = r->first + i * r->step;
    wanted->values[at].real = exp(r->x[i] - top) / sum;
    wanted->magnitudes[at] = wanted->values[at].real * (1 + (top - r->x[i]) / 8) + FLT_MIN;
  }
}

static void ref_log_softmax_row(const row *r, const double *weight, const double *bias, check_expected *wanted) {
  (void)weight, (void)bias;
  double top = largest(r), rest = log(sum_of_exp(r, top));
  for (int64_t i = 0; i < r->n; i++) {
    int64_t at = r->first + i * r->step;
    wanted->values[at].real = r->x[i] - top - rest;
    wanted->magnitudes[at] = fabs(r->x[i]) + fabs(top) + rest + 1;
  }
}

static const double epsilon = 1.0 / 1024;

static double mean_of(const row *r) {
  ref_sum sum = {0};
  for (int64_t i = 0; i < r->n; i++) ref_sum_add(&sum, r->x[i]);
  return ref_sum_value(&sum) / (double)r->n;
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias
static void normalise(const row *r, double mean, const double *weight, const double *bias, check_expected *wanted) {
  ref_sum squares = {0};
  double size = 0;
  for (int64_t i = 0; i < r->n; i++) {
    ref_sum_add_product(&squares, r->x[i] - mean, r->x[i] - mean);
    size = fmax(size, fabs(r->x[i]));
  }
  double scale = 1 / sqrt(ref_sum_value(&squares) / (double)r->n + epsilon);
  for (int64_t i = 0; i < r->n; i++) {
    int64_t at = r->first + i * r->step;
    double w = weight ? weight[i] : 1, b = bias ? bias[i] : 0;
    wanted->values[at].real = (r->x[i] - mean) * scale * w + b;
    wanted->magnitudes[at] = (fabs(r->x[i]) + fabs(mean) + size) * scale * fabs(w) + fabs(b);
  }
}

static void ref_layer_norm_row(const row *r, const double *weight, const double *bias, check_expected *wanted) {
  normalise(r, mean_of(r), weight, bias, wanted);
}

static void ref_rms_norm_row(const row *r, const double *weight, const double *bias, check_expected *wanted) {
  normalise(r, 0, weight, bias, wanted);
}

// --- Cases ------------------------------------------------------------------------------------------------------------

static double *as_reals(check_run *run, const check_tensor *t, tsr_dtype computed) {
  if (!t) return NULL;
  double *reals = check_alloc(run, (size_t)t->count, sizeof *reals);
  for (int64_t i = 0; i < t->count; i++) reals[i] = check_convert(computed, t->dtype, t->values[i]).real;
  return reals;
}

static check_expected *expect(check_run *run, row_reference reference, const check_tensor *x, int axis,
                              const check_tensor *weight, const check_tensor *bias) {
  tsr_dtype dtype = check_float(x->dtype);
  check_expected *wanted = check_expect(run, dtype, x->shape);
  wanted->magnitudes = check_alloc(run, (size_t)x->count, sizeof(double));
  double *all = as_reals(run, x, dtype), *w = as_reals(run, weight, dtype), *b = as_reals(run, bias, dtype);
  if (axis < 0) axis += x->shape.rank;
  int64_t n = x->shape.dims[axis], step = 1;
  for (int i = axis + 1; i < x->shape.rank; i++) step *= x->shape.dims[i];
  wanted->terms = n;
  double *line = check_alloc(run, (size_t)n, sizeof *line);
  for (int64_t i = 0; i < (x->count ? x->count / n : 0); i++) {
    row r = {.first = i / step * step * n + i % step, .step = step, .n = n, .x = line};
    for (int64_t k = 0; k < n; k++) line[k] = all[r.first + k * step];
    reference(&r, w, b, wanted);
  }
  return wanted;
}

typedef struct row_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  int axis;
} row_case;

// The norms use only the cases along the last axis.
static const row_case cases[] = {
    {"one", CHECK_OFTEN, CHECK_PLAIN, {1, {1}}, 0},
    {"vector", CHECK_ALWAYS, CHECK_PLAIN, {1, {13}}, 0},
    {"rows", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 19}}, -1},
    {"3d", CHECK_OFTEN, CHECK_PLAIN, {3, {3, 5, 31}}, 2},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 5}}, 1},
    {"empty-row", CHECK_OFTEN, CHECK_PLAIN, {2, {5, 0}}, 1},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 29}}, 1},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {2, {11, 23}}, 1},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {2, {5, 67}}, 1},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {9, 11}}, 1},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {2, {7, 13}}, 1},
    {"257", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 257}}, 1},
    {"quads", CHECK_OFTEN, CHECK_PLAIN, {2, {5, 1028}}, 1},
    {"2053", CHECK_HEAVY, CHECK_PLAIN, {2, {3, 2053}}, 1},
    {"4100", CHECK_HEAVY, CHECK_PLAIN, {2, {5, 4100}}, 1},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {2, {2, 10007}}, 1},
    {"longer", CHECK_HEAVY, CHECK_PLAIN, {2, {2, 40009}}, 1},
    {"many", CHECK_HEAVY, CHECK_PLAIN, {2, {1031, 33}}, 1},
    {"first", CHECK_ALWAYS, CHECK_PLAIN, {2, {19, 7}}, 0},
    {"first-long", CHECK_HEAVY, CHECK_PLAIN, {2, {521, 9}}, 0},
    {"middle", CHECK_OFTEN, CHECK_PLAIN, {3, {5, 11, 3}}, 1},
    {"middle-permuted", CHECK_OFTEN, CHECK_PERMUTED, {3, {5, 11, 3}}, -2},
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0], LAST_AXIS_COUNT = CASE_COUNT - 4 };

static void run_softmaxes(check_run *run, tsr_dtype dtype, tsr_tensor *(*call)(tsr_tensor *, int),
                          row_reference reference) {
  for (int i = 0; i < CASE_COUNT; i++) {
    const row_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_LOGITS);
    check_note(run, "axis %d", c->axis);
    check_result(run, call(x->tensor, c->axis), expect(run, reference, x, c->axis, NULL, NULL));
  }
  if (!check_is_float(dtype) || !check_begin(run, CHECK_ALWAYS, "special")) return;
  static const double put[6] = {NAN, -INFINITY, INFINITY, 0.0, 100, -100};
  check_value values[6 * 9];
  for (int i = 0; i < 6 * 9; i++) values[i].real = i % 9 == 4 ? put[i / 9] : i / 9 == 1 ? -INFINITY : (double)(i % 5);
  check_tensor *x = check_input_of(run, dtype, TSR_SHAPE(6, 9), CHECK_PLAIN, values);
  check_result(run, call(x->tensor, 1), expect(run, reference, x, 1, NULL, NULL));
}

void check_softmax(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_softmaxes(run, dtype, tsr_softmax, ref_softmax_row);
}

void check_log_softmax(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_softmaxes(run, dtype, tsr_log_softmax, ref_log_softmax_row);
}

// Weight and bias have the dtype of x, so that the result has it, too.
static check_tensor *factor(check_run *run, tsr_dtype dtype, const row_case *c, bool is_given) {
  tsr_shape shape = TSR_SHAPE(c->shape.dims[c->shape.rank - 1]);
  return is_given ? check_input(run, check_float(dtype), shape, c->view, CHECK_TAME) : NULL;
}

static void run_norms(check_run *run, tsr_dtype dtype, bool is_layer_norm, bool has_weight, bool has_bias) {
  for (int i = 0; i < LAST_AXIS_COUNT; i++) {
    const row_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s%s%s", c->name, has_weight ? "-weight" : "", has_bias ? "-bias" : "")) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_TAME);
    check_tensor *w = factor(run, dtype, c, has_weight), *b = factor(run, dtype, c, has_bias);
    tsr_tensor *weight = w ? w->tensor : NULL, *bias = b ? b->tensor : NULL;
    tsr_tensor *result =
        is_layer_norm ? tsr_layer_norm(x->tensor, weight, bias, epsilon) : tsr_rms_norm(x->tensor, weight, epsilon);
    check_result(run, result, expect(run, is_layer_norm ? ref_layer_norm_row : ref_rms_norm_row, x, -1, w, b));
  }
}

void check_layer_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int given = 0; given < 4; given++) run_norms(run, dtype, true, given & 1, given & 2);
}

void check_rms_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int given = 0; given < 2; given++) run_norms(run, dtype, false, given & 1, false);
}

// x + residual, rounded to the dtype of the sum: the input of the norm that follows the addition.
static check_tensor rounded_sum(check_run *run, const check_tensor *x, const check_tensor *residual) {
  check_tensor sum = {.dtype = residual->dtype, .shape = x->shape, .count = x->count};
  double *a = as_reals(run, x, sum.dtype), *b = as_reals(run, residual, sum.dtype);
  sum.values = check_alloc(run, (size_t)x->count, sizeof *sum.values);
  for (int64_t i = 0; i < x->count; i++) sum.values[i].real = check_round(sum.dtype, a[i] + b[i]);
  return sum;
}

static void run_sum_norms(check_run *run, tsr_dtype dtype, bool is_layer_norm, bool has_weight, bool has_bias) {
  for (int i = 0; i < LAST_AXIS_COUNT; i++) {
    const row_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s%s%s", c->name, has_weight ? "-weight" : "", has_bias ? "-bias" : "")) continue;
    check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_TAME);
    check_tensor *r = check_input(run, check_float(dtype), c->shape, CHECK_PLAIN, CHECK_TAME);
    check_tensor *w = factor(run, dtype, c, has_weight), *b = factor(run, dtype, c, has_bias);
    tsr_tensor *weight = w ? w->tensor : NULL, *bias = b ? b->tensor : NULL, *sum = NULL, *normed = NULL;
    tsr_status status = is_layer_norm ? tsr_add_layer_norm(x->tensor, r->tensor, weight, bias, epsilon, &sum, &normed)
                                      : tsr_add_rms_norm(x->tensor, r->tensor, weight, epsilon, &sum, &normed);
    if (status != TSR_OK) {
      check_fail(run, "%s", tsr_last_error());
      continue;
    }
    check_tensor both = rounded_sum(run, x, r);
    check_expected *wanted = check_expect(run, both.dtype, both.shape);
    wanted->values = both.values;
    check_part_result(run, sum, wanted);
    check_result(run, normed, expect(run, is_layer_norm ? ref_layer_norm_row : ref_rms_norm_row, &both, -1, w, b));
  }
}

void check_add_layer_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int given = 0; given < 4; given++) run_sum_norms(run, dtype, true, given & 1, given & 2);
}

void check_add_rms_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int given = 0; given < 2; given++) run_sum_norms(run, dtype, false, given & 1, false);
}
