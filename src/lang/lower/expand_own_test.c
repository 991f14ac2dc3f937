// SPDX-License-Identifier: MIT
// Expansions that use a device's own exp2, reciprocal and inverse root (options near_exp2, near_quotient and near_root), which are off by as much as
// the device's may be, compared with the processor's.
#include "core/hard_numbers.h"
#include "lang/lower/expand_testing.h"

static const tsri_expand_options own = {.fma = true, .near_quotient = true, .near_exp2 = true, .near_root = true};

static void expand_own(tsri_ir_op op, tsri_expansion *out) {
  tsri_expand(op, (tsri_ir_type){TSR_F32, 1}, own, out);
  CHECK(!out->has_overflowed);
}

static uint32_t random_word(void) {
  static uint64_t state = 5;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 32);
}

static bool uses(const tsri_expansion *x, tsri_ir_op op) {
  for (uint32_t i = 1; i < x->count; i++) {
    if (x->nodes[i].kind == TSRI_EXPR_OP && x->nodes[i].op == op) return true;
  }
  return false;
}

static double ulps(float got, double wanted) {
  int exponent;
  (void)frexp(wanted, &exponent);
  return fabs((double)got - wanted) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

// --- exp --------------------------------------------------------------------------------------------------------------

// `allowed`: with an exp2 that is up to 2 ULP off.
static void check_function(tsri_ir_op op, double (*function)(double), double low, double high, double allowed) {
  static tsri_expansion x;
  expand_own(op, &x);
  CHECK(uses(&x, TSRI_OP_EXP2));
  for (int i = 0; i < test_rounds(40000); i++) {
    expand_division_error = i % 5 - 2;
    float a = (float)(low + (high - low) * (random_word() * 0x1p-32));
    if (i % 4 == 0) a *= 0x1p-8f;
    value is = evaluate(&x, (value){.f = a}, (value){.w = 0});
    double error = ulps(is.f, function((double)a));
    if (error > allowed) test_fail(__FILE__, __LINE__, "%d of %a is %a: %.2f ULP", op, (double)a, (double)is.f, error);
  }
  expand_division_error = 0;
}

TEST(functions_by_the_devices_exp2_are_within_5_ulp) {
  check_function(TSRI_OP_EXP, exp, -87, 88.7, 3.5);
  check_function(TSRI_OP_EXP2, exp2, -126, 127.9, 3);
  check_function(TSRI_OP_SINH, sinh, -89, 89, 5);
  check_function(TSRI_OP_COSH, cosh, -89, 89, 5);
  check_function(TSRI_OP_TANH, tanh, -12, 12, 4);
  check_function(TSRI_OP_ERF, erf, -5, 5, 4);
}

TEST(exp_by_the_devices_exp2_keeps_subnormal_results_infinity_and_nan) {
  static tsri_expansion x;
  expand_own(TSRI_OP_EXP, &x);
  check_function(TSRI_OP_EXP, exp, -104, -87, 3);
  static const struct {
    float a, wanted;
  } edges[] = {{0, 1},
               {-0.0f, 1},
               {89, INFINITY},
               {-104, 0},
               {INFINITY, INFINITY},
               {-INFINITY, 0},
               {0x1.fffffep127f, INFINITY},
               {NAN, NAN},
               {-0x1.fffffep127f, 0},
               {0x1p-149f, 1}};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    float is = evaluate(&x, (value){.f = edges[i].a}, (value){.w = 0}).f;
    CHECK(isnan(edges[i].wanted) ? isnan(is) : is == edges[i].wanted);
  }
}

// --- Quotients and roots ------------------------------------------------------------------------------------------------

static void check_quotient(const tsri_expansion *x, float a, float b) {
  value is = evaluate(x, (value){.f = a}, (value){.f = b}), wanted = {.f = a / b};
  if (is.u == wanted.u) return;
  test_fail(__FILE__, __LINE__, "%a / %a is %a, not %a (%d)", (double)a, (double)b, (double)is.f, (double)wanted.f,
            expand_division_error);
}

TEST(quotients_that_are_hard_to_round_are_right_after_two_corrections) {
  static tsri_expansion x;
  expand_own(TSRI_OP_DIV, &x);
  for (int i = 0; i < test_rounds(100000); i++) {
    float a, b;
    expand_division_error = i % 3 - 1;
    tsri_hard_quotient(random_word(), i & 8, &a, &b);
    check_quotient(&x, a, b);
    check_quotient(&x, -a, b * 0x1p-20f);
    value any = {.u = 0x3f800000 | (random_word() & 0x7fffff)}, last = {.u = 0x3fffffff - (uint32_t)i % 8};
    check_quotient(&x, any.f, last.f);
    check_quotient(&x, last.f, any.f);
    check_quotient(&x, a, any.f);
  }
  expand_division_error = 0;
}

static void check_root(const tsri_expansion *x, uint32_t bits) {
  value a = {.u = bits}, is = evaluate(x, a, a), wanted = {.f = sqrtf(a.f)};
  if (isnan(wanted.f) ? isnan(is.f) : is.u == wanted.u) return;
  test_fail(__FILE__, __LINE__, "the root of %a is %a, not %a (%d)", (double)a.f, (double)is.f, (double)wanted.f,
            expand_division_error);
}

// From an inverse root that is rounded correctly. Where a device's is less accurate, hard ones may be wrong, which runtime/own_functions.c would find.
TEST(roots_by_an_inverse_root_are_rounded_correctly) {
  static const uint32_t edges[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x80000001,
                                   0xbf800000, 0xff7fffff, 1,          0x7fffff,   0x7f7fffff};
  static tsri_expansion x;
  expand_own(TSRI_OP_SQRT, &x);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_root(&x, edges[i]);
  for (int i = 0; i < test_rounds(100000); i++) {
    check_root(&x, random_word() & 0x7fffffff);
    value hard = {.f = tsri_hard_square(8 * (i / 4 % 4096 - 2048) + 1, (uint32_t)i % 4)};
    check_root(&x, hard.u);
  }
}
