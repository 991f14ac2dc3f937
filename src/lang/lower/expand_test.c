// SPDX-License-Identifier: MIT
// Runs expansions one expression at a time and compares them with the C library in higher precision.
#include "lang/lower/expand.h"

#include <math.h>
#include <string.h>

#include "lang/lower/expand_testing.h"
#include "support/test.h"

// --- Comparing ------------------------------------------------------------------------------------------------------

typedef struct function {
  tsri_ir_op op;
  const char *name;
  long double (*one)(long double);
  long double (*two)(long double, long double);
  double low, high;  // range tested in f32; the same in f64 unless stated otherwise
  double low64, high64;
} function;

static long double exp2_l(long double x) { return exp2l(x); }

static const function functions[] = {
    {TSRI_OP_EXP, "exp", expl, NULL, -105, 90, -750, 712},
    {TSRI_OP_EXP2, "exp2", exp2_l, NULL, -152, 130, -1080, 1026},
    {TSRI_OP_EXPM1, "expm1", expm1l, NULL, -30, 90, -50, 712},
    {TSRI_OP_LOG, "log", logl, NULL, 0, 1e38, 0, 1e300},
    {TSRI_OP_LOG2, "log2", log2l, NULL, 0, 1e38, 0, 1e300},
    {TSRI_OP_LOG10, "log10", log10l, NULL, 0, 1e38, 0, 1e300},
    {TSRI_OP_LOG1P, "log1p", log1pl, NULL, -0.99999, 1e38, -0.99999999, 1e300},
    {TSRI_OP_SIN, "sin", sinl, NULL, -32768, 32768, -32768, 32768},
    {TSRI_OP_COS, "cos", cosl, NULL, -32768, 32768, -32768, 32768},
    {TSRI_OP_TAN, "tan", tanl, NULL, -32768, 32768, -32768, 32768},
    {TSRI_OP_ASIN, "asin", asinl, NULL, -1, 1, -1, 1},
    {TSRI_OP_ACOS, "acos", acosl, NULL, -1, 1, -1, 1},
    {TSRI_OP_ATAN, "atan", atanl, NULL, -1e38, 1e38, -1e300, 1e300},
    {TSRI_OP_SINH, "sinh", sinhl, NULL, -91, 91, -712, 712},
    {TSRI_OP_COSH, "cosh", coshl, NULL, -91, 91, -712, 712},
    {TSRI_OP_TANH, "tanh", tanhl, NULL, -20, 20, -30, 30},
    {TSRI_OP_ERF, "erf", erfl, NULL, -6, 6, -8, 8},
    {TSRI_OP_ATAN2, "atan2", NULL, atan2l, -1e10, 1e10, -1e10, 1e10},
    {TSRI_OP_POW, "pow", NULL, powl, -1e5, 1e5, -1e5, 1e5},
};

static uint64_t random_state = 1;
static double random_unit(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(random_state >> 11) * 0x1p-53;
}

// Some are uniformly distributed, some near 0 and 1, some have random magnitudes.
static double random_in(double low, double high) {
  double choice = random_unit();
  if (choice < 0.3) return low + (high - low) * random_unit();
  if (choice < 0.6 && high >= 3) return (low < -3 ? -3 : low) + (3 - (low < -3 ? -3 : low)) * random_unit();
  double far = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
  double size = far * pow(2, -60 * random_unit() * random_unit());
  double x = low < 0 && random_unit() < 0.5 ? -size : size;
  return x < low ? low : x > high ? high : x;
}

static double ulps_f32(float got, long double wanted) {
  float rounded = (float)wanted;
  if (isnan(got) || isnan(rounded)) return isnan(got) && isnan(rounded) ? 0 : 1e9;
  if (isinf(got) || isinf(rounded)) return got == rounded ? 0 : fabsl(wanted) > 3.4028e38L ? 1 : 1e9;
  int exponent;
  frexpf(rounded, &exponent);
  return (double)(fabsl((long double)got - wanted) / ldexpl(1, (exponent < -125 ? -125 : exponent) - 24));
}

