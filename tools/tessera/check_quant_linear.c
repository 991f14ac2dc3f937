// SPDX-License-Identifier: MIT
// Linear quantisation (integers with scales and zero points): reference and cases. Scales are powers of two, or quotients are far from the middle between two
// integers, so that no result depends on how a device rounds a quotient.
#include <math.h>

#include "check.h"
#include "check_reference.h"

static bool is_byte(tsr_dtype dtype) { return dtype == TSR_I8 || dtype == TSR_U8; }

// These operators are composed of others that have cases for each dtype, so --quick tries few of them for dtypes other than f32, i8 and u8.
static check_weight weight_of(tsr_dtype dtype, check_weight weight) {
  return dtype == TSR_F32 || is_byte(dtype) ? weight : CHECK_HEAVY;
}

static check_value whole(int64_t value) { return (check_value){.whole = value}; }

static double as_real(tsr_dtype dtype, check_value value) {
  return check_is_float(dtype) ? value.real : (double)value.whole;
}

// --- Scales -----------------------------------------------------------------------------------------------------------

typedef struct linear_case {
  const char *name;
  check_weight weight;
  tsr_shape x, scale;
  int axis;
  tsr_dtype to;
  bool has_zero;
  check_view view;
} linear_case;

static const linear_case linears[] = {
    {"number", CHECK_ALWAYS, {2, {5, 7}}, {0}, 0, TSR_U8, true, CHECK_PLAIN},
    {"list-of-one", CHECK_OFTEN, {1, {9}}, {1, {1}}, 5, TSR_I8, true, CHECK_REVERSED},
    {"rows", CHECK_OFTEN, {2, {5, 7}}, {1, {5}}, 0, TSR_I8, true, CHECK_PLAIN},
    {"channels", CHECK_OFTEN, {3, {2, 5, 3}}, {1, {5}}, 1, TSR_U8, true, CHECK_TRANSPOSED},
    {"no-zero", CHECK_OFTEN, {2, {3, 4}}, {1, {4}}, -1, TSR_I16, false, CHECK_SLICED},
    {"blocks", CHECK_OFTEN, {2, {3, 12}}, {2, {3, 4}}, 1, TSR_U8, true, CHECK_PLAIN},
    {"blocks-of-rows", CHECK_OFTEN, {3, {6, 2, 3}}, {3, {2, 2, 3}}, 0, TSR_I8, false, CHECK_PLAIN},
    {"many", CHECK_HEAVY, {3, {3, 67, 31}}, {1, {67}}, 1, TSR_U16, true, CHECK_PERMUTED},
    {"empty", CHECK_OFTEN, {2, {0, 4}}, {1, {4}}, 1, TSR_U8, true, CHECK_PLAIN},
};
enum { LINEARS = sizeof linears / sizeof linears[0] };

// The element of the scale that belongs to element `at` of x.
static int64_t scale_at(const linear_case *c, int64_t at) {
  int64_t index[TSR_MAX_RANK];
  int axis = c->axis < 0 ? c->axis + c->x.rank : c->axis;
  if (c->scale.rank == 0 || check_count(c->scale) == 1) return 0;
  check_unravel(c->x, at, index);
  if (c->scale.rank == 1) return index[axis];
  index[axis] /= c->x.dims[axis] / c->scale.dims[axis];
  return check_ravel(c->scale, index);
}

static check_tensor *scales(check_run *run, tsr_dtype dtype, tsr_shape shape) {
  int64_t count = check_count(shape);
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i].real = ldexp(1, (int)check_random(run, 6) - 4);
  return check_input_of(run, dtype, shape, CHECK_PLAIN, values);
}

static check_tensor *zero_points(check_run *run, tsr_dtype dtype, tsr_shape shape) {
  return check_indices(run, dtype, shape, CHECK_PLAIN, check_least(dtype) < 0 ? -9 : 0, 100);
}

// --- quantize_linear, dequantize_linear -------------------------------------------------------------------------------

