// SPDX-License-Identifier: MIT
#include "ops/elementwise.h"

#include "core/alloc.h"
#include "graph/embedded.h"
#include "lang/lang.h"
#include "ops/ops_testing.h"

// --- The table ------------------------------------------------------------------------------------------------------

static const char *const value_types[][4] = {{"f32", "f64"}, {"i32", "u32", "i64"}, {"bool"}};

// The expression with its placeholders replaced, as the graph does it.
static void put_expression(const tsri_operator *row, const char *expression, const char *type, char *out, size_t room) {
  size_t used = 0;
  for (const char *at = expression; *at && used + 8 < room; at++) {
    bool is_alone =
        at == expression || !((at[-1] >= 'a' && at[-1] <= 'z') || (at[-1] >= 'A' && at[-1] <= 'Z') || at[-1] == '_');
    if (*at == '$') used += (size_t)snprintf(out + used, room - used, "a%c", *++at);
    else if (*at == '#') used += (size_t)snprintf(out + used, room - used, "s%c", *++at);
    else if (*at == 'T' && at[1] == '(' && is_alone) used += (size_t)snprintf(out + used, room - used, "%s", type);
    else out[used++] = *at;
  }
  out[used] = 0;
  (void)row;
}

static void check_row(const tsri_operator *row, const tsri_op *op, const char *type) {
  char expression[512], text[8192];
  const char *helper = op->helper ? tsri_embedded_text(op->helper, NULL) : "";
  CHECK(helper != NULL);
  put_expression(row, op->expression, type, expression, sizeof expression);
  const char *result = row->rule == TSRI_DTYPE_RULE_COMPARE || row->rule == TSRI_DTYPE_RULE_TRUTH ? "bool" : type;
  const char *first = row->rule == TSRI_DTYPE_RULE_WHERE ? "bool" : type;
  snprintf(text, sizeof text,
           "%s\nkernel k(in %s x0[], in %s x1[], in %s x2[], out %s y[], %s s0, %s s1, %s s2) {\n"
           "%s a0 = x0[0]; %s a1 = x1[0]; %s a2 = x2[0];\ny[0] = %s;\n}\n",
           helper, first, type, type, result, type, type, type, first, type, type, expression);
  tsri_module *module = NULL;
  CHECK_OK(tsri_lang_parse(row->name, text, strlen(text), NULL, &module));
  tsri_kernel *kernel = NULL;
  char *log = NULL;
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, NULL, &log, &kernel));
  if (log) CHECK_STR(log, "");  // no warnings
  tsri_kernel_release(kernel);
  tsri_module_release(module);
}

TEST(every_expression_is_right_for_every_type_it_meets) {
  for (int id = 0; id < TSRI_OPERATOR_COUNT; id++) {
    const tsri_operator *row = &tsri_operators[id];
    if (row->input_count == 0) continue;  // not element-wise
    int kinds = 0;
    for (int kind = 0; kind < TSRI_BODY_HALF; kind++) {
      if (!row->bodies[kind].expression) continue;
      kinds++;
      for (int i = 0; i < 4 && value_types[kind][i]; i++) check_row(row, &row->bodies[kind], value_types[kind][i]);
    }
    if (row->bodies[TSRI_BODY_FLOAT].expression)
      check_row(row, tsri_elementwise_op_for((tsri_operator_id)id, TSR_BF16, TSR_DEVICE_DISCRETE_GPU), "f32");
    CHECK(kinds > 0);
    CHECK(row->input_count <= TSRI_MAX_LEAVES && row->scalar_count <= TSRI_MAX_SCALARS);
  }
}

// What operators compute, in words: docs/operators.md and the comments of <tessera/ops.h> are made of these.
static const char *const texts[] = {
#define TSRI_ONE(name, family, text, ...)            text,
#define TSRI_ONE_1(name, p, family, text, ...)       text,
#define TSRI_ONE_2(name, p, q, family, text, ...)    text,
#define TSRI_ONE_3(name, p, q, r, family, text, ...) text,
#define TSRI_TWO(name, family, text, ...)            text,
#define TSRI_TWO_1(name, p, family, text, ...)       text,
#define TSRI_THREE(name, a, b, c, family, text, ...) text,
#define TSRI_REDUCTION(name, text, ...)              text,
#define TSRI_OPERATOR(name, family, text, ...)       text,
#include "ops/operators.def"
};