static double ulps_f64(double got, long double wanted) {
  double rounded = (double)wanted;
  if (isnan(got) || isnan(rounded)) return isnan(got) && isnan(rounded) ? 0 : 1e9;
  if (isinf(got) || isinf(rounded)) return got == rounded ? 0 : fabsl(wanted) > 1.79769e308L ? 1 : 1e9;
  int exponent;
  frexp(rounded, &exponent);
  return (double)(fabsl((long double)got - wanted) / ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
}

static double worst(const function *f, tsr_dtype dtype, bool fma_is_there, double *out_x, double *out_y) {
  static tsri_expansion x;
  tsri_expand(f->op, (tsri_ir_type){(uint8_t)dtype, 1}, (tsri_expand_options){.fma = fma_is_there}, &x);
  CHECK(!x.has_overflowed);
  double most = 0;
  for (int i = 0; i < test_rounds(20000); i++) {
    double low = dtype == TSR_F32 ? f->low : f->low64, high = dtype == TSR_F32 ? f->high : f->high64;
    double a = random_in(low, high), b = random_in(low, high), ulps;
    if (f->op == TSRI_OP_POW) {
      a = pow(2, 20 * random_unit() - 10);
      b = (dtype == TSR_F32 ? 150 : 1074) * (2 * random_unit() - 1) / fabs(log2(a) + 1e-9);
    }
    if (dtype == TSR_F32) {
      a = (double)(float)a;
      b = (double)(float)b;
    }
    long double wanted = f->one ? f->one((long double)a) : f->two((long double)a, (long double)b);
    if (dtype == TSR_F32) {
      ulps = ulps_f32(evaluate(&x, (value){.f = (float)a}, (value){.f = (float)b}).f, wanted);
    } else {
      ulps = ulps_f64(evaluate(&x, (value){.d = a}, (value){.d = b}).d, wanted);
    }
    if (ulps > most) {
      most = ulps;
      *out_x = a;
      *out_y = b;
    }
  }
  return most;
}

static void check_all(tsr_dtype dtype, bool fma_is_there, double bound) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    double x = 0, y = 0, most = worst(&functions[i], dtype, fma_is_there, &x, &y);
    printf("  %-6s %s %.2f ULP at %a %a\n", functions[i].name, tsr_dtype_name(dtype), most, x, y);
    if (most > bound) test_fail(__FILE__, __LINE__, "%s(%a, %a): %.2f ULP", functions[i].name, x, y, most);
  }
}

TEST(f32_expansions_are_within_3_ulp_with_fma) { check_all(TSR_F32, true, 3); }
TEST(f32_expansions_are_within_3_ulp_without_fma) { check_all(TSR_F32, false, 3); }
TEST(f64_expansions_are_within_3_ulp_with_fma) { check_all(TSR_F64, true, 3); }
TEST(f64_expansions_are_within_3_ulp_without_fma) { check_all(TSR_F64, false, 3); }

// --- Large arguments ------------------------------------------------------------------------------------------------

// A random mantissa with each exponent from the limit on.
static double random_far(tsr_dtype dtype, int i) {
  int least = 15, most = dtype == TSR_F32 ? 127 : 1023;
  double size = ldexp(1 + random_unit(), least + i % (most - least + 1));
  if (dtype == TSR_F32) size = fmin((double)(float)size, 0x1.fffffep127);
  return random_unit() < 0.5 ? -size : size;
}

static double far_error(const function *f, const tsri_expansion *x, tsr_dtype dtype, double a) {
  long double wanted = f->one((long double)a);
  if (dtype == TSR_F32) return ulps_f32(evaluate(x, (value){.f = (float)a}, (value){.w = 0}).f, wanted);
  return ulps_f64(evaluate(x, (value){.d = a}, (value){.w = 0}).d, wanted);
}

// The number of each type that is nearest to a multiple of pi/2, and both ends of the range.
static const double known_f32[] = {0x1.f37c0ap+95, 0x1.000002p15, 0x1.fffffep127, 0x1.921fb6p+15};
static const double known_f64[] = {0x1.6ac5b262ca1ffp+849, 0x1.0000000000001p15, 0x1.fffffffffffffp1023,
                                   0x1.921fb54442d18p+20};
enum { KNOWN = 4, FAR = 30000 };

