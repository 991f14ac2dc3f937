// SPDX-License-Identifier: MIT
// Losses: references in f64, and cases.
#include <math.h>

#include "check.h"
#include "check_reference.h"

// --- Sums of single losses --------------------------------------------------------------------------------------------

// The losses of all elements before they are summed. magnitudes: what the errors of `values` are measured by. divisor: what TSR_LOSS_MEAN divides the sum by.
typedef struct losses {
  tsr_shape shape;
  int64_t count, batch, terms;
  double *values, *magnitudes;
  double divisor;
} losses;

static losses begin_losses(check_run *run, tsr_shape shape, int64_t batch, int64_t terms) {
  losses l = {.shape = shape, .count = check_count(shape), .batch = batch, .terms = terms};
  l.values = check_alloc(run, (size_t)l.count, sizeof(double));
  l.magnitudes = check_alloc(run, (size_t)l.count, sizeof(double));
  l.divisor = (double)l.count;
  return l;
}

static check_expected *expect_losses(check_run *run, tsr_dtype dtype, const losses *l, tsr_loss_reduction reduction) {
  bool is_kept = reduction == TSR_LOSS_NONE;
  check_expected *wanted = check_expect(run, dtype, is_kept ? l->shape : TSR_SCALAR);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = is_kept ? l->terms : l->terms + l->count;
  ref_sum sum = {0};
  double magnitude = 0;
  for (int64_t i = 0; i < l->count; i++) {
    if (is_kept) {
      wanted->values[i].real = l->values[i];
      wanted->magnitudes[i] = l->magnitudes[i];
    }
    ref_sum_add(&sum, l->values[i]);
    magnitude += l->magnitudes[i];
  }
  if (is_kept) return wanted;
  double by = reduction == TSR_LOSS_SUM ? 1 : reduction == TSR_LOSS_MEAN ? l->divisor : (double)l->batch;
  wanted->values[0].real = ref_sum_value(&sum) / by;
  wanted->magnitudes[0] = magnitude / fabs(by);
  return wanted;
}

static const char *const reduction_names[] = {"mean", "sum", "none", "batch-mean"};

// --- Element by element -----------------------------------------------------------------------------------------------

// The loss of one element. `extra` is delta of huber and the like, or the weight of the positive class.
typedef double (*element_loss)(double x, double target, double extra, double *out_magnitude);

static double ref_mse(double x, double target, double extra, double *out_magnitude) {
  (void)extra;
  return *out_magnitude = (x - target) * (x - target);
}

static double ref_l1(double x, double target, double extra, double *out_magnitude) {
  (void)extra;
  return *out_magnitude = fabs(x - target);
}

static double ref_huber(double x, double target, double delta, double *out_magnitude) {
  double size = fabs(x - target);
  *out_magnitude = size * (size <= delta ? size : delta);
  return size <= delta ? size * size / 2 : delta * (size - delta / 2);
}

static double ref_bce(double x, double target, double positive, double *out_magnitude) {
  double factor = 1 + (positive - 1) * target;
  *out_magnitude =
      fabs((1 - target) * x) + (ref_softplus(-x) + ref_lost_exp(fabs(x))) * (1 + fabs(positive - 1) * target);
  return (1 - target) * x + ref_softplus(-x) * factor;
}

static double ref_kl(double x, double target, double extra, double *out_magnitude) {
  (void)extra;
  if (target == 0) return *out_magnitude = 0;
  *out_magnitude = fabs(target * log(target)) + fabs(target * x);
  return target * log(target) - target * x;
}

typedef tsr_tensor *(*loss_call)(tsr_tensor *x, tsr_tensor *target, const tsr_loss_desc *desc);

typedef struct element_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape, weight_shape;  // a rank of -1: no weight
} element_case;

static const element_case element_cases[] = {
    {"rows", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 13}}, {-1, {0}}},
    {"weight", CHECK_ALWAYS, CHECK_PLAIN, {2, {5, 11}}, {1, {11}}},
    {"scalar", CHECK_OFTEN, CHECK_PLAIN, {0, {0}}, {-1, {0}}},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {1, {1}}, {0, {0}}},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 3}}, {2, {17, 1}}},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {3, {3, 5, 7}}, {-1, {0}}},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {9, 5}}, {2, {9, 5}}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {2, 0}}, {-1, {0}}},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {2, {3, 5003}}, {-1, {0}}},
};