TEST(every_operator_says_what_it_computes) {
  for (int id = 0; id < TSRI_OPERATOR_COUNT; id++) CHECK(texts[id][0] != 0);
}

// --- Types ----------------------------------------------------------------------------------------------------------

static void check_dtypes(tsri_operator_id id, tsr_dtype a, tsr_dtype b, tsr_dtype computed, tsr_dtype result) {
  tsr_dtype is_computed = TSR_DTYPE_COUNT, is_result = TSR_DTYPE_COUNT;
  CHECK_OK(tsri_elementwise_dtypes(id, (tsr_dtype[]){a, b, b}, &is_computed, &is_result));
  CHECK_STR(tsr_dtype_name(is_computed), tsr_dtype_name(computed));
  CHECK_STR(tsr_dtype_name(is_result), tsr_dtype_name(result));
}

TEST(dtypes_follow_the_rules) {
  check_dtypes(TSRI_OPERATOR_add, TSR_U8, TSR_I8, TSR_I16, TSR_I16);
  check_dtypes(TSRI_OPERATOR_add, TSR_F16, TSR_BF16, TSR_F32, TSR_F32);
  check_dtypes(TSRI_OPERATOR_add, TSR_BOOL, TSR_BOOL, TSR_BOOL, TSR_BOOL);
  check_dtypes(TSRI_OPERATOR_div, TSR_I32, TSR_I64, TSR_F32, TSR_F32);
  check_dtypes(TSRI_OPERATOR_div, TSR_F16, TSR_I64, TSR_F16, TSR_F16);
  check_dtypes(TSRI_OPERATOR_lt, TSR_U32, TSR_I32, TSR_I64, TSR_BOOL);
  check_dtypes(TSRI_OPERATOR_where, TSR_F32, TSR_U8, TSR_U8, TSR_U8);
  check_dtypes(TSRI_OPERATOR_logical_and, TSR_F32, TSR_U8, TSR_BOOL, TSR_BOOL);
  check_dtypes(TSRI_OPERATOR_sqrt, TSR_I8, TSR_I8, TSR_F32, TSR_F32);
  check_dtypes(TSRI_OPERATOR_sqrt, TSR_BF16, TSR_I8, TSR_BF16, TSR_BF16);
  check_dtypes(TSRI_OPERATOR_floor, TSR_I8, TSR_I8, TSR_I8, TSR_I8);
  check_dtypes(TSRI_OPERATOR_add_scalar, TSR_BOOL, TSR_BOOL, TSR_I32, TSR_I32);
  check_dtypes(TSRI_OPERATOR_eq_scalar, TSR_BOOL, TSR_BOOL, TSR_I32, TSR_BOOL);
}

TEST(dtypes_that_do_not_fit_are_named) {
  begin();
  tsr_tensor *reals = list(TSR_F32, TSR_SHAPE(2), 1, 2), *wholes = list(TSR_I32, TSR_SHAPE(2), 1, 2);
  tsr_tensor *truths = list(TSR_BOOL, TSR_SHAPE(2), 0, 1);
  CHECK_FAILS(tsr_bitwise_and(reals, wholes), TSR_ERR_DTYPE, "bitwise_and: takes integers and bool, not f32 and i32");
  CHECK_FAILS(tsr_shift_left(truths, truths), TSR_ERR_DTYPE, "shift_left: takes integers, not bool and bool");
  CHECK_FAILS(tsr_neg(truths), TSR_ERR_DTYPE, "neg: takes floats and integers, not bool");
  CHECK_FAILS(tsr_bitwise_not(reals), TSR_ERR_DTYPE, "takes integers and bool, not f32");
  CHECK_FAILS(tsr_fma(truths, truths, truths), TSR_ERR_DTYPE, "not bool, bool and bool");
  CHECK_FAILS(tsr_cast(reals, (tsr_dtype)77), TSR_ERR_DTYPE, "cast: 77 is no dtype");
  finish();
}