static void check_far(const function *f, tsr_dtype dtype, bool fma_is_there) {
  static tsri_expansion x;
  const double *known = dtype == TSR_F32 ? known_f32 : known_f64;
  tsri_expand_options options = {.fma = fma_is_there, .far = true};
  tsri_expand(f->op, (tsri_ir_type){(uint8_t)dtype, 1}, options, &x);
  CHECK(!x.has_overflowed);
  double most = 0, at = 0;
  for (int k = 0; k < test_rounds(FAR); k++) {
    double a = k < KNOWN ? known[k] : random_far(dtype, k), error = far_error(f, &x, dtype, a);
    if (error > most) {
      most = error;
      at = a;
    }
  }
  printf("  %-6s %s %.2f ULP at %a, %u expressions\n", f->name, tsr_dtype_name(dtype), most, at, x.count - 1);
  if (most > 2) test_fail(__FILE__, __LINE__, "%s(%a): %.2f ULP", f->name, at, most);
}

TEST(circular_functions_of_large_numbers_are_within_2_ulp) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    for (int k = 0; k < 4 && tsri_expand_has_far(functions[i].op, TSR_F32); k++) {
      check_far(&functions[i], k & 1 ? TSR_F64 : TSR_F32, k & 2);
    }
  }
}

// --- Edges ----------------------------------------------------------------------------------------------------------

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

static bool is_far(tsri_ir_op op, tsr_dtype dtype, double a, double b) {
  static tsri_expansion x;
  if (!tsri_expand_has_far(op, dtype)) return false;
  tsri_expand_is_far(op, (tsri_ir_type){(uint8_t)dtype, 1}, &x);
  if (dtype == TSR_F32) return evaluate(&x, (value){.f = (float)a}, (value){.f = (float)b}).u != 0;
  return evaluate(&x, (value){.d = a}, (value){.d = b}).u != 0;
}

static double call_with(tsri_expand_options options, tsri_ir_op op, tsr_dtype dtype, double a, double b) {
  static tsri_expansion x;
  options.far = is_far(op, dtype, a, b);
  tsri_expand(op, (tsri_ir_type){(uint8_t)dtype, 1}, options, &x);
  if (dtype == TSR_F32) return (double)evaluate(&x, (value){.f = (float)a}, (value){.f = (float)b}).f;
  return evaluate(&x, (value){.d = a}, (value){.d = b}).d;
}

static double call(tsri_ir_op op, tsr_dtype dtype, double a, double b) {
  return call_with((tsri_expand_options){.fma = true}, op, dtype, a, b);
}

static void check_edges(tsri_expand_options options) {
  static const double edges[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    const function *f = &functions[i];
    for (size_t j = 0; f->one && j < sizeof edges / sizeof *edges; j++) {
      double wanted = (double)f->one((long double)edges[j]);
      double is32 = call_with(options, f->op, TSR_F32, edges[j], 0);
      double is64 = call_with(options, f->op, TSR_F64, edges[j], 0);
      bool fits = fabs(wanted) > 0 && isfinite(wanted) ? fabs(is32 - wanted) < 1e-6 && fabs(is64 - wanted) < 1e-14
                                                       : same(is32, wanted) && same(is64, wanted);
      if (!fits) test_fail(__FILE__, __LINE__, "%s(%g) is %g and %g, not %g", f->name, edges[j], is32, is64, wanted);
    }
  }
}

TEST(zeros_infinities_and_nan_give_what_c_gives) { check_edges((tsri_expand_options){.fma = true}); }

TEST(nan_comes_out_whatever_comparisons_make_of_it) {
  for (int i = 0; i < 4; i++) {
    expand_nan_is_less = i & 1;
    check_edges((tsri_expand_options){.fma = (i & 2) != 0, .nan_by_bits = true});
  }
  expand_nan_is_less = false;
}

