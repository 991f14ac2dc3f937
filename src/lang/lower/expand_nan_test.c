// SPDX-License-Identifier: MIT
// Expansions of operations that depend on NaN and the sign of 0: bit for bit as ir_ops.h defines them.
#include "lang/lower/expand_testing.h"
#include "support/test.h"

static const double numbers[] = {0.0,       -0.0,           1.0,      -1.0,      2.5, 0x1p-149,
                                 -0x1p-126, 0x1.fffffep127, INFINITY, -INFINITY, NAN};
#define NUMBER_COUNT (sizeof numbers / sizeof *numbers)

static double expected(tsri_ir_op op, double a, double b) {
  switch (op) {
    case TSRI_OP_MIN:
      return a < b || isnan(a) ? a : b;
    case TSRI_OP_MAX:
      return a > b || isnan(a) ? a : b;
    case TSRI_OP_SIGN:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case TSRI_OP_NEG:
      return -a;
    case TSRI_OP_ABS:
      return fabs(a);
    case TSRI_OP_RSQRT:
      return 1 / sqrt(a);
    case TSRI_OP_ISNAN:
      return isnan(a);
    case TSRI_OP_ISINF:
      return isinf(a) != 0;
    case TSRI_OP_ISFINITE:
      return isfinite(a);
    case TSRI_OP_EQ:
      return a == b;
    case TSRI_OP_NE:
      return a != b;
    case TSRI_OP_LT:
      return a < b;
    case TSRI_OP_LE:
      return a <= b;
    case TSRI_OP_GT:
      return a > b;
    default:
      return a >= b;
  }
}

// Whether both are the same number, with the same sign for 0, or both NaN.
static bool same(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

static double run(const tsri_expansion *x, tsr_dtype dtype, double a, double b) {
  bool is_wide = dtype == TSR_F64;
  value first = is_wide ? (value){.d = a} : (value){.f = (float)a};
  value second = is_wide ? (value){.d = b} : (value){.f = (float)b}, is = evaluate(x, first, second);
  if (x->nodes[x->result].type.dtype == TSR_BOOL) return is.u != 0;
  return is_wide ? is.d : (double)is.f;
}

static void check(tsri_ir_op op, tsr_dtype dtype, bool by_bits) {
  static tsri_expansion x;
  tsri_expand(op, (tsri_ir_type){(uint8_t)dtype, 1}, (tsri_expand_options){.nan_by_bits = by_bits}, &x);
  CHECK(!x.has_overflowed);
  for (size_t i = 0; i < NUMBER_COUNT * NUMBER_COUNT; i++) {
    double a = numbers[i / NUMBER_COUNT], b = numbers[i % NUMBER_COUNT], wanted = expected(op, a, b);
    if (op == TSRI_OP_RSQRT && dtype == TSR_F32) wanted = (double)(1 / sqrtf((float)a));
    double is = run(&x, dtype, a, b);
    if (!same(is, wanted)) {
      test_fail(__FILE__, __LINE__, "%s of %s %a and %a is %a, not %a", tsri_ir_op_infos[op].name,
                tsr_dtype_name(dtype), a, b, is, wanted);
    }
  }
}

TEST(nan_and_the_sign_of_0_decide_as_defined) {
  static const tsri_ir_op ops[] = {TSRI_OP_MIN,   TSRI_OP_MAX,   TSRI_OP_SIGN,     TSRI_OP_NEG,  TSRI_OP_ABS,
                                   TSRI_OP_ISNAN, TSRI_OP_ISINF, TSRI_OP_ISFINITE, TSRI_OP_RSQRT};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    check(ops[i], TSR_F32, false);
    check(ops[i], TSR_F64, false);
  }
}

TEST(comparisons_that_may_take_nan_for_a_number_are_made_certain) {
  static const tsri_ir_op ops[] = {TSRI_OP_MIN, TSRI_OP_MAX, TSRI_OP_EQ, TSRI_OP_NE,
                                   TSRI_OP_LT,  TSRI_OP_LE,  TSRI_OP_GT, TSRI_OP_GE};
  for (int is_less = 0; is_less < 2; is_less++) {
    expand_nan_is_less = is_less != 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) check(ops[i], TSR_F32, true);
  }
  expand_nan_is_less = false;
}