// Probabilities that are multiples of 1/8 (floats), or 0 and 1 (others). With --grad 0 is left out, because central differences would need a probability below
// it.
static check_tensor *probabilities(check_run *run, tsr_dtype dtype, tsr_shape shape) {
  int64_t count = check_count(shape);
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    uint64_t least = check_takes_gradients(run) ? 1 : 0;
    if (check_is_float(dtype)) values[i].real = (double)(least + check_random(run, 9 - least)) / 8;
    else values[i].whole = (int64_t)check_random(run, 2);
  }
  return check_input_of(run, dtype, shape, CHECK_PLAIN, values);
}

static double real_at(tsr_dtype dtype, const check_tensor *t, int64_t at) {
  return check_convert(dtype, t->dtype, t->values[at]).real;
}

typedef struct element_op {
  loss_call call;
  element_loss loss;
  bool has_probabilities;
  double extra;              // the argument `extra` of the reference
  tsr_loss_desc desc;        // the call's options, without reduction and weight
  bool has_positive_weight;  // `extra` is the weight of the positive class
} element_op;

static void run_element_case(check_run *run, const element_op *op, tsr_dtype dtype, const element_case *c,
                             tsr_loss_reduction reduction) {
  tsr_dtype computed = check_float(dtype);
  check_tensor *x = check_input(run, dtype, c->shape, c->view, CHECK_TAME);
  check_tensor *target = op->has_probabilities ? probabilities(run, dtype, c->shape)
                                               : check_input(run, dtype, c->shape, CHECK_PLAIN, CHECK_TAME);
  tsr_loss_desc desc = op->desc;
  desc.reduction = reduction;
  const check_tensor *weight = NULL;
  if (c->weight_shape.rank >= 0) {
    weight = check_input(run, computed, c->weight_shape, CHECK_PLAIN, CHECK_NEAR_ONE);
    desc.weight = weight->tensor;
  }
  if (op->has_positive_weight) {
    desc.positive_weight =
        check_input_of(run, computed, TSR_SCALAR, CHECK_PLAIN, &(check_value){.real = op->extra})->tensor;
  }
  losses l = begin_losses(run, c->shape, c->shape.rank > 0 ? c->shape.dims[0] : 1, 4);
  for (int64_t i = 0; i < l.count; i++) {
    int64_t index[TSR_MAX_RANK] = {0};
    check_unravel(c->shape, i, index);
    double factor = weight ? real_at(computed, weight, check_broadcast_at(weight->shape, c->shape.rank, index)) : 1;
    l.values[i] = factor * op->loss(real_at(computed, x, i), real_at(computed, target, i), op->extra, &l.magnitudes[i]);
    l.magnitudes[i] *= fabs(factor);
  }
  check_result(run, op->call(x->tensor, target->tensor, &desc), expect_losses(run, computed, &l, reduction));
}

static void run_element_op(check_run *run, const element_op *op, tsr_dtype dtype, const char *suffix) {
  for (size_t i = 0; i < sizeof element_cases / sizeof element_cases[0]; i++) {
    const element_case *c = &element_cases[i];
    for (int r = 0; r <= TSR_LOSS_BATCH_MEAN; r++) {
      check_weight weight = r == TSR_LOSS_MEAN ? c->weight : CHECK_HEAVY;
      if (!check_begin(run, weight, "%s-%s%s", c->name, reduction_names[r], suffix)) continue;
      run_element_case(run, op, dtype, c, (tsr_loss_reduction)r);
    }
  }
}

void check_mse_loss(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_element_op(run, &(element_op){.call = tsr_mse_loss, .loss = ref_mse}, dtype, "");
}

void check_l1_loss(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_element_op(run, &(element_op){.call = tsr_l1_loss, .loss = ref_l1}, dtype, "");
}

void check_huber_loss(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  element_op usual = {.call = tsr_huber_loss, .loss = ref_huber, .extra = 1}, other = usual;
  other.extra = other.desc.delta = 0.625;
  run_element_op(run, &usual, dtype, "");
  run_element_op(run, &other, dtype, "-delta");
}

void check_bce_with_logits_loss(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  element_op usual = {.call = tsr_bce_with_logits_loss, .loss = ref_bce, .has_probabilities = true, .extra = 1};
  element_op other = usual;
  other.has_positive_weight = true;
  other.extra = 2.5;
  run_element_op(run, &usual, dtype, "");
  run_element_op(run, &other, dtype, "-positive");
}