TEST(pow_and_atan2_follow_c_at_the_edges) {
  static const double edges[] = {0.0,  -0.0, INFINITY, -INFINITY, NAN,  1.0,  -1.0, 2.0,
                                 -2.0, 0.5,  -0.5,     3.0,       -3.0, 1e30, 2.5};
  enum { COUNT = sizeof edges / sizeof *edges };
  for (int i = 0; i < COUNT * COUNT; i++) {
    double a = edges[i / COUNT], b = edges[i % COUNT];
    for (int k = 0; k < 4; k++) {
      tsr_dtype dtype = k & 1 ? TSR_F64 : TSR_F32;
      double is = call(k & 2 ? TSRI_OP_POW : TSRI_OP_ATAN2, dtype, a, b);
      double wanted = k & 2 ? pow((double)(float)a, (double)(float)b) : atan2((double)(float)a, (double)(float)b);
      if (dtype == TSR_F32) wanted = (double)(float)wanted;
      bool fits = same(is, wanted) || (wanted != 0 && fabs(is - wanted) <= 3e-7 * fabs(wanted));
      if (!fits) test_fail(__FILE__, __LINE__, "%s(%g, %g) is %g, not %g", k & 2 ? "pow" : "atan2", a, b, is, wanted);
    }
  }
}

// --- fma ------------------------------------------------------------------------------------------------------------

// Random bits; often with few digits, or with an exponent near another number's, so that sums are halfway between two
// floats or cancel.
static uint64_t random_float_bits(tsr_dtype dtype, uint64_t near) {
  uint64_t bits = (uint64_t)(random_unit() * 0x1p53) << 32 ^ (uint64_t)(random_unit() * 0x1p53);
  int mantissa = dtype == TSR_F32 ? 23 : 52;
  if (random_unit() < 0.3) bits &= ~UINT64_C(0) << (int)(random_unit() * mantissa);
  uint64_t digits = (UINT64_C(1) << mantissa) - 1, sign = UINT64_C(1) << (dtype == TSR_F32 ? 31 : 63);
  if (near && random_unit() < 0.7) {
    near += ((bits >> 8 & 127) - 60) << mantissa;
    bits = (near & ~digits) | (bits & digits);
  }
  if (random_unit() < 0.1) bits &= digits | sign;
  return dtype == TSR_F32 ? (uint32_t)bits : bits;
}

TEST(fma_rounds_once_whatever_the_numbers) {
  static tsri_expansion x[2];
  static const tsr_dtype dtypes[2] = {TSR_F32, TSR_F64};
  for (int d = 0; d < 2; d++) {
    tsri_expand(TSRI_OP_FMA, (tsri_ir_type){(uint8_t)dtypes[d], 1}, (tsri_expand_options){.fma = false}, &x[d]);
    CHECK(!x[d].has_overflowed);
    printf("  %s: %u expressions\n", tsr_dtype_name(dtypes[d]), x[d].count - 1);
  }
  for (int i = 0; i < test_rounds(300000); i++) {
    value a = {.w = random_float_bits(TSR_F32, 0)}, b = {.w = random_float_bits(TSR_F32, 0)},
          product = {.f = a.f * b.f};
    value c = {.w = random_float_bits(TSR_F32, product.u)}, is = evaluate_three(&x[0], a, b, c);
    float wanted = fmaf(a.f, b.f, c.f);
    if (!same((double)is.f, (double)wanted)) {
      test_fail(__FILE__, __LINE__, "fma(%a, %a, %a) is %a, not %a", (double)a.f, (double)b.f, (double)c.f,
                (double)is.f, (double)wanted);
    }
    a.w = random_float_bits(TSR_F64, 0), b.w = random_float_bits(TSR_F64, 0), product.d = a.d * b.d;
    c.w = random_float_bits(TSR_F64, product.w), is = evaluate_three(&x[1], a, b, c);
    double wide = fma(a.d, b.d, c.d);
    if (!same(is.d, wide)) test_fail(__FILE__, __LINE__, "fma(%a, %a, %a) is %a, not %a", a.d, b.d, c.d, is.d, wide);
  }
}

TEST(fma_of_f32_through_f64_rounds_once_too) {
  static tsri_expansion x;
  tsri_expand(TSRI_OP_FMA, (tsri_ir_type){TSR_F32, 1}, (tsri_expand_options){.f64 = true}, &x);
  CHECK(!x.has_overflowed && x.count < 50);
  for (int i = 0; i < test_rounds(300000); i++) {
    value a = {.w = random_float_bits(TSR_F32, 0)}, b = {.w = random_float_bits(TSR_F32, 0)};
    value product = {.f = a.f * b.f}, c = {.w = random_float_bits(TSR_F32, product.u)};
    float is = evaluate_three(&x, a, b, c).f, wanted = fmaf(a.f, b.f, c.f);
    if (!same((double)is, (double)wanted)) {
      test_fail(__FILE__, __LINE__, "fma(%a, %a, %a) is %a, not %a", (double)a.f, (double)b.f, (double)c.f, (double)is,
                (double)wanted);
    }
  }
}

