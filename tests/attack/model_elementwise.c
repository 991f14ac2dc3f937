// SPDX-License-Identifier: MIT
// The model's element-wise operators.
#include <math.h>

#include "attack/model_ops.h"

uint64_t attack_random(uint64_t *state) {
  uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

uint64_t attack_below(uint64_t *state, uint64_t limit) { return attack_random(state) % limit; }

void model_fill(model_tensor tensor, uint64_t seed) {
  tsr_dtype dtype = model_dtype(tensor);
  bool has_special = attack_below(&seed, 6) == 0, is_wide = attack_below(&seed, 4) == 0;
  static const double special[] = {NAN, INFINITY, -INFINITY, -0.0};
  int64_t count = model_count(tensor.shape);
  for (int64_t i = 0; i < count; i++) {
    model_number *number = model_at(tensor, i);
    int64_t small = (int64_t)attack_below(&seed, 9) - 4;
    if (model_is_float(dtype)) {
      number->real = has_special && attack_below(&seed, 8) == 0 ? special[attack_below(&seed, 4)] : (double)small;
    } else {
      number->whole = model_wrap(dtype, is_wide ? (int64_t)attack_random(&seed) : small);
    }
  }
}

bool model_is_exact(tsr_dtype dtype, double real) {
  return !isfinite(real) || (fabs(real) <= model_exact_limit(dtype) && real == rint(real));
}

bool model_broadcast(const model_tensor *inputs, int count, tsr_shape *out_shape) {
  tsr_shape shape = {.rank = 0};
  for (int k = 0; k < count; k++) {
    if (inputs[k].shape.rank > shape.rank) shape.rank = inputs[k].shape.rank;
  }
  for (int axis = 0; axis < shape.rank; axis++) {
    shape.dims[axis] = 1;
    for (int k = 0; k < count; k++) {
      int at = axis - (shape.rank - inputs[k].shape.rank);
      int64_t size = at < 0 ? 1 : inputs[k].shape.dims[at];
      if (size == 1 || size == shape.dims[axis]) continue;
      if (shape.dims[axis] != 1) return false;
      shape.dims[axis] = size;
    }
  }
  *out_shape = shape;
  return true;
}

bool model_operand(model_tensor input, tsr_shape shape, int64_t i, tsr_dtype dtype, model_number *out) {
  int64_t at[TSR_MAX_RANK], position[TSR_MAX_RANK];
  model_position(shape, i, at);
  int missing = shape.rank - input.shape.rank;
  for (int axis = 0; axis < input.shape.rank; axis++)
    position[axis] = input.shape.dims[axis] == 1 ? 0 : at[axis + missing];
  return model_convert(dtype, out, model_dtype(input), *model_at_position(input, position));
}

// --- Whole numbers ------------------------------------------------------------------------------------------------------

static int64_t wrapping_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrapping_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t wrapping_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static int64_t whole_floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapping_sub(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

static int64_t whole_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t whole_pow(int64_t base, int64_t power) {
  if (power < 0) return base == 1 ? 1 : base == -1 ? (power % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; power > 0; power >>= 1) {
    if (power & 1) result = wrapping_mul(result, base);
    base = wrapping_mul(base, base);
  }
  return result;
}

static int64_t whole_shift(tsr_dtype dtype, int64_t a, int64_t count, bool is_left) {
  int64_t width = 8 * (int64_t)tsr_dtype_bytes(dtype);
  if (count < 0 || count >= width) return !is_left && a < 0 ? -1 : 0;
  return is_left ? (int64_t)((uint64_t)a << count) : a >> count;
}

static int64_t whole_binary(binary_op op, tsr_dtype dtype, int64_t a, int64_t b) {
  switch (op) {
    case BINARY_add:
      return dtype == TSR_BOOL ? a | b : wrapping_add(a, b);
    case BINARY_sub:
      return wrapping_sub(a, b);
    case BINARY_mul:
      return wrapping_mul(a, b);
    case BINARY_minimum:
      return a < b ? a : b;
    case BINARY_maximum:
      return a > b ? a : b;
    case BINARY_floor_div:
      return whole_floor_div(a, b);
    case BINARY_mod:
      return whole_mod(a, b);
    case BINARY_pow:
      return whole_pow(a, b);
    case BINARY_eq:
      return a == b;
    case BINARY_ne:
      return a != b;
    case BINARY_lt:
      return a < b;
    case BINARY_le:
      return a <= b;
    case BINARY_gt:
      return a > b;
    case BINARY_ge:
      return a >= b;
    case BINARY_logical_and:
      return a && b;
    case BINARY_logical_or:
      return a || b;
    case BINARY_logical_xor:
      return !a != !b;
    case BINARY_bitwise_and:
      return a & b;
    case BINARY_bitwise_or:
      return a | b;
    case BINARY_bitwise_xor:
      return a ^ b;
    default:
      return whole_shift(dtype, a, b, op == BINARY_shift_left);
  }
}

static int64_t whole_unary(unary_op op, tsr_dtype dtype, int64_t x) {
  switch (op) {
    case UNARY_neg:
      return wrapping_sub(0, x);
    case UNARY_abs:
      return x < 0 ? wrapping_sub(0, x) : x;
    case UNARY_sign:
      return (x > 0) - (x < 0);
    case UNARY_square:
      return wrapping_mul(x, x);
    case UNARY_relu:
      return x > 0 ? x : 0;
    case UNARY_isfinite:
      return 1;
    case UNARY_isnan:
    case UNARY_isinf:
      return 0;
    case UNARY_logical_not:
      return x == 0;
    case UNARY_bitwise_not:
      return dtype == TSR_BOOL ? !x : ~x;
    default:
      return x;
  }
}

// --- Floats -------------------------------------------------------------------------------------------------------------

static double real_least(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
static double real_most(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }

// Comparisons and logic. False: it is another operator.
static bool real_truth(binary_op op, double a, double b, int64_t *out) {
  switch (op) {
    case BINARY_eq:
      *out = a == b;
      return true;
    case BINARY_ne:
      *out = a != b;
      return true;
    case BINARY_lt:
      *out = a < b;
      return true;
    case BINARY_le:
      *out = a <= b;
      return true;
    case BINARY_gt:
      *out = a > b;
      return true;
    case BINARY_ge:
      *out = a >= b;
      return true;
    case BINARY_logical_and:
      *out = a != 0 && b != 0;
      return true;
    case BINARY_logical_or:
      *out = a != 0 || b != 0;
      return true;
    case BINARY_logical_xor:
      *out = (a != 0) != (b != 0);
      return true;
    default:
      return false;
  }
}

// False: not computed here, because the result may not be an integer, or because the operator does not take floats.
static bool real_binary(binary_op op, double a, double b, double *out) {
  bool is_division = op == BINARY_floor_div || op == BINARY_mod;
  if (is_division && (!isfinite(a) || !isfinite(b) || b == 0)) return false;
  switch (op) {
    case BINARY_add:
      *out = a + b;
      return true;
    case BINARY_sub:
      *out = a - b;
      return true;
    case BINARY_mul:
      *out = a * b;
      return true;
    case BINARY_minimum:
      *out = real_least(a, b);
      return true;
    case BINARY_maximum:
      *out = real_most(a, b);
      return true;
    case BINARY_floor_div:
      *out = floor(a / b);
      return fabs(a) <= 16777216 && fabs(b) <= 16777216;
    case BINARY_mod:
      *out = a - b * floor(a / b);
      return fabs(a) <= 16777216 && fabs(b) <= 16777216;
    default:
      return false;
  }
}

static void real_unary(unary_op op, double x, model_number *out) {
  switch (op) {
    case UNARY_neg:
      out->real = -x;
      return;
    case UNARY_abs:
      out->real = fabs(x);
      return;
    case UNARY_sign:
      out->real = isnan(x) ? x : (double)((x > 0) - (x < 0));
      return;
    case UNARY_square:
      out->real = x * x;
      return;
    case UNARY_relu:
      out->real = isnan(x) ? NAN : x > 0 ? x : 0;
      return;
    case UNARY_isnan:
      out->whole = isnan(x) != 0;
      return;
    case UNARY_isinf:
      out->whole = isinf(x) != 0;
      return;
    case UNARY_isfinite:
      out->whole = isfinite(x) != 0;
      return;
    case UNARY_logical_not:
      out->whole = x == 0;
      return;
    default:  // floor, ceil, round, trunc: all numbers here are integers
      out->real = x;
      return;
  }
}

// --- Families -----------------------------------------------------------------------------------------------------------

static bool is_test(unary_op op) { return op >= UNARY_isnan && op <= UNARY_logical_not; }
static bool is_comparison(binary_op op) { return op >= BINARY_eq && op <= BINARY_logical_xor; }

static bool takes_dtypes(binary_op op, tsr_dtype a, tsr_dtype b) {
  tsr_dtype both = model_promote(a, b);
  bool is_float = model_is_float(both);
  if (op == BINARY_shift_left || op == BINARY_shift_right) return !is_float && a != TSR_BOOL && b != TSR_BOOL;
  if (op >= BINARY_bitwise_and) return !is_float;
  if (op == BINARY_pow) return !is_float && both != TSR_BOOL;
  if (op == BINARY_sub || op == BINARY_floor_div || op == BINARY_mod) return both != TSR_BOOL;
  return true;
}

// a and b have `dtype`; the result has that dtype or bool.
static bool binary_number(binary_op op, tsr_dtype dtype, model_number a, model_number b, model_number *out) {
  if (!model_is_float(dtype)) {
    out->whole = whole_binary(op, dtype, a.whole, b.whole);
    if (!is_comparison(op)) out->whole = model_wrap(dtype, out->whole);
    return true;
  }
  if (real_truth(op, a.real, b.real, &out->whole)) return true;
  if (!real_binary(op, a.real, b.real, &out->real)) return false;
  bool is_choice = op == BINARY_minimum || op == BINARY_maximum;
  return is_choice || model_is_exact(dtype, out->real);
}

static bool compute_unary(const step *s, const model_tensor *inputs, model_tensor *out) {
  unary_op op = (unary_op)s->op;
  tsr_dtype dtype = model_dtype(inputs[0]);
  if (dtype == TSR_BOOL && !is_test(op) && op != UNARY_bitwise_not) return false;
  if (model_is_float(dtype) && op == UNARY_bitwise_not) return false;
  *out = model_create(is_test(op) ? TSR_BOOL : dtype, inputs[0].shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    model_number x = *model_at(inputs[0], i), *result = &out->storage->numbers[i];
    if (!model_is_float(dtype)) {
      result->whole = whole_unary(op, dtype, x.whole);
      if (!is_test(op)) result->whole = model_wrap(dtype, result->whole);
    } else {
      real_unary(op, x.real, result);
      if (op == UNARY_square && !model_is_exact(dtype, result->real)) return false;
    }
  }
  return true;
}

static bool compute_binary(const step *s, const model_tensor *inputs, model_tensor *out) {
  tsr_shape shape;
  binary_op op = (binary_op)s->op;
  if (!takes_dtypes(op, model_dtype(inputs[0]), model_dtype(inputs[1])) || !model_broadcast(inputs, 2, &shape))
    return false;
  tsr_dtype dtype = model_promote(model_dtype(inputs[0]), model_dtype(inputs[1]));
  *out = model_create(is_comparison(op) ? TSR_BOOL : dtype, shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    model_number a, b;
    if (!model_operand(inputs[0], shape, i, dtype, &a) || !model_operand(inputs[1], shape, i, dtype, &b)) return false;
    if (!binary_number(op, dtype, a, b, &out->storage->numbers[i])) return false;
  }
  return true;
}

static const binary_op scalar_as_binary[] = {BINARY_add,     BINARY_sub,       BINARY_sub, BINARY_mul, BINARY_minimum,
                                             BINARY_maximum, BINARY_floor_div, BINARY_mod, BINARY_eq,  BINARY_ne,
                                             BINARY_lt,      BINARY_le,        BINARY_gt,  BINARY_ge};

static bool compute_scalar(const step *s, const model_tensor *inputs, model_tensor *out) {
  binary_op op = scalar_as_binary[s->op];
  tsr_dtype dtype = model_dtype(inputs[0]) == TSR_BOOL ? TSR_I32 : model_dtype(inputs[0]);
  model_number c = {.whole = 0};
  if (model_is_float(dtype)) c.real = s->real;
  else c.whole = (int64_t)s->real;
  *out = model_create(is_comparison(op) ? TSR_BOOL : dtype, inputs[0].shape);
  if (!model_is_float(dtype) && model_wrap(dtype, c.whole) != c.whole) return false;
  for (int64_t i = 0; i < out->storage->count; i++) {
    model_number x;
    if (!model_convert(dtype, &x, model_dtype(inputs[0]), *model_at(inputs[0], i))) return false;
    bool is_reversed = s->op == SCALAR_rsub;
    if (!binary_number(op, dtype, is_reversed ? c : x, is_reversed ? x : c, &out->storage->numbers[i])) return false;
  }
  return true;
}

static bool compute_where(const model_tensor *inputs, model_tensor *out) {
  tsr_shape shape;
  if (!model_broadcast(inputs, 3, &shape)) return false;
  tsr_dtype dtype = model_promote(model_dtype(inputs[1]), model_dtype(inputs[2]));
  *out = model_create(dtype, shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    model_number truth, a, b;
    model_operand(inputs[0], shape, i, TSR_BOOL, &truth);
    if (!model_operand(inputs[1], shape, i, dtype, &a) || !model_operand(inputs[2], shape, i, dtype, &b)) return false;
    out->storage->numbers[i] = truth.whole ? a : b;
  }
  return true;
}

static bool compute_fma(const model_tensor *inputs, model_tensor *out) {
  tsr_shape shape;
  tsr_dtype dtype =
      model_promote(model_promote(model_dtype(inputs[0]), model_dtype(inputs[1])), model_dtype(inputs[2]));
  if (dtype == TSR_BOOL || !model_broadcast(inputs, 3, &shape)) return false;
  *out = model_create(dtype, shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    model_number n[3], product;
    for (int k = 0; k < 3; k++) {
      if (!model_operand(inputs[k], shape, i, dtype, &n[k])) return false;
    }
    if (!binary_number(BINARY_mul, dtype, n[0], n[1], &product)) return false;
    if (!binary_number(BINARY_add, dtype, product, n[2], &out->storage->numbers[i])) return false;
  }
  return true;
}

static bool compute_clamp(const step *s, const model_tensor *inputs, model_tensor *out) {
  tsr_dtype dtype = model_dtype(inputs[0]);
  if (dtype == TSR_BOOL) return false;
  *out = model_create(dtype, inputs[0].shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    model_number x = *model_at(inputs[0], i), *result = &out->storage->numbers[i];
    *result = x;
    if (model_is_float(dtype)) {
      if (!isnan(x.real)) result->real = fmin(fmax(x.real, s->real), s->real2);
    } else {
      if (s->real > -INFINITY && result->whole < (int64_t)s->real) result->whole = (int64_t)s->real;
      if (s->real2 < INFINITY && result->whole > (int64_t)s->real2) result->whole = (int64_t)s->real2;
      if (model_wrap(dtype, result->whole) != result->whole) return false;
    }
  }
  return true;
}

static bool compute_cast(const step *s, const model_tensor *inputs, model_tensor *out) {
  *out = model_create(s->dtype, inputs[0].shape);
  for (int64_t i = 0; i < out->storage->count; i++) {
    if (!model_convert(s->dtype, &out->storage->numbers[i], model_dtype(inputs[0]), *model_at(inputs[0], i)))
      return false;
  }
  return true;
}

bool model_compute_elementwise(const step *s, const model_tensor *inputs, model_tensor *out) {
  switch (s->kind) {
    case STEP_unary:
      return compute_unary(s, inputs, out);
    case STEP_binary:
      return compute_binary(s, inputs, out);
    case STEP_scalar:
      return compute_scalar(s, inputs, out);
    case STEP_where:
      return compute_where(inputs, out);
    case STEP_fma:
      return compute_fma(inputs, out);
    case STEP_clamp:
      return compute_clamp(s, inputs, out);
    default:
      return compute_cast(s, inputs, out);
  }
}