TEST(numbers_beside_integers_are_whole_and_fit) {
  begin();
  tsr_tensor *bytes = list(TSR_U8, TSR_SHAPE(2), 1, 200);
  CHECK_FAILS(tsr_add_scalar(bytes, 0.5), TSR_ERR_DTYPE, "add_scalar: 0.5 is no whole number and the tensor is u8");
  CHECK_FAILS(tsr_add_scalar(bytes, 300), TSR_ERR_DTYPE, "add_scalar: 300 does not fit u8, which holds 0 to 255");
  CHECK_FAILS(tsr_mul_scalar(bytes, NAN), TSR_ERR_DTYPE, "no whole number");
  CHECK_FAILS(tsr_mul_scalar(bytes, INFINITY), TSR_ERR_DTYPE, "no whole number");
  CHECK_VALUES(tsr_add_scalar(bytes, 100), TSR_U8, TSR_SHAPE(2), 0, 101, 44);
  CHECK_VALUES(tsr_div_scalar(bytes, 0.5), TSR_F32, TSR_SHAPE(2), 0, 2, 400);
  CHECK_VALUES(tsr_clamp(bytes, -INFINITY, 100), TSR_U8, TSR_SHAPE(2), 0, 1, 100);
  CHECK_VALUES(tsr_add_scalar(list(TSR_BOOL, TSR_SHAPE(2), 0, 1), 1), TSR_I32, TSR_SHAPE(2), 0, 1, 2);
  finish();
}

TEST(shapes_that_do_not_broadcast_are_named_with_the_axis) {
  begin();
  tsr_tensor *a = tsr_zeros(dev, TSR_F32, TSR_SHAPE(7, 13)), *b = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 13));
  CHECK_FAILS(tsr_add(a, b), TSR_ERR_SHAPE, "add: shapes 7x13 and 3x13 do not broadcast, axis 0: 7 and 3");
  CHECK_FAILS(tsr_where(a, a, b), TSR_ERR_SHAPE, "where");
  // The message of a failed input is passed on unchanged.
  CHECK_FAILS(tsr_exp(tsr_mul(tsr_add(a, b), a)), TSR_ERR_SHAPE, "add: shapes 7x13");
  CHECK_STATUS(tsr_error(tsr_exp(NULL)), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

// --- Values ---------------------------------------------------------------------------------------------------------

TEST(integers_wrap_where_their_dtype_ends) {
  begin();
  tsr_tensor *x = list(TSR_I8, TSR_SHAPE(4), -128, -1, 0, 127);
  CHECK_VALUES(tsr_neg(x), TSR_I8, TSR_SHAPE(4), 0, -128, 1, 0, -127);
  CHECK_VALUES(tsr_abs(x), TSR_I8, TSR_SHAPE(4), 0, -128, 1, 0, 127);
  CHECK_VALUES(tsr_sign(x), TSR_I8, TSR_SHAPE(4), 0, -1, -1, 0, 1);
  CHECK_VALUES(tsr_add(x, x), TSR_I8, TSR_SHAPE(4), 0, 0, -2, 0, -2);
  CHECK_VALUES(tsr_mul(tsr_add(x, x), x), TSR_I8, TSR_SHAPE(4), 0, 0, 2, 0, 2);
  finish();
}

TEST(division_rounds_down_and_its_rest_has_the_sign_of_the_divisor) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(6), 7, -7, 7, -7, 5, -2147483648.0);
  tsr_tensor *b = list(TSR_I32, TSR_SHAPE(6), 3, 3, -3, -3, 0, -1);
  CHECK_VALUES(tsr_floor_div(a, b), TSR_I32, TSR_SHAPE(6), 0, 2, -3, -3, 2, 0, -2147483648.0);
  CHECK_VALUES(tsr_mod(a, b), TSR_I32, TSR_SHAPE(6), 0, 1, 2, -2, -1, 0, 0);
  tsr_tensor *c = list(TSR_F64, TSR_SHAPE(7), 7, -7, 1e300, -1e-20, 5, -5, 1);
  tsr_tensor *d = list(TSR_F64, TSR_SHAPE(7), -3, 3, 7, 1, 0, INFINITY, NAN);
  CHECK_VALUES(tsr_mod(c, d), TSR_F64, TSR_SHAPE(7), 0, -2, 2, 1, 1, NAN, INFINITY, NAN);
  CHECK_VALUES(tsr_floor_div(c, d), TSR_F64, TSR_SHAPE(7), 0, -3, -3, 1e300 / 7, -1, INFINITY, -1, NAN);
  finish();
}