TEST(fma_of_zeros_infinities_and_the_ends_of_the_range_is_as_in_c) {
  static tsri_expansion x[2];
  static const double edges[] = {0.0,
                                 -0.0,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 1.0,
                                 -1.0,
                                 0x1p-149,
                                 -0x1p-149,
                                 0x1.fffffep127,
                                 -0x1.fffffep127,
                                 0x1p-126,
                                 0x1.fffffep-127,
                                 0x1.000002p0,
                                 -0x1.fffffep-1};
  enum { COUNT = sizeof edges / sizeof *edges };
  tsri_expand(TSRI_OP_FMA, (tsri_ir_type){TSR_F32, 1}, (tsri_expand_options){.fma = false}, &x[0]);
  tsri_expand(TSRI_OP_FMA, (tsri_ir_type){TSR_F64, 1}, (tsri_expand_options){.fma = false}, &x[1]);
  for (int i = 0; i < COUNT * COUNT * COUNT; i++) {
    double a = edges[i % COUNT], b = edges[i / COUNT % COUNT], c = edges[i / COUNT / COUNT];
    float is = evaluate_three(&x[0], (value){.f = (float)a}, (value){.f = (float)b}, (value){.f = (float)c}).f;
    float wanted = fmaf((float)a, (float)b, (float)c);
    double wide = evaluate_three(&x[1], (value){.d = a}, (value){.d = b}, (value){.d = c}).d,
           wide_wanted = fma(a, b, c);
    if (!same((double)is, (double)wanted) || !same(wide, wide_wanted)) {
      test_fail(__FILE__, __LINE__, "fma(%a, %a, %a) is %a and %a, not %a and %a", a, b, c, (double)is, wide,
                (double)wanted, wide_wanted);
    }
  }
}

// --- Names ------------------------------------------------------------------------------------------------------------

TEST(functions_made_of_expansions_are_found_by_name) {
  static tsri_expansion x;
  tsri_expand_signature of;
  CHECK(tsri_expand_named("tsr_sin_f32", (tsri_expand_options){0}, &x, &of));
  CHECK(of.arity == 1 && strcmp(of.far_name, "tsr_sin_far_f32") == 0);
  CHECK(strcmp(of.is_far_name, "tsr_sin_is_far_f32") == 0);
  uint32_t near_count = x.count;
  CHECK(tsri_expand_named("tsr_sin_far_f32", (tsri_expand_options){0}, &x, &of));
  CHECK(of.far_name[0] == '\0' && x.count > near_count);
  CHECK(tsri_expand_named("tsr_div_is_far_f32", (tsri_expand_options){0}, &x, &of));
  CHECK(of.far_name[0] == '\0' && of.arity == 2 && x.nodes[x.result].type.dtype == TSR_BOOL);
  CHECK(tsri_expand_named("tsr_pow_f64", (tsri_expand_options){0}, &x, &of) && of.arity == 2);
  CHECK(tsri_expand_named("tsr_to_bf16_i64", (tsri_expand_options){0}, &x, &of) && of.operand.dtype == TSR_I64);
  CHECK(tsri_expand_named("tsr_to_i8_f32", (tsri_expand_options){0}, &x, &of) && of.operand.dtype == TSR_F32);
  CHECK(tsri_expand_named("tsr_f16_to_f32", (tsri_expand_options){0}, &x, &of) && of.operand.dtype == TSR_U32);
  static const char *const none[] = {"tsr_lid",     "tsr_exp_far_f32",   "tsr_add_i32",     "tsr_exp_i32",
                                     "exp_f32",     "tsr_to_f64_f32",    "tsr_f16_to_bf16", "tsr_",
                                     "tsr_div_f64", "tsr_exp_is_far_f32"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    CHECK(!tsri_expand_named(none[i], (tsri_expand_options){0}, &x, &of));
  }
}