static void run_quantize(check_run *run, tsr_dtype dtype, const linear_case *c) {
  check_tensor *x = check_input(run, dtype, c->x, c->view, CHECK_MODERATE), *scale = scales(run, TSR_F32, c->scale);
  check_tensor *zero = c->has_zero ? zero_points(run, c->to, c->scale) : NULL;
  check_expected *wanted = check_expect(run, c->to, c->x);
  for (int64_t i = 0; i < wanted->count; i++) {
    int64_t s = scale_at(c, i);
    double steps = nearbyint(as_real(dtype, x->values[i]) / scale->values[s].real);
    double number = steps + (zero ? (double)zero->values[s].whole : 0);
    wanted->values[i].whole =
        isnan(number) ? 0 : (int64_t)fmin(fmax(number, (double)check_least(c->to)), (double)check_most(c->to));
  }
  check_result(run, tsr_quantize_linear(x->tensor, scale->tensor, zero ? zero->tensor : NULL, c->axis, c->to), wanted);
}

// Numbers up to 0.4 of a step off the grid, with a scale that is no power of two.
static void run_off_grid(check_run *run) {
  check_value values[64], scale = {.real = check_round(TSR_F32, 0.0371)};
  check_expected *wanted = check_expect(run, TSR_I8, TSR_SHAPE(64));
  for (int i = 0; i < 64; i++) {
    int64_t q = (int64_t)check_random(run, 300) - 150;
    values[i].real = check_round(TSR_F32, ((double)q + (double)check_random(run, 80) / 100 - 0.4) * scale.real);
    wanted->values[i].whole = q < -128 ? -128 : q > 127 ? 127 : q;
  }
  check_tensor *x = check_input_of(run, TSR_F32, TSR_SHAPE(64), CHECK_PLAIN, values);
  check_tensor *one = check_input_of(run, TSR_F32, TSR_SCALAR, CHECK_PLAIN, &scale);
  check_result(run, tsr_quantize_linear(x->tensor, one->tensor, NULL, 0, TSR_I8), wanted);
}

void check_quantize_linear(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < LINEARS; i++) {
    if (check_begin(run, weight_of(dtype, linears[i].weight), "%s", linears[i].name))
      run_quantize(run, dtype, &linears[i]);
  }
  if (dtype == TSR_F32 && check_begin(run, CHECK_ALWAYS, "off-grid")) run_off_grid(run);
  if (check_begin(run, CHECK_OFTEN, "scale-that-does-not-fit")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(3, 4), CHECK_PLAIN, CHECK_TAME);
    check_tensor *scale = scales(run, TSR_F32, TSR_SHAPE(3));
    check_refused(run, tsr_quantize_linear(x->tensor, scale->tensor, NULL, 1, TSR_U8), TSR_ERR_SHAPE);
  }
}

static void run_dequantize(check_run *run, tsr_dtype dtype, tsr_dtype to, const linear_case *c) {
  check_tensor *x = check_input(run, dtype, c->x, c->view, CHECK_MODERATE), *scale = scales(run, to, c->scale);
  check_tensor *zero = c->has_zero ? zero_points(run, is_byte(dtype) ? dtype : TSR_I16, c->scale) : NULL;
  check_expected *wanted = check_expect(run, to, c->x);
  for (int64_t i = 0; i < wanted->count; i++) {
    int64_t s = scale_at(c, i), steps = x->values[i].whole - (zero ? zero->values[s].whole : 0);
    bool is_wide = tsr_dtype_bytes(dtype) == 8 || dtype == TSR_U32;
    tsr_dtype computed = is_wide ? dtype : TSR_I32;
    check_value difference = {.whole = check_wrap(computed, steps)};
    wanted->values[i].real = check_convert(TSR_F64, computed, difference).real * scale->values[s].real;
  }
  check_result(run, tsr_dequantize_linear(x->tensor, scale->tensor, zero ? zero->tensor : NULL, c->axis), wanted);
}

void check_dequantize_linear(check_run *run, const check_op *op, tsr_dtype dtype) {
  bool is_taken = op->dtypes & CHECK_BIT(dtype);
  static const tsr_dtype floats[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64};
  for (int i = 0; i < LINEARS && is_taken; i++) {
    tsr_dtype to = floats[i % 4];
    if (check_begin(run, weight_of(dtype, linears[i].weight), "%s-%s", linears[i].name, tsr_dtype_name(to)))
      run_dequantize(run, dtype, to, &linears[i]);
  }
  if (!is_taken && check_begin(run, CHECK_OFTEN, "refused")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_TAME);
    check_tensor *scale = scales(run, TSR_F32, TSR_SCALAR);
    check_refused(run, tsr_dequantize_linear(x->tensor, scale->tensor, NULL, 0), TSR_ERR_DTYPE);
  }
}