void check_kl_div_loss(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_element_op(run, &(element_op){.call = tsr_kl_div_loss, .loss = ref_kl, .has_probabilities = true}, dtype, "");
}

// --- Of classes -------------------------------------------------------------------------------------------------------

typedef struct class_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  int axis;  // of the classes
  tsr_dtype label_dtype;
  bool has_weight, ignores;
  double smoothing;
} class_case;

static const class_case class_cases[] = {
    {"rows", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 13}}, 1, TSR_I32, false, false, 0},
    {"weight", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 5}}, 1, TSR_I32, true, false, 0},
    {"ignored", CHECK_ALWAYS, CHECK_PLAIN, {2, {11, 3}}, 1, TSR_U8, false, true, 0},
    {"both", CHECK_OFTEN, CHECK_PLAIN, {2, {13, 5}}, 1, TSR_I16, true, true, 0},
    {"pixels", CHECK_OFTEN, CHECK_PLAIN, {4, {2, 5, 3, 7}}, 1, TSR_I32, true, true, 0},
    {"vector", CHECK_OFTEN, CHECK_PLAIN, {1, {5}}, 0, TSR_I32, false, false, 0},
    {"first", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {5, 11}}, 0, TSR_U32, false, false, 0},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {3, {3, 7, 5}}, -1, TSR_I8, true, false, 0},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {9, 4}}, 1, TSR_I32, false, true, 0},
    {"one-class", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 1}}, 1, TSR_I32, false, false, 0},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 3}}, 1, TSR_I32, false, false, 0},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {2, {5, 5003}}, 1, TSR_I32, false, false, 0},
    {"teams", CHECK_OFTEN, CHECK_PLAIN, {2, {37, 50}}, 1, TSR_I64, false, false, 0},
    {"quads", CHECK_HEAVY, CHECK_PLAIN, {2, {5, 264}}, 1, TSR_I32, false, false, 0},
    {"smooth", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 13}}, 1, TSR_I32, false, false, 0.125},
    {"smooth-both", CHECK_OFTEN, CHECK_PERMUTED, {3, {3, 5, 7}}, 1, TSR_I32, true, true, 0.25},
    {"smooth-all", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 5}}, 1, TSR_I32, true, false, 1},
};

enum { CLASS_CASES = sizeof class_cases / sizeof class_cases[0], LABELS_ONLY = CLASS_CASES - 3 };

static tsr_shape without_axis(tsr_shape shape, int axis) {
  for (int i = axis; i + 1 < shape.rank; i++) shape.dims[i] = shape.dims[i + 1];
  shape.rank--;
  return shape;
}

// The logits of one sample, with what its losses are computed from.
typedef struct class_row {
  const double *x;        // of each class
  const double *weights;  // of each class
  int64_t classes;
  double all;   // logsumexp, or 0 for nll
  double size;  // magnitude of the largest term of a loss
} class_row;

static class_row measure(const double *x, const double *weights, int64_t classes, bool is_nll) {
  class_row row = {.x = x, .weights = weights, .classes = classes, .size = 1};
  double top = -INFINITY;
  for (int64_t i = 0; i < classes; i++) {
    top = fmax(top, x[i]);
    row.size = fmax(row.size, fabs(x[i]));
  }
  ref_sum sum = {0};
  for (int64_t i = 0; i < classes; i++) ref_sum_add(&sum, exp(x[i] - top));
  if (!is_nll) row.all = top + log(ref_sum_value(&sum));
  row.size = 3 * row.size + fabs(row.all);
  return row;
}

// The sum over the classes of share * weight * (all - x). `shares` are the target's probabilities after label smoothing.
static double row_loss(const class_row *row, const double *shares, double *out_magnitude) {
  ref_sum sum = {0};
  *out_magnitude = 0;
  for (int64_t i = 0; i < row->classes; i++) {
    if (shares[i] == 0) continue;
    ref_sum_add(&sum, shares[i] * row->weights[i] * (row->all - row->x[i]));
    *out_magnitude += shares[i] * fabs(row->weights[i]) * row->size;
  }
  return ref_sum_value(&sum);
}

// The inputs of a case: either `labels` or `chances` (probabilities) is set, the other one is NULL.
typedef struct class_inputs {
  const check_tensor *x, *labels, *chances, *weight;  // labels or chances
  tsr_loss_desc desc;
  int axis;
} class_inputs;

