// SPDX-License-Identifier: MIT
// rope and linear: references and cases.
#include <math.h>

#include "check.h"
#include "check_reference.h"

static double real_at(tsr_dtype dtype, const check_tensor *t, int64_t at) {
  return check_convert(dtype, t->dtype, t->values[at]).real;
}

// --- rope -------------------------------------------------------------------------------------------------------------

typedef struct rope_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape, positions;
  bool has_frequencies;
  tsr_rope_desc desc;
} rope_case;

static const rope_case ropes[] = {
    {"halves", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 5, 8}}, {1, {5}}, false, {.base = 0}},
    {"neighbours", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 5, 8}}, {1, {5}}, false, {.interleaved = true}},
    {"each", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 5, 3, 6}}, {3, {2, 5, 1}}, false, {.base = 500000}},
    {"part", CHECK_ALWAYS, CHECK_PLAIN, {3, {3, 5, 13}}, {1, {5}}, false, {.size = 6}},
    {"part-neighbours",
     CHECK_OFTEN,
     CHECK_SLICED,
     {3, {3, 5, 12}},
     {2, {3, 5}},
     false,
     {.size = 8, .interleaved = true}},
    {"scaled", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 7, 10}}, {1, {7}}, false, {.scale = 0.25}},
    {"back", CHECK_OFTEN, CHECK_TRANSPOSED, {3, {2, 7, 10}}, {1, {7}}, false, {.scale = -1, .interleaved = true}},
    {"frequencies", CHECK_ALWAYS, CHECK_PLAIN, {3, {2, 7, 10}}, {1, {7}}, true, {.base = 0}},
    {"one-position", CHECK_OFTEN, CHECK_REVERSED, {2, {7, 4}}, {0, {0}}, false, {.base = 0}},
    {"row", CHECK_OFTEN, CHECK_PLAIN, {1, {64}}, {0, {0}}, false, {.base = 0}},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {4, {2, 3, 4, 6}}, {2, {3, 4}}, false, {.base = 0}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 0, 6}}, {1, {0}}, false, {.base = 0}},
    {"no-width", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 0}}, {1, {3}}, false, {.base = 0}},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {3, {3, 257, 128}}, {1, {257}}, false, {.base = 0}},
};

// The index of the element that is rotated together with element i of a row, and the number of that pair.
static int64_t partner(const rope_case *c, int64_t size, int64_t i, int64_t *out_pair) {
  int64_t half = size / 2;
  *out_pair = c->desc.interleaved ? i / 2 : i % half;
  if (c->desc.interleaved) return i ^ 1;
  return i < half ? i + half : i - half;
}

typedef struct rope_inputs {
  const check_tensor *x, *positions, *frequencies;
} rope_inputs;

static void rope_element(const rope_case *c, const rope_inputs *in, int64_t at, check_expected *wanted) {
  int64_t index[TSR_MAX_RANK], width = c->shape.dims[c->shape.rank - 1], pair = 0;
  int64_t size = c->desc.size ? c->desc.size : width, i = at % width;
  double x = real_at(wanted->dtype, in->x, at);
  wanted->values[at].real = x;
  if (i >= size) return;
  check_unravel(c->shape, at, index);
  double position = (double)in->positions->values[check_broadcast_at(c->positions, c->shape.rank - 1, index)].whole;
  int64_t other = partner(c, size, i, &pair);
  double base = c->desc.base != 0 ? c->desc.base : 10000, frequency = pow(base, -2.0 * (double)pair / (double)size);
  if (in->frequencies) frequency = real_at(wanted->dtype, in->frequencies, pair);
  double angle = position * frequency * (c->desc.scale != 0 ? c->desc.scale : 1);
  double y = real_at(wanted->dtype, in->x, at - i + other);
  wanted->values[at].real = x * cos(angle) + (other > i ? -y : y) * sin(angle);
  wanted->magnitudes[at] = (fabs(x) + fabs(y)) * (1 + fabs(angle));
}

void check_rope(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof ropes / sizeof ropes[0]; i++) {
    const rope_case *c = &ropes[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    int64_t size = c->desc.size ? c->desc.size : c->shape.dims[c->shape.rank - 1];
    rope_inputs in = {.x = check_input(run, dtype, c->shape, c->view, CHECK_TAME),
                      .positions = check_indices(run, TSR_I32, c->positions, CHECK_PLAIN, 0, 5000)};
    tsr_rope_desc desc = c->desc;
    if (c->has_frequencies) {
      in.frequencies = check_input(run, check_float(dtype), TSR_SHAPE(size / 2), CHECK_SLICED, CHECK_TAME);
      desc.frequencies = in.frequencies->tensor;
    }
    check_expected *wanted = check_expect(run, check_float(dtype), c->shape);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t at = 0; at < wanted->count; at++) rope_element(c, &in, at, wanted);
    check_result(run, tsr_rope(in.x->tensor, in.positions->tensor, &desc), wanted);
  }
  if (check_begin(run, CHECK_OFTEN, "odd-refused")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(3, 5), CHECK_PLAIN, CHECK_TAME);
    check_refused(run, tsr_rope(x->tensor, check_indices(run, TSR_I32, TSR_SHAPE(3), CHECK_PLAIN, 0, 9)->tensor, NULL),
                  TSR_ERR_SHAPE);
  }
}

// --- linear -----------------------------------------------------------------------------------------------------------

typedef struct linear_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape x;
  int64_t outputs;
  bool has_bias, has_residual;
  tsr_activation activation;
} linear_case;