// --- dynamic_quantize_linear ------------------------------------------------------------------------------------------

// Integers whose least and greatest make the scale 1; for bool the scale is 1 / 255.
static void run_dynamic(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view) {
  int64_t count = check_count(shape), step = dtype == TSR_BOOL ? 255 : 1;
  bool is_signed = check_is_float(dtype) || check_least(dtype) < 0;
  int64_t least = !is_signed ? 0 : dtype == TSR_I8 ? -128 : -100;
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    int64_t number = least + (i == 1   ? 0
                              : i == 2 ? 255 / step
                                       : (int64_t)check_random(run, (uint64_t)(255 / step) + 1));
    if (check_is_float(dtype)) values[i].real = (double)number;
    else values[i].whole = number;
  }
  check_tensor *x = check_input_of(run, dtype, shape, view, values);
  check_expected *y = check_expect(run, TSR_U8, shape), *scale = check_expect(run, TSR_F32, TSR_SCALAR);
  check_expected *zero = check_expect(run, TSR_U8, TSR_SCALAR);
  for (int64_t i = 0; i < count; i++) y->values[i].whole = ((int64_t)as_real(dtype, values[i]) - least) * step;
  scale->values[0].real = 1 / (double)step;
  zero->values[0].whole = -least;
  tsr_tensor *results[3];
  tsr_status status = tsr_dynamic_quantize_linear(x->tensor, &results[0], &results[1], &results[2]);
  if (status != TSR_OK) {
    check_call_failed(run, status);
    return;
  }
  check_part_result(run, results[0], y);
  check_part_result(run, results[1], scale);
  check_result(run, results[2], zero);
}

// f8 holds too few whole numbers for these cases, whose scales are exact.
static bool is_f8(tsr_dtype dtype) { return check_is_float(dtype) && tsr_dtype_bytes(dtype) == 1; }

void check_dynamic_quantize_linear(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  if (is_f8(dtype)) return;
  if (check_begin(run, weight_of(dtype, CHECK_ALWAYS), "odd")) run_dynamic(run, dtype, TSR_SHAPE(3, 11), CHECK_PLAIN);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "transposed"))
    run_dynamic(run, dtype, TSR_SHAPE(5, 7), CHECK_TRANSPOSED);
  if (check_begin(run, CHECK_HEAVY, "many")) run_dynamic(run, dtype, TSR_SHAPE(101, 67), CHECK_PLAIN);
}

// --- Channels ---------------------------------------------------------------------------------------------------------

// Each channel has whole numbers up to 127 times a power of two (floats), so that its scale is that power; bool has 1 / 127.
static void run_channels(check_run *run, tsr_dtype dtype, tsr_shape shape, int axis, check_view view) {
  int64_t count = check_count(shape), index[TSR_MAX_RANK], step = dtype == TSR_BOOL ? 127 : 1;
  bool is_float = check_is_float(dtype), is_signed = is_float || check_least(dtype) < 0;
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  check_expected *wanted = check_expect(run, TSR_I8, shape),
                 *scale = check_expect(run, TSR_F32, TSR_SHAPE(shape.dims[axis]));
  for (int64_t i = 0; i < count; i++) {
    check_unravel(shape, i, index);
    int64_t channel = index[axis], number = (int64_t)check_random(run, (uint64_t)(127 / step) + 1);
    index[axis] = 0;
    if (check_ravel(shape, index) == 0) number = 127 / step;  // the first element of the channel
    if (is_signed && check_random(run, 2)) number = -number;
    double unit = is_float ? ldexp(1, (int)channel % 5 - 2) : 1;
    wanted->values[i].whole = number * step;
    scale->values[channel].real = unit / (double)step;
    if (is_float) values[i].real = (double)number * unit;
    else values[i] = whole(number);
  }
  check_tensor *x = check_input_of(run, dtype, shape, view, values);
  tsr_tensor *results[2];
  tsr_status status = tsr_quantize_channels(x->tensor, axis, &results[0], &results[1]);
  if (status != TSR_OK) {
    check_call_failed(run, status);
    return;
  }
  check_part_result(run, results[0], wanted);
  check_result(run, results[1], scale);
}