static void fill_shares(const class_inputs *in, const class_case *c, tsr_dtype dtype, int64_t label, int64_t first,
                        int64_t step, int64_t classes, double *shares) {
  for (int64_t k = 0; k < classes; k++) {
    double share = in->labels ? label == k : real_at(dtype, in->chances, first + k * step);
    shares[k] = share * (1 - c->smoothing) + c->smoothing / (double)classes;
  }
}

static losses class_losses(check_run *run, const class_inputs *in, const class_case *c, bool is_nll) {
  tsr_dtype dtype = check_float(in->x->dtype);
  int64_t classes = c->shape.dims[in->axis], step = 1;
  for (int i = in->axis + 1; i < c->shape.rank; i++) step *= c->shape.dims[i];
  losses l = begin_losses(run, without_axis(c->shape, in->axis), c->shape.dims[0], 2 * classes);
  double *x = check_alloc(run, (size_t)classes, sizeof *x), *shares = check_alloc(run, (size_t)classes, sizeof *x);
  double *weights = check_alloc(run, (size_t)classes, sizeof *x);
  for (int64_t k = 0; k < classes; k++) weights[k] = in->weight ? real_at(dtype, in->weight, k) : 1;
  if (in->labels) l.divisor = 0;
  for (int64_t i = 0; i < l.count; i++) {
    int64_t first = i / step * step * classes + i % step, label = in->labels ? in->labels->values[i].whole : 0;
    for (int64_t k = 0; k < classes; k++) x[k] = real_at(dtype, in->x, first + k * step);
    if (in->labels && in->desc.ignores && label == in->desc.ignored) continue;
    if (in->labels) l.divisor += weights[label];
    class_row row = measure(x, weights, classes, is_nll);
    fill_shares(in, c, dtype, label, first, step, classes, shares);
    l.values[i] = row_loss(&row, shares, &l.magnitudes[i]);
  }
  return l;
}

typedef tsr_tensor *(*class_call)(tsr_tensor *x, tsr_tensor *target, int axis, const tsr_loss_desc *desc);

static void run_class_case(check_run *run, class_call call, tsr_dtype dtype, const class_case *c,
                           tsr_loss_reduction reduction, bool has_chances) {
  tsr_dtype computed = check_float(dtype);
  class_inputs in = {.axis = c->axis < 0 ? c->axis + c->shape.rank : c->axis};
  int64_t classes = c->shape.dims[in.axis];
  in.x = check_input(run, dtype, c->shape, c->view, CHECK_LOGITS);
  if (has_chances) in.chances = probabilities(run, computed, c->shape);
  else in.labels = check_indices(run, c->label_dtype, without_axis(c->shape, in.axis), CHECK_PLAIN, 0, classes - 1);
  in.desc = (tsr_loss_desc){.reduction = reduction, .smoothing = c->smoothing, .ignores = c->ignores && !has_chances};
  in.desc.ignored = in.desc.ignores ? 1 : 0;
  if (c->has_weight) {
    in.weight = check_input(run, computed, TSR_SHAPE(classes), CHECK_PLAIN, CHECK_NEAR_ONE);
    in.desc.weight = in.weight->tensor;
  }
  losses l = class_losses(run, &in, c, call == tsr_nll_loss);
  tsr_tensor *result = call(in.x->tensor, (has_chances ? in.chances : in.labels)->tensor, c->axis, &in.desc);
  check_result(run, result, expect_losses(run, computed, &l, reduction));
}

static void run_class_op(check_run *run, class_call call, tsr_dtype dtype, int count, bool has_chances) {
  for (int i = 0; i < count; i++) {
    const class_case *c = &class_cases[i];
    for (int r = 0; r <= TSR_LOSS_BATCH_MEAN; r++) {
      check_weight weight = r == TSR_LOSS_MEAN ? c->weight : CHECK_HEAVY;
      if (!check_begin(run, weight, "%s-%s%s", c->name, reduction_names[r], has_chances ? "-chances" : "")) continue;
      run_class_case(run, call, dtype, c, (tsr_loss_reduction)r, has_chances);
    }
  }
}

void check_nll_loss(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_class_op(run, tsr_nll_loss, dtype, LABELS_ONLY, false);
}

void check_cross_entropy(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_class_op(run, tsr_cross_entropy, dtype, CLASS_CASES, false);
  run_class_op(run, tsr_cross_entropy, dtype, CLASS_CASES, true);
}
