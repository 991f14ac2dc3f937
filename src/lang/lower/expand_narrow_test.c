// SPDX-License-Identifier: MIT
// Functions whose results are rounded to 16 bits afterwards, compared with the processor's.
#include "lang/lower/expand_testing.h"

static tsri_expansion narrow(tsri_ir_op op) {
  tsri_expansion x;
  tsri_expand(op, (tsri_ir_type){TSR_F32, 1}, (tsri_expand_options){.fma = true, .narrow = true}, &x);
  CHECK(!x.has_overflowed);
  return x;
}

static void check_close(const tsri_expansion *x, float a, float b, double wanted) {
  value is = evaluate(x, (value){.f = a}, (value){.f = b});
  double error = fabs((double)is.f - wanted), allowed = fabs(wanted) * 0x1p-15 + 0x1p-149;
  if (error > allowed)
    test_fail(__FILE__, __LINE__, "of %a, %a: %a, not %a", (double)a, (double)b, (double)is.f, wanted);
}

TEST(narrow_functions_have_fifteen_right_bits) {
  static tsri_expansion exp_of, exp2_of, tanh_of, erf_of;
  exp_of = narrow(TSRI_OP_EXP);
  exp2_of = narrow(TSRI_OP_EXP2);
  tanh_of = narrow(TSRI_OP_TANH);
  erf_of = narrow(TSRI_OP_ERF);
  for (int i = -10000; i <= 10000; i++) {
    float x = (float)i * 0.0088f;
    check_close(&exp_of, x, 0, exp((double)x));
    check_close(&exp2_of, x, 0, exp2((double)x));
    check_close(&tanh_of, x, 0, tanh((double)x));
    check_close(&erf_of, x, 0, erf((double)x));
  }
}

TEST(narrow_exp_keeps_subnormal_results_infinity_and_nan) {
  static tsri_expansion x;
  x = narrow(TSRI_OP_EXP);
  check_close(&x, -100, 0, exp(-100));  // 2^-144
  CHECK(evaluate(&x, (value){.f = 100}, (value){.f = 0}).u == 0x7f800000);
  CHECK(evaluate(&x, (value){.f = -INFINITY}, (value){.f = 0}).u == 0);
  CHECK(evaluate(&x, (value){.f = INFINITY}, (value){.f = 0}).u == 0x7f800000);
  CHECK(isnan(evaluate(&x, (value){.f = NAN}, (value){.f = 0}).f));
}

TEST(narrow_quotients_and_roots_are_the_devices) {
  static tsri_expansion quotient, root;
  quotient = narrow(TSRI_OP_DIV);
  root = narrow(TSRI_OP_SQRT);
  expand_division_error = 3;
  for (uint32_t i = 1; i < 5000; i++) {
    value a = {.u = 0x3f800000 + i * 1663}, b = {.u = 0x40000000 + i * 1231}, any = {.u = i * 0x66000};
    check_close(&quotient, a.f, b.f, (double)a.f / (double)b.f);
    check_close(&root, any.f, 0, sqrt((double)any.f));  // subnormal ones among them
  }
  expand_division_error = 0;
}