void check_quantize_channels(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  if (is_f8(dtype)) return;
  if (check_begin(run, weight_of(dtype, CHECK_ALWAYS), "rows"))
    run_channels(run, dtype, TSR_SHAPE(5, 13), 0, CHECK_PLAIN);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "columns"))
    run_channels(run, dtype, TSR_SHAPE(5, 13), 1, CHECK_TRANSPOSED);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "middle"))
    run_channels(run, dtype, TSR_SHAPE(3, 4, 5), 1, CHECK_PLAIN);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "list"))
    run_channels(run, dtype, TSR_SHAPE(7), 0, CHECK_REVERSED);
}

static void run_scaled(check_run *run, tsr_dtype dtype, tsr_shape rows, int64_t n, int64_t k, check_view view) {
  tsr_shape shape = rows, out = rows;
  shape.dims[shape.rank++] = k;
  out.dims[out.rank++] = n;
  check_tensor *x = check_input(run, dtype, shape, view, CHECK_TAME);
  check_tensor *w = check_input(run, TSR_I8, TSR_SHAPE(n, k), view, CHECK_ANY);
  check_tensor *scale = check_input(run, TSR_F32, TSR_SHAPE(n), CHECK_PLAIN, CHECK_TAME);
  check_expected *wanted = check_expect(run, check_float(dtype), out);
  wanted->terms = k + 1;
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count + 1, sizeof(double));
  for (int64_t i = 0; i < wanted->count; i++) {
    ref_sum sum = {0};
    for (int64_t j = 0; j < k; j++) {
      double a = check_convert(wanted->dtype, dtype, x->values[i / n * k + j]).real;
      double b = (double)w->values[i % n * k + j].whole;
      ref_sum_add_product(&sum, a, b);
      wanted->magnitudes[i] += fabs(a * b * scale->values[i % n].real);
    }
    wanted->values[i].real = ref_sum_value(&sum) * scale->values[i % n].real;
  }
  check_result(run, tsr_matmul_channels(x->tensor, w->tensor, scale->tensor), wanted);
}

void check_matmul_channels(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  if (check_begin(run, weight_of(dtype, CHECK_ALWAYS), "vector"))
    run_scaled(run, dtype, TSR_SCALAR, 7, 40, CHECK_PLAIN);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "odd")) run_scaled(run, dtype, TSR_SHAPE(3), 5, 13, CHECK_PLAIN);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "views"))
    run_scaled(run, dtype, TSR_SHAPE(3), 5, 16, CHECK_TRANSPOSED);
  if (check_begin(run, weight_of(dtype, CHECK_OFTEN), "offset"))
    run_scaled(run, dtype, TSR_SHAPE(3), 5, 24, CHECK_OFFSET);
  if (check_begin(run, CHECK_HEAVY, "tiles")) run_scaled(run, dtype, TSR_SHAPE(2, 35), 66, 72, CHECK_PLAIN);
  if (check_begin(run, CHECK_OFTEN, "no-elements")) run_scaled(run, dtype, TSR_SHAPE(2), 3, 0, CHECK_PLAIN);
  if (check_begin(run, CHECK_OFTEN, "other-length")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 8), CHECK_PLAIN, CHECK_TAME);
    check_tensor *w = check_input(run, TSR_I8, TSR_SHAPE(3, 9), CHECK_PLAIN, CHECK_ANY);
    check_tensor *scale = check_input(run, TSR_F32, TSR_SHAPE(3), CHECK_PLAIN, CHECK_TAME);
    check_refused(run, tsr_matmul_channels(x->tensor, w->tensor, scale->tensor), TSR_ERR_SHAPE);
  }
}

// --- matmul_integer, qlinear_matmul -----------------------------------------------------------------------------------