TEST(floor_division_near_the_largest_number_does_not_overflow) {
  begin();
  // The quotient rounds up to 15657411, so the remainder is negative, and a minus the remainder exceeds the largest
  // number.
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(1), 0x1.fffffep127), *b = list(TSR_F32, TSR_SHAPE(1), 0x1.124f14p104);
  CHECK_VALUES(tsr_floor_div(a, b), TSR_F32, TSR_SHAPE(1), 0, 15657410);
  finish();
}

TEST(powers_of_integers_are_exact_and_defined_for_negative_exponents) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(7), 3, -2, 2, 0, 1, -1, 7),
             *b = list(TSR_I32, TSR_SHAPE(7), 4, 3, -1, -2, -5, -3, 0);
  CHECK_VALUES(tsr_pow(a, b), TSR_I32, TSR_SHAPE(7), 0, 81, -8, 0, 0, 1, -1, 1);
  CHECK_VALUES(tsr_pow_scalar(list(TSR_F32, TSR_SHAPE(3), -3, 0, 5), 2), TSR_F32, TSR_SHAPE(3), 0, 9, 0, 25);
  CHECK_VALUES(tsr_rpow_scalar(list(TSR_F32, TSR_SHAPE(3), -1, 0, 5), 2), TSR_F32, TSR_SHAPE(3), 1e-5, 0.5, 1, 32);
  finish();
}

TEST(shifts_by_the_width_or_more_leave_no_bit) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(5), 1, 1, -8, -8, 3), *b = list(TSR_I32, TSR_SHAPE(5), 31, 32, 1, 40, -1);
  CHECK_VALUES(tsr_shift_left(a, b), TSR_I32, TSR_SHAPE(5), 0, -2147483648.0, 0, -16, 0, 0);
  CHECK_VALUES(tsr_shift_right(a, b), TSR_I32, TSR_SHAPE(5), 0, 0, 0, -4, -1, 0);
  CHECK_VALUES(tsr_shift_left(list(TSR_U8, TSR_SHAPE(2), 3, 3), list(TSR_U8, TSR_SHAPE(2), 7, 8)), TSR_U8, TSR_SHAPE(2),
               0, 128, 0);
  finish();
}

TEST(activations_do_not_overflow_on_the_way) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(5), -INFINITY, -200, 0, 200, NAN);
  CHECK_VALUES(tsr_sigmoid(x), TSR_F32, TSR_SHAPE(5), 1e-7, 0, 0, 0.5, 1, NAN);
  CHECK_VALUES(tsr_silu(x), TSR_F32, TSR_SHAPE(5), 1e-7, 0, 0, 0, 200, NAN);
  CHECK_VALUES(tsr_gelu(x), TSR_F32, TSR_SHAPE(5), 1e-7, 0, 0, 0, 200, NAN);
  CHECK_VALUES(tsr_gelu_tanh(x), TSR_F32, TSR_SHAPE(5), 1e-7, 0, 0, 0, 200, NAN);
  CHECK_VALUES(tsr_softplus(x), TSR_F32, TSR_SHAPE(5), 1e-7, 0, 0, 0.69314718, 200, NAN);
  CHECK_VALUES(tsr_elu(x, 2), TSR_F32, TSR_SHAPE(5), 1e-6, -2, -2, 0, 200, NAN);
  CHECK_VALUES(tsr_leaky_relu(x, 0.5), TSR_F32, TSR_SHAPE(5), 0, -INFINITY, -100, 0, 200, NAN);
  CHECK_VALUES(tsr_relu(x), TSR_F32, TSR_SHAPE(5), 0, 0, 0, 0, 200, NAN);
  finish();
}