static const linear_case linears[] = {
    {"plain", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 11}}, 5, false, false, TSR_ACTIVATION_NONE},
    {"bias", CHECK_ALWAYS, CHECK_PLAIN, {3, {2, 5, 9}}, 8, true, false, TSR_ACTIVATION_NONE},
    {"relu", CHECK_ALWAYS, CHECK_TRANSPOSED, {2, {13, 17}}, 6, true, false, TSR_ACTIVATION_RELU},
    {"gelu", CHECK_ALWAYS, CHECK_PLAIN, {2, {5, 16}}, 12, true, true, TSR_ACTIVATION_GELU},
    {"gelu-tanh", CHECK_OFTEN, CHECK_SLICED, {2, {5, 16}}, 12, false, true, TSR_ACTIVATION_GELU_TANH},
    {"silu", CHECK_OFTEN, CHECK_REVERSED, {3, {3, 4, 7}}, 3, true, true, TSR_ACTIVATION_SILU},
    {"sigmoid", CHECK_OFTEN, CHECK_PERMUTED, {3, {3, 4, 7}}, 3, true, false, TSR_ACTIVATION_SIGMOID},
    {"tanh", CHECK_OFTEN, CHECK_PLAIN, {2, {6, 5}}, 4, false, false, TSR_ACTIVATION_TANH},
    {"residual", CHECK_ALWAYS, CHECK_PLAIN, {2, {6, 5}}, 4, false, true, TSR_ACTIVATION_NONE},
    {"vector", CHECK_OFTEN, CHECK_PLAIN, {1, {19}}, 7, true, true, TSR_ACTIVATION_RELU},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 5}}, 4, true, true, TSR_ACTIVATION_NONE},
    {"no-inputs", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 0}}, 4, true, false, TSR_ACTIVATION_NONE},
    {"no-outputs", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 4}}, 0, true, false, TSR_ACTIVATION_NONE},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {2, {33, 67}}, 65, true, true, TSR_ACTIVATION_GELU},
};

static double activate(tsr_activation activation, double x) {
  switch (activation) {
    case TSR_ACTIVATION_NONE:
      return x;
    case TSR_ACTIVATION_RELU:
      return fmax(x, 0);
    case TSR_ACTIVATION_GELU:
      return ref_gelu(x);
    case TSR_ACTIVATION_GELU_TANH:
      return ref_gelu_tanh(x);
    case TSR_ACTIVATION_SILU:
      return ref_silu(x);
    case TSR_ACTIVATION_SIGMOID:
      return ref_sigmoid(x);
    case TSR_ACTIVATION_TANH:
      return tanh(x);
  }
  return NAN;
}

typedef struct linear_inputs {
  const check_tensor *x, *weight, *bias, *residual;
} linear_inputs;

// One element of the result. The magnitude: the sum's error is multiplied by the activation's slope, at most 1.13, and the activation adds a few roundings.
// Narrow floats may be rounded after each of the four steps (product, bias, activation, residual).
static void linear_element(const linear_case *c, const linear_inputs *in, int64_t at, check_expected *wanted) {
  tsr_dtype dtype = wanted->dtype;
  int64_t n = wanted->terms, row = at / c->outputs, output = at % c->outputs;
  ref_sum sum = {0};
  double size = 0;
  for (int64_t k = 0; k < n; k++) {
    double x = real_at(dtype, in->x, row * n + k), w = real_at(dtype, in->weight, output * n + k);
    ref_sum_add_product(&sum, x, w);
    size += fabs(x * w);
  }
  double bias = in->bias ? real_at(dtype, in->bias, output) : 0;
  double residual = in->residual ? real_at(dtype, in->residual, at) : 0;
  double value = activate(c->activation, ref_sum_value(&sum) + bias);
  wanted->values[at].real = value + residual;
  size = 1.13 * (size + fabs(bias)) + 2 * fabs(value) + fabs(residual) + 1;
  bool is_half = check_is_narrow(dtype);
  wanted->magnitudes[at] = is_half ? size * check_roundoff(dtype) / check_roundoff(TSR_F32) : size;
}

// Integers stay small, so that products are exact.
static check_tensor *linear_input(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view) {
  bool is_whole = CHECK_WHOLE_TYPES & CHECK_BIT(dtype);
  return is_whole ? check_indices(run, dtype, shape, view, 0, 3) : check_input(run, dtype, shape, view, CHECK_TAME);
}

void check_linear(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  tsr_dtype computed = check_float(dtype);
  for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
    const linear_case *c = &linears[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    tsr_shape shape = c->x;
    int64_t n = shape.dims[shape.rank - 1];
    shape.dims[shape.rank - 1] = c->outputs;
    linear_inputs in = {.x = linear_input(run, dtype, c->x, c->view),
                        .weight = linear_input(run, dtype, TSR_SHAPE(c->outputs, n), c->view)};
    if (c->has_bias) in.bias = check_input(run, computed, TSR_SHAPE(c->outputs), CHECK_PLAIN, CHECK_TAME);
    if (c->has_residual) in.residual = check_input(run, computed, shape, CHECK_PLAIN, CHECK_TAME);
    check_expected *wanted = check_expect(run, computed, shape);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    wanted->terms = n;
    for (int64_t at = 0; at < wanted->count; at++) linear_element(c, &in, at, wanted);
    tsr_linear_desc desc = {.activation = c->activation, .residual = in.residual ? in.residual->tensor : NULL};
    check_result(run, tsr_linear(in.x->tensor, in.weight->tensor, in.bias ? in.bias->tensor : NULL, &desc), wanted);
  }
}