typedef struct integer_case {
  const char *name;
  check_weight weight;
  tsr_shape a, b;
  int64_t a_zeros, b_zeros;  // 0: none, 1: one number, else so many
  check_view view;
  bool is_mixed;  // b has the other dtype
} integer_case;

static const integer_case integers[] = {
    {"odd", CHECK_ALWAYS, {2, {5, 13}}, {2, {13, 7}}, 1, 1, CHECK_PLAIN, false},
    {"mixed", CHECK_ALWAYS, {2, {5, 13}}, {2, {13, 7}}, 5, 7, CHECK_PLAIN, true},
    {"no-zeros", CHECK_OFTEN, {2, {3, 4}}, {2, {4, 9}}, 0, 0, CHECK_TRANSPOSED, false},
    {"one-zero", CHECK_OFTEN, {2, {3, 4}}, {2, {4, 9}}, 0, 9, CHECK_SLICED, true},
    {"batch", CHECK_OFTEN, {4, {2, 1, 3, 5}}, {3, {3, 5, 2}}, 3, 1, CHECK_PLAIN, false},
    {"reversed", CHECK_OFTEN, {3, {2, 3, 5}}, {2, {5, 4}}, 1, 0, CHECK_REVERSED, true},
    {"tiles", CHECK_HEAVY, {2, {65, 67}}, {2, {67, 130}}, 65, 130, CHECK_PLAIN, false},
    {"units", CHECK_HEAVY, {2, {68, 64}}, {2, {64, 72}}, 0, 0, CHECK_PLAIN, false},
    {"units-turned", CHECK_HEAVY, {3, {2, 64, 72}}, {2, {72, 68}}, 0, 0, CHECK_TRANSPOSED, false},
    {"long", CHECK_HEAVY, {2, {1, 4099}}, {2, {4099, 3}}, 1, 3, CHECK_TRANSPOSED, false},
    {"no-rows", CHECK_OFTEN, {2, {0, 4}}, {2, {4, 3}}, 1, 0, CHECK_PLAIN, false},
    {"no-inner", CHECK_OFTEN, {2, {2, 0}}, {2, {0, 3}}, 1, 1, CHECK_PLAIN, false},
};
enum { INTEGERS = sizeof integers / sizeof integers[0] };

typedef struct factors {
  check_tensor *a, *b, *a_zero, *b_zero;
  tsr_shape shape;  // of the product
} factors;

static check_tensor *zeros_of(check_run *run, tsr_dtype dtype, int64_t count) {
  return count == 0 ? NULL : zero_points(run, dtype, count == 1 ? TSR_SCALAR : TSR_SHAPE(count));
}

static factors make_factors(check_run *run, tsr_dtype dtype, const integer_case *c) {
  tsr_dtype other = !c->is_mixed ? dtype : dtype == TSR_I8 ? TSR_U8 : TSR_I8;
  factors f = {.a = check_input(run, dtype, c->a, c->view, CHECK_ANY),
               .b = check_input(run, other, c->b, c->view, CHECK_ANY)};
  f.a_zero = zeros_of(run, dtype, c->a_zeros);
  f.b_zero = zeros_of(run, other, c->b_zeros);
  tsr_shape a = c->a, b = c->b;
  a.rank -= 2;
  b.rank -= 2;
  f.shape = check_broadcast(a, b);
  f.shape.dims[f.shape.rank++] = c->a.dims[a.rank];
  f.shape.dims[f.shape.rank++] = c->b.dims[b.rank + 1];
  return f;
}

static int64_t zero_at(const check_tensor *zeros, int64_t i) {
  return !zeros ? 0 : zeros->values[zeros->count == 1 ? 0 : i].whole;
}

static int64_t matrix_at(tsr_shape matrix, tsr_shape result, const int64_t *index, int64_t row, int64_t col) {
  tsr_shape batch = matrix, out = result;
  batch.rank -= 2;
  out.rank -= 2;
  int64_t at = batch.rank > 0 ? check_broadcast_at(batch, out.rank, index) : 0;
  return (at * matrix.dims[matrix.rank - 2] + row) * matrix.dims[matrix.rank - 1] + col;
}