TEST(nan_goes_through_and_truth_is_not_zero) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3), NAN, 0, 3), *y = list(TSR_F32, TSR_SHAPE(3), 1, NAN, 2);
  CHECK_VALUES(tsr_minimum(x, y), TSR_F32, TSR_SHAPE(3), 0, NAN, NAN, 2);
  CHECK_VALUES(tsr_maximum(x, y), TSR_F32, TSR_SHAPE(3), 0, NAN, NAN, 3);
  CHECK_VALUES(tsr_clamp(x, 1, 2), TSR_F32, TSR_SHAPE(3), 0, NAN, 1, 2);
  CHECK_VALUES(tsr_eq(x, x), TSR_BOOL, TSR_SHAPE(3), 0, 0, 1, 1);
  CHECK_VALUES(tsr_logical_not(x), TSR_BOOL, TSR_SHAPE(3), 0, 0, 1, 0);
  CHECK_VALUES(tsr_logical_xor(x, y), TSR_BOOL, TSR_SHAPE(3), 0, 0, 1, 0);
  CHECK_VALUES(tsr_where(x, y, x), TSR_F32, TSR_SHAPE(3), 0, 1, 0, 2);
  CHECK_VALUES(tsr_isnan(list(TSR_I32, TSR_SHAPE(2), 0, 1)), TSR_BOOL, TSR_SHAPE(2), 0, 0, 0);
  CHECK_VALUES(tsr_round(list(TSR_F32, TSR_SHAPE(4), 0.5, 1.5, 2.5, -0.5)), TSR_F32, TSR_SHAPE(4), 0, 0, 2, 2, 0);
  finish();
}

TEST(lerp_is_exact_at_both_ends) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(3), 1e8, 1, 0.1), *b = list(TSR_F32, TSR_SHAPE(3), 1, 1e8, 0.7);
  CHECK_VALUES(tsr_lerp_scalar(a, b, 1), TSR_F32, TSR_SHAPE(3), 0, 1, 1e8, (double)0.7f);
  CHECK_VALUES(tsr_lerp_scalar(a, b, 0), TSR_F32, TSR_SHAPE(3), 0, 1e8, 1, (double)0.1f);
  CHECK_VALUES(tsr_lerp(a, a, b), TSR_F32, TSR_SHAPE(3), 0, 1e8, 1, (double)0.1f);
  CHECK_VALUES(tsr_fma(list(TSR_I32, TSR_SHAPE(1), 3), list(TSR_I32, TSR_SHAPE(1), 4), list(TSR_I32, TSR_SHAPE(1), 5)),
               TSR_I32, TSR_SHAPE(1), 0, 17);
  finish();
}

TEST(views_and_broadcasts_are_read_in_place) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3)), *turned = tsr_transpose(x, 0, 1);
  CHECK_VALUES(tsr_add(turned, list(TSR_F32, TSR_SHAPE(2), 10, 20)), TSR_F32, TSR_SHAPE(3, 2), 0, 10, 23, 11, 24, 12,
               25);
  CHECK_VALUES(tsr_mul(tsr_flip(x, 1), tsr_slice(x, 0, 1, 2, 1)), TSR_F32, TSR_SHAPE(2, 3), 0, 6, 4, 0, 15, 16, 15);
  CHECK_EMPTY(tsr_exp(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3))), TSR_F32, TSR_SHAPE(0, 3));
  CHECK_EMPTY(tsr_add(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3)), tsr_ones(dev, TSR_I8, TSR_SHAPE(1, 3))), TSR_F32,
              TSR_SHAPE(0, 3));
  finish();
}