// Element `at` of the product, as i64, before it is wrapped to the result's dtype.
static int64_t product_at(const factors *f, int64_t at) {
  int64_t index[TSR_MAX_RANK], sum = 0;
  check_unravel(f->shape, at, index);
  int64_t row = index[f->shape.rank - 2], col = index[f->shape.rank - 1];
  for (int64_t k = 0; k < f->a->shape.dims[f->a->shape.rank - 1]; k++) {
    int64_t x = f->a->values[matrix_at(f->a->shape, f->shape, index, row, k)].whole - zero_at(f->a_zero, row);
    int64_t y = f->b->values[matrix_at(f->b->shape, f->shape, index, k, col)].whole - zero_at(f->b_zero, col);
    sum += x * y;
  }
  return sum;
}

static tsr_tensor *tensor_of(const check_tensor *x) { return x ? x->tensor : NULL; }

static void run_integer(check_run *run, tsr_dtype dtype, const integer_case *c) {
  factors f = make_factors(run, dtype, c);
  check_expected *wanted = check_expect(run, TSR_I32, f.shape);
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].whole = check_wrap(TSR_I32, product_at(&f, i));
  check_result(run, tsr_matmul_integer(f.a->tensor, f.b->tensor, tensor_of(f.a_zero), tensor_of(f.b_zero)), wanted);
}

void check_matmul_integer(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < INTEGERS && is_byte(dtype); i++) {
    if (check_begin(run, integers[i].weight, "%s", integers[i].name)) run_integer(run, dtype, &integers[i]);
  }
  if (!is_byte(dtype) && check_begin(run, CHECK_OFTEN, "refused")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 2), CHECK_PLAIN, CHECK_TAME);
    check_refused(run, tsr_matmul_integer(x->tensor, x->tensor, NULL, NULL), TSR_ERR_DTYPE);
  }
}

// Scales are powers of two, and sums are below 2^24, so that all but the last rounding is exact.
static void run_qlinear(check_run *run, tsr_dtype dtype, const integer_case *c) {
  factors f = make_factors(run, dtype, c);
  int64_t m = f.shape.dims[f.shape.rank - 2], n = f.shape.dims[f.shape.rank - 1];
  check_tensor *a_scale = scales(run, TSR_F32, c->a_zeros > 1 ? TSR_SHAPE(m) : TSR_SCALAR);
  check_tensor *b_scale = scales(run, TSR_F32, c->b_zeros > 1 ? TSR_SHAPE(n) : TSR_SCALAR);
  check_value unit = {.real = 64};
  check_tensor *y_scale = check_input_of(run, TSR_F32, TSR_SCALAR, CHECK_PLAIN, &unit);
  check_tensor *y_zero = zero_points(run, dtype, TSR_SCALAR);
  check_expected *wanted = check_expect(run, dtype, f.shape);
  for (int64_t i = 0; i < wanted->count; i++) {
    double left = a_scale->values[a_scale->count == 1 ? 0 : i / n % m].real;
    double right = b_scale->values[b_scale->count == 1 ? 0 : i % n].real;
    double number = nearbyint((double)product_at(&f, i) * left * right / unit.real) + (double)y_zero->values[0].whole;
    wanted->values[i].whole = (int64_t)fmin(fmax(number, (double)check_least(dtype)), (double)check_most(dtype));
  }
  check_result(run,
               tsr_qlinear_matmul(f.a->tensor, a_scale->tensor, tensor_of(f.a_zero), f.b->tensor, b_scale->tensor,
                                  tensor_of(f.b_zero), y_scale->tensor, y_zero->tensor),
               wanted);
}

void check_qlinear_matmul(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < INTEGERS && is_byte(dtype); i++) {
    if (integers[i].a.dims[integers[i].a.rank - 1] > 100) continue;
    if (check_begin(run, integers[i].weight, "%s", integers[i].name)) run_qlinear(run, dtype, &integers[i]);
  }
  if (!is_byte(dtype) && check_begin(run, CHECK_OFTEN, "refused")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 2), CHECK_PLAIN, CHECK_TAME),
                 *scale = scales(run, TSR_F32, TSR_SCALAR);
    check_refused(
        run,
        tsr_qlinear_matmul(x->tensor, scale->tensor, NULL, x->tensor, scale->tensor, NULL, scale->tensor, x->tensor),
        TSR_ERR_DTYPE);
  }
}