TEST(a_cast_to_the_same_dtype_is_a_view) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3), -1.5, 300, 2.9);
  CHECK(tsr_tensor_shares_memory(x, tsr_cast(x, TSR_F32)));
  CHECK_VALUES(tsr_cast(x, TSR_U8), TSR_U8, TSR_SHAPE(3), 0, 0, 255, 2);
  CHECK_VALUES(tsr_cast(x, TSR_BOOL), TSR_BOOL, TSR_SHAPE(3), 0, 1, 1, 1);
  finish();
}

static void check_i64(tsr_tensor *is, const int64_t *wanted, int count) {
  int64_t values[8] = {0};
  CHECK_OK(tsr_read(is, values, (size_t)count * sizeof values[0]));
  for (int i = 0; i < count; i++) CHECK_EQ_INT(values[i], wanted[i]);
}

TEST(clamp_without_a_limit_keeps_the_largest_integers) {
  begin();
  const int64_t given[3] = {INT64_MAX, INT64_MAX - 100, INT64_MIN};
  tsr_tensor *x = tsr_from_data(dev, TSR_I64, TSR_SHAPE(3), given, sizeof given);
  check_i64(tsr_clamp(x, -INFINITY, INFINITY), given, 3);
  check_i64(tsr_clamp(x, 0, INFINITY), (const int64_t[]){INT64_MAX, INT64_MAX - 100, 0}, 3);
  check_i64(tsr_clamp(x, -INFINITY, 1e300), given, 3);
  check_i64(tsr_clamp(x, -INFINITY, 9223372036854774784.0),
            (const int64_t[]){INT64_C(9223372036854774784), INT64_C(9223372036854774784), INT64_MIN}, 3);
  CHECK_STATUS(tsr_error(tsr_clamp(x, NAN, INFINITY)), TSR_ERR_DTYPE);
  CHECK_STATUS(tsr_error(tsr_minimum_scalar(x, 9223372036854775808.0)), TSR_ERR_DTYPE);
  finish();
}

TEST(hypot_neither_overflows_nor_loses_small_numbers) {
  begin();
  // The triangle 3, 4, 5, scaled by 1, 2^125 and 2^-140.
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(5), 3, 0x1.8p126, 0x1.8p-139, INFINITY, 0);
  tsr_tensor *b = list(TSR_F32, TSR_SHAPE(5), -4, 0x1p127, 0x1p-138, NAN, 0);
  CHECK_VALUES(tsr_hypot(a, b), TSR_F32, TSR_SHAPE(5), 0, 5, 0x1.4p127, 0x1.4p-138, INFINITY, 0);
  CHECK_VALUES(tsr_hypot(list(TSR_I32, TSR_SHAPE(1), 5), list(TSR_I32, TSR_SHAPE(1), 12)), TSR_F32, TSR_SHAPE(1), 0,
               13);
  finish();
}

TEST(nan_to_num_replaces_what_is_no_number) {
  begin();
  tsr_tensor *x = list(TSR_F16, TSR_SHAPE(4), NAN, 2, INFINITY, -INFINITY);
  CHECK_VALUES(tsr_nan_to_num(x, 0, 9, -8), TSR_F16, TSR_SHAPE(4), 0, 0, 2, 9, -8);
  CHECK_FAILS(tsr_nan_to_num(list(TSR_I32, TSR_SHAPE(1), 1), 0, 0, 0), TSR_ERR_DTYPE, "takes floats, not i32");
  finish();
}

TEST(copysign_and_signbit_see_minus_zero) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(4), 3, -3, 3, INFINITY), *b = list(TSR_F32, TSR_SHAPE(4), -0.0, 0, NAN, -1);
  CHECK_VALUES(tsr_copysign(a, b), TSR_F32, TSR_SHAPE(4), 0, -3, 3, 3, -INFINITY);
  CHECK_VALUES(tsr_signbit(b), TSR_BOOL, TSR_SHAPE(4), 0, 1, 0, 0, 1);
  CHECK_VALUES(tsr_signbit(list(TSR_F16, TSR_SHAPE(2), -0.0, 0)), TSR_BOOL, TSR_SHAPE(2), 0, 1, 0);
  CHECK_VALUES(tsr_signbit(list(TSR_I8, TSR_SHAPE(2), -5, 0)), TSR_BOOL, TSR_SHAPE(2), 0, 1, 0);
  finish();
}

TEST(logaddexp_neither_overflows_nor_makes_nan_of_infinities) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(4), 1000, -INFINITY, INFINITY, -INFINITY);
  tsr_tensor *b = list(TSR_F32, TSR_SHAPE(4), 1000, -INFINITY, INFINITY, 2);
  CHECK_VALUES(tsr_logaddexp(a, b), TSR_F32, TSR_SHAPE(4), 1e-4, 1000.693147, -INFINITY, INFINITY, 2);
  finish();
}

TEST(xlogy_is_zero_where_the_factor_is) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(4), 0, 0, 0, 2), *b = list(TSR_F32, TSR_SHAPE(4), 0, -1, NAN, 1);
  CHECK_VALUES(tsr_xlogy(a, b), TSR_F32, TSR_SHAPE(4), 0, 0, 0, NAN, 0);
  finish();
}

TEST(fmod_has_the_sign_of_the_dividend) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(4), -7, 7, 7, 1), *b = list(TSR_F32, TSR_SHAPE(4), 3, -3, 0, INFINITY);
  CHECK_VALUES(tsr_fmod(a, b), TSR_F32, TSR_SHAPE(4), 0, -1, 1, NAN, 1);
  CHECK_VALUES(tsr_fmod(list(TSR_I32, TSR_SHAPE(2), -7, 5), list(TSR_I32, TSR_SHAPE(2), 3, 0)), TSR_I32, TSR_SHAPE(2),
               0, -1, 0);
  finish();
}

TEST(fmin_and_fmax_pass_over_nan) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(3), NAN, 1, NAN), *b = list(TSR_F32, TSR_SHAPE(3), 2, NAN, NAN);
  CHECK_VALUES(tsr_fmin(a, b), TSR_F32, TSR_SHAPE(3), 0, 2, 1, NAN);
  CHECK_VALUES(tsr_fmax(a, b), TSR_F32, TSR_SHAPE(3), 0, 2, 1, NAN);
  finish();
}

TEST(gcd_and_lcm_take_integers) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(4), 12, -12, 0, 0), *b = list(TSR_I32, TSR_SHAPE(4), 18, 18, -5, 0);
  CHECK_VALUES(tsr_gcd(a, b), TSR_I32, TSR_SHAPE(4), 0, 6, 6, 5, 0);
  CHECK_VALUES(tsr_lcm(a, b), TSR_I32, TSR_SHAPE(4), 0, 36, 36, 0, 0);
  CHECK_FAILS(tsr_gcd(a, tsr_ones(dev, TSR_F32, TSR_SHAPE(4))), TSR_ERR_DTYPE, "gcd: takes integers");
  finish();
}

TEST(bit_count_does_not_depend_on_the_width) {
  begin();
  CHECK_VALUES(tsr_bit_count(list(TSR_I8, TSR_SHAPE(4), -1, 127, -128, 0)), TSR_I8, TSR_SHAPE(4), 0, 1, 7, 1, 0);
  CHECK_VALUES(tsr_bit_count(list(TSR_I64, TSR_SHAPE(1), -1)), TSR_I64, TSR_SHAPE(1), 0, 1);
  finish();
}

TEST(clip_takes_limits_that_are_tensors) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3), -5, 5, 0), *least = list(TSR_F32, TSR_SCALAR, -1);
  CHECK_VALUES(tsr_clip(x, least, list(TSR_F32, TSR_SHAPE(3), 1, 2, -3)), TSR_F32, TSR_SHAPE(3), 0, -1, 2, -3);
  finish();
}