// --- conv_integer -----------------------------------------------------------------------------------------------------

// Two spatial axes, stride, padding before and after, groups.
typedef struct conv_case {
  const char *name;
  tsr_shape x, w;
  int64_t x_zeros, w_zeros;
  tsr_conv_desc desc;
} conv_case;

static const conv_case convs[] = {
    {"plain", {4, {1, 2, 5, 6}}, {4, {3, 2, 3, 2}}, 1, 1, {.stride = {1, 1}, .groups = 1}},
    {"padded",
     {4, {2, 2, 4, 5}},
     {4, {3, 2, 3, 3}},
     1,
     3,
     {.stride = {2, 1}, .before = {1, 2}, .after = {1, 0}, .groups = 1}},
    {"groups", {4, {1, 4, 3, 3}}, {4, {2, 2, 2, 2}}, 0, 2, {.stride = {1, 1}, .before = {1, 0}, .groups = 2}},
};

static int64_t conv_at(const conv_case *c, const check_tensor *x, const check_tensor *w, int64_t x_zero,
                       const check_tensor *w_zero, const int64_t *at) {
  int64_t sum = 0, channels = c->w.dims[1], first = at[1] / (c->w.dims[0] / c->desc.groups) * channels;
  for (int64_t k = 0; k < channels * c->w.dims[2] * c->w.dims[3]; k++) {
    int64_t channel = k / (c->w.dims[2] * c->w.dims[3]), i = k / c->w.dims[3] % c->w.dims[2], j = k % c->w.dims[3];
    int64_t row = at[2] * c->desc.stride[0] + i - c->desc.before[0],
            col = at[3] * c->desc.stride[1] + j - c->desc.before[1];
    if (row < 0 || col < 0 || row >= c->x.dims[2] || col >= c->x.dims[3]) continue;
    int64_t a = x->values[check_ravel(c->x, (int64_t[]){at[0], first + channel, row, col})].whole - x_zero;
    int64_t b = w->values[check_ravel(c->w, (int64_t[]){at[1], channel, i, j})].whole - zero_at(w_zero, at[1]);
    sum += a * b;
  }
  return sum;
}

static void run_conv(check_run *run, tsr_dtype dtype, const conv_case *c) {
  check_tensor *x = check_input(run, dtype, c->x, CHECK_PLAIN, CHECK_ANY),
               *w = check_input(run, TSR_I8, c->w, CHECK_PLAIN, CHECK_ANY);
  check_tensor *x_zero = zeros_of(run, dtype, c->x_zeros), *w_zero = zeros_of(run, TSR_I8, c->w_zeros);
  tsr_shape shape = TSR_SHAPE(c->x.dims[0], c->w.dims[0], 0, 0);
  for (int i = 0; i < 2; i++) {
    shape.dims[2 + i] =
        (c->x.dims[2 + i] + c->desc.before[i] + c->desc.after[i] - c->w.dims[2 + i]) / c->desc.stride[i] + 1;
  }
  check_expected *wanted = check_expect(run, TSR_I32, shape);
  for (int64_t i = 0; i < wanted->count; i++) {
    int64_t at[TSR_MAX_RANK];
    check_unravel(shape, i, at);
    wanted->values[i].whole = conv_at(c, x, w, zero_at(x_zero, 0), w_zero, at);
  }
  check_result(run, tsr_conv_integer(x->tensor, w->tensor, tensor_of(x_zero), tensor_of(w_zero), &c->desc), wanted);
}

void check_conv_integer(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof convs / sizeof convs[0] && is_byte(dtype); i++) {
    if (check_begin(run, i == 1 ? CHECK_ALWAYS : CHECK_OFTEN, "%s", convs[i].name)) run_conv(run, dtype, &convs[i]);
  }
  if (!is_byte(dtype) && check_begin(run, CHECK_OFTEN, "refused")) {
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(1, 1, 2), CHECK_PLAIN, CHECK_TAME);
    check_refused(run, tsr_conv_integer(x->tensor, x->tensor, NULL, NULL, NULL), TSR_ERR_DTYPE);
  }
}
