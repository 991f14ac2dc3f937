// SPDX-License-Identifier: MIT
// The transcendental functions against the C library's: our own and SLEEF's, at every SIMD level this machine has.
#include "backends/cpu/math/math.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/math/math_levels.h"
#include "support/test.h"

// --- What is tested ---

static double rsqrt_of(double x) { return 1.0 / sqrt(x); }
static long double rsqrtl_of(long double x) { return 1.0L / sqrtl(x); }

typedef struct claim {
  const char *name;
  tsri_math_op op;
  double (*of_one)(double);
  double (*of_two)(double, double);
  long double (*of_one_long)(long double);
  long double (*of_two_long)(long double, long double);
  double bound;  // of our own f32 functions, in ULP: a little above the largest error that bench/math_ulp finds
  const char *reason;
} claim;

static const claim claims[] = {
    {"sqrt", TSRI_MATH_SQRT, sqrt, NULL, sqrtl, NULL, 0.501, "an instruction, correctly rounded"},
    {"rsqrt", TSRI_MATH_RSQRT, rsqrt_of, NULL, rsqrtl_of, NULL, 1.51, "two roundings, the first halved or doubled"},
    {"exp", TSRI_MATH_EXP, exp, NULL, expl, NULL, 1.1, "sum 1 + p rounded, and p's error up to a half"},
    {"exp2", TSRI_MATH_EXP2, exp2, NULL, exp2l, NULL, 1.2, "as exp"},
    {"expm1", TSRI_MATH_EXPM1, expm1, NULL, expm1l, NULL, 1.8, "near ln2 / 2 two terms of opposite sign"},
    {"log", TSRI_MATH_LOG, log, NULL, logl, NULL, 1.0, "f is exact; one rounding and the polynomial's"},
    {"log2", TSRI_MATH_LOG2, log2, NULL, log2l, NULL, 1.0, "leading product exact"},
    {"log10", TSRI_MATH_LOG10, log10, NULL, log10l, NULL, 0.9, "leading product exact"},
    {"log1p", TSRI_MATH_LOG1P, log1p, NULL, log1pl, NULL, 1.5, "as log, and 1 + f rounds"},
    {"sin", TSRI_MATH_SIN, sin, NULL, sinl, NULL, 1.1, "reduced argument in two parts"},
    {"cos", TSRI_MATH_COS, cos, NULL, cosl, NULL, 1.1, "reduced argument in two parts"},
    {"tan", TSRI_MATH_TAN, tan, NULL, tanl, NULL, 1.7, "as sin; the quotient corrected for its divisor's rounding"},
    {"asin", TSRI_MATH_ASIN, asin, NULL, asinl, NULL, 1.4, "above 1/2 a rounded root, doubled, and a difference"},
    {"acos", TSRI_MATH_ACOS, acos, NULL, acosl, NULL, 1.4, "a rounded root and a sum"},
    {"atan", TSRI_MATH_ATAN, atan, NULL, atanl, NULL, 1.6, "above 1 a rounded quotient"},
    {"atan2", TSRI_MATH_ATAN2, NULL, atan2, NULL, atan2l, 1.8, "a rounded quotient and two sums"},
    {"sinh", TSRI_MATH_SINH, sinh, NULL, sinhl, NULL, 1.8, "exp's error grows by the difference"},
    {"cosh", TSRI_MATH_COSH, cosh, NULL, coshl, NULL, 1.6, "exp's error and a sum"},
    {"tanh", TSRI_MATH_TANH, tanh, NULL, tanhl, NULL, 1.5, "a quotient that is half of the result at most"},
    {"erf", TSRI_MATH_ERF, erf, NULL, erfl, NULL, 1.5, "exp's error counts a sixth"},
    {"pow", TSRI_MATH_POW, NULL, pow, NULL, powl, 0.6, "computed in f64"},
};
enum { CLAIM_COUNT = sizeof claims / sizeof claims[0] };

// Ours is to be within 2 ULP whatever computes it; SLEEF says 1.0 for normal results.
static const double sleef_bound = 2.0;
// f64: the C library and SLEEF each say 1; twice is left for other C libraries.
static const double f64_bound = 2.0;

typedef struct subject {
  const char *level;
  bool is_sleef;
  const tsri_lane_math *math;  // with NULL where SLEEF has nothing
} subject;

enum { MOST_SUBJECTS = 2 * TSRI_MATH_LEVEL_COUNT };

static int find_subjects(subject *subjects) {
  int count = 0;
  for (int i = 0; i < TSRI_MATH_LEVEL_COUNT; i++) {
    const char *level = tsri_math_level_names[i];
    if (strcmp(tsri_cpu_simd_level(level), level) != 0) continue;
    subjects[count++] = (subject){level, false, tsri_math_own((tsri_math_level)i)};
    const tsri_lane_math *sleef = tsri_math_sleef((tsri_math_level)i);
    if (sleef) subjects[count++] = (subject){level, true, sleef};
  }
  return count;
}

// --- Measuring ---

static float float_from(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// The same bits; one NaN is as good as another.
static bool same_f32(float a, float b) { return isnan(a) ? isnan(b) : bits_of(a) == bits_of(b); }

// Distance in units of the last place at `wanted` (`digits` bits from exponent `lowest` on); infinity counts as the next
// number after the largest.
static double ulp_error(long double is, long double wanted, int digits, int lowest, int highest) {
  if (isnan(wanted) || isnan(is)) return isnan(wanted) && isnan(is) ? 0.0 : INFINITY;
  if (!signbit(is) != !signbit(wanted)) return INFINITY;
  long double beyond = ldexpl(1.0L, highest + 1), size = fabsl(is), wanted_size = fabsl(wanted);
  if (size > beyond) size = beyond;
  if (wanted_size > beyond) wanted_size = beyond;
  if (size == wanted_size) return 0.0;
  int exponent = wanted_size > 0 ? ilogbl(wanted_size) : lowest;
  if (exponent < lowest) exponent = lowest;
  if (exponent > highest) exponent = highest;
  return (double)ldexpl(fabsl(size - wanted_size), digits - 1 - exponent);
}

static double ulp_error_f32(float is, double wanted) {
  return ulp_error((long double)is, (long double)wanted, FLT_MANT_DIG, FLT_MIN_EXP - 1, FLT_MAX_EXP - 1);
}

static double wanted_of(const claim *c, float a, float b) {
  return c->of_one ? c->of_one((double)a) : c->of_two((double)a, (double)b);
}

// Fails unless all subjects are within their bound for these arguments.
static void check_f32(const claim *c, const subject *subjects, int count, const float *a, const float *b, uint32_t n) {
  float *is = malloc(n * sizeof *is);
  double *wanted = malloc(n * sizeof *wanted);
  CHECK(is && wanted);
  for (uint32_t i = 0; i < n; i++) wanted[i] = wanted_of(c, a[i], b[i]);
  for (int s = 0; s < count; s++) {
    const subject *of = &subjects[s];
    if (!of->math->f32[c->op]) continue;
    of->math->f32[c->op](is, a, b, n);
    double bound = of->is_sleef ? sleef_bound : c->bound;
    for (uint32_t i = 0; i < n; i++) {
      double error = ulp_error_f32(is[i], wanted[i]);
      if (error <= bound) continue;
      test_fail(__FILE__, __LINE__, "%s %s%s: %.3f ULP at (%a, %a): is %a, wanted %a; the bound is %.3f (%s)", c->name,
                of->level, of->is_sleef ? " (SLEEF)" : "", error, (double)a[i], (double)b[i], (double)is[i], wanted[i],
                bound, of->is_sleef ? "SLEEF" : c->reason);
    }
  }
  free(is);
  free(wanted);
}

static uint64_t random_bits(uint64_t *state) {  // splitmix64
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// --- Accuracy ---

enum { SAMPLES = 1 << 16 };
static float sample_a[SAMPLES], sample_b[SAMPLES];

// Every sign and exponent, NaNs and subnormals too, 128 numbers of each.
TEST(f32_functions_keep_their_bounds_over_all_exponents) {
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  uint64_t state = 7;
  for (uint32_t i = 0; i < SAMPLES; i++) {
    uint64_t r = random_bits(&state);
    sample_a[i] = float_from((i << 16) | (uint32_t)(r & 0xffffu));
    sample_b[i] = float_from((uint32_t)(r >> 32));
  }
  for (int i = 0; i < CLAIM_COUNT; i++) check_f32(&claims[i], subjects, count, sample_a, sample_b, SAMPLES);
}

// Where arguments usually lie, and where pow neither overflows nor vanishes.
TEST(f32_functions_keep_their_bounds_on_everyday_arguments) {
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  for (int range = 0; range < 4; range++) {
    const double reach = (double[]){1.0, 12.0, 90.0, 40000.0}[range];
    uint64_t state = 11;
    for (uint32_t i = 0; i < SAMPLES / 4; i++) {
      uint64_t r = random_bits(&state);
      sample_a[i] = (float)(((double)(r & 0xffffffu) * 0x1p-23 - 1.0) * reach);
      sample_b[i] = (float)(((double)(r >> 40) * 0x1p-23 - 1.0) * 12.0);
    }
    for (int i = 0; i < CLAIM_COUNT; i++) check_f32(&claims[i], subjects, count, sample_a, sample_b, SAMPLES / 4);
  }
}

// Limits of overflow and underflow, changes of formula, multiples of pi/2 as near as floats come.
TEST(f32_functions_keep_their_bounds_around_every_edge) {
  static const float edges[] = {
      0x1p-149f,  0x1p-126f,   0x1p-24f,   0x1p-12f, 0.25f,      0.29289322f, 0.34657359f, 0.41421356f, 0.5f,
      0.6f,       0.69314718f, 0.7071068f, 1.0f,     1.0397208f, 1.4142135f,  1.5707964f,  2.0f,        3.1415927f,
      4.0f,       4.712389f,   9.1f,       16.0f,    17.3f,      18.0f,       32.0f,       87.336544f,  88.722839f,
      89.415985f, 103.97208f,  104.0f,     126.0f,   128.0f,     149.0f,      151.0f,      1000.0f,     10819.3447f,
      32768.0f,   131072.0f,   1e7f,       0x1p24f,  1e10f,      1e22f,       0x1p126f,    FLT_MAX};
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  uint32_t n = 0;
  for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
    uint32_t bits = bits_of(edges[e]);
    for (uint32_t k = 0; k < 300; k++) {
      uint32_t near = bits > 150 ? bits - 150 + k : k;
      sample_a[n] = float_from(near | (k % 2 == 0 ? 0x80000000u : 0u));
      sample_b[n] = edges[(e * 7 + k) % (sizeof edges / sizeof edges[0])] * (k % 3 == 0 ? -1.0f : 1.0f);
      n++;
    }
  }
  for (int i = 0; i < CLAIM_COUNT; i++) check_f32(&claims[i], subjects, count, sample_a, sample_b, n);
}

// All pairs of special values: zeros, infinities, NaN, smallest and largest numbers, odd and even integers.
TEST(f32_functions_of_two_keep_their_bounds_on_all_pairs_of_special_values) {
  static const float values[] = {0.0f,  0x1p-149f, 0x1p-127f, 0x1p-126f, 0.5f,    0.99999994f, 1.0f,  1.0000001f,
                                 1.5f,  2.0f,      3.0f,      127.0f,    128.0f,  149.0f,      1e10f, 16777215.0f,
                                 1e20f, 0x1p126f,  FLT_MAX,   INFINITY,  0x1p24f, NAN};
  enum { COUNT = 2 * sizeof values / sizeof values[0] };
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  for (int i = 0; i < COUNT * COUNT; i++) {
    int a = i % COUNT, b = i / COUNT;
    sample_a[i] = a % 2 == 0 ? values[a / 2] : -values[a / 2];
    sample_b[i] = b % 2 == 0 ? values[b / 2] : -values[b / 2];
  }
  for (int s = 0; s < count; s++) {
    if (subjects[s].is_sleef) continue;  // none of these is taken from it
    check_f32(&claims[TSRI_MATH_ATAN2], &subjects[s], 1, sample_a, sample_b, COUNT * COUNT);
    check_f32(&claims[TSRI_MATH_POW], &subjects[s], 1, sample_a, sample_b, COUNT * COUNT);
  }
}

TEST(f64_functions_are_as_good_as_the_c_library) {
  if (LDBL_MANT_DIG == DBL_MANT_DIG) SKIP("long double is no wider than double here: nothing to compare with");
  enum { COUNT = 4096 };
  static double a[COUNT], b[COUNT], is[COUNT];
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  uint64_t state = 3;
  for (int i = 0; i < COUNT; i++) {
    uint64_t r = random_bits(&state), s = random_bits(&state);
    double unit = (double)(r >> 11) * 0x1p-52 - 1.0;
    if (i % 4 == 0) memcpy(&a[i], &r, sizeof r);  // any bits
    if (i % 4 != 0) a[i] = unit * (double[]){0.0, 1.0, 30.0, 712.0}[i % 4];
    b[i] = ((double)(s >> 11) * 0x1p-52 - 1.0) * 20.0;
  }
  for (int k = 0; k < CLAIM_COUNT; k++) {
    const claim *c = &claims[k];
    for (int s = 0; s < count; s++) {
      if (!subjects[s].math->f64[c->op]) continue;
      subjects[s].math->f64[c->op](is, a, b, COUNT);
      for (int i = 0; i < COUNT; i++) {
        long double x = (long double)a[i], y = (long double)b[i];
        long double wanted = c->of_one_long ? c->of_one_long(x) : c->of_two_long(x, y);
        double error = ulp_error((long double)is[i], wanted, DBL_MANT_DIG, DBL_MIN_EXP - 1, DBL_MAX_EXP - 1);
        if (error <= f64_bound) continue;
        test_fail(__FILE__, __LINE__, "%s %s%s: %.3f ULP at (%a, %a): is %a, wanted %La", c->name, subjects[s].level,
                  subjects[s].is_sleef ? " (SLEEF)" : "", error, a[i], b[i], is[i], wanted);
      }
    }
  }
}

// The largest argument with a finite result: found by halving, since the functions grow.
static double last_finite(long double (*of)(long double)) {
  double low = 0, high = 2000;
  for (int i = 0; i < 200; i++) {
    double middle = low + (high - low) / 2;
    if (of((long double)middle) <= (long double)DBL_MAX) low = middle;
    else high = middle;
  }
  return low;
}

// Every number there is next to the limit, then a sample around it: SLEEF's exp gave infinity for some that are finite.
TEST(f64_functions_overflow_where_their_exact_value_does) {
  if (LDBL_MANT_DIG == DBL_MANT_DIG) SKIP("long double is no wider than double here: nothing to compare with");
  enum { COUNT = 4096 };
  static double a[COUNT], is[COUNT];
  static const tsri_math_op growing[] = {TSRI_MATH_EXP, TSRI_MATH_EXP2, TSRI_MATH_EXPM1, TSRI_MATH_SINH,
                                         TSRI_MATH_COSH};
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  for (size_t k = 0; k < sizeof growing / sizeof *growing; k++) {
    const claim *c = &claims[growing[k]];
    CHECK(c->op == growing[k]);
    double limit = last_finite(c->of_one_long);
    uint64_t state = 5;
    for (int i = 0; i < COUNT; i++) {
      double unit = (double)(random_bits(&state) >> 11) * 0x1p-53;
      a[i] = i < COUNT / 2 ? limit * (1 + (i - COUNT / 4) * 0x1p-53) : limit + (unit - 0.5) * 8e-6;
      if (c->op == TSRI_MATH_COSH && i % 2) a[i] = -a[i];
    }
    for (int s = 0; s < count; s++) {
      if (!subjects[s].math->f64[c->op]) continue;
      subjects[s].math->f64[c->op](is, a, a, COUNT);
      for (int i = 0; i < COUNT; i++) {
        long double wanted = c->of_one_long((long double)a[i]);
        double error = ulp_error((long double)is[i], wanted, DBL_MANT_DIG, DBL_MIN_EXP - 1, DBL_MAX_EXP - 1);
        if (error <= f64_bound) continue;
        test_fail(__FILE__, __LINE__, "%s %s%s: %.3f ULP at %.17g: is %g, wanted %Lg", c->name, subjects[s].level,
                  subjects[s].is_sleef ? " (SLEEF)" : "", error, a[i], is[i], wanted);
      }
    }
  }
}

// --- Special values ---

typedef struct special {
  tsri_math_op op;
  float a, b, wanted;
} special;

#define INF INFINITY
#define ONE(op, a, wanted) \
  { TSRI_MATH_##op, a, 0.0f, wanted }
#define TWO(op, a, b, wanted) \
  { TSRI_MATH_##op, a, b, wanted }

static const special specials[] = {
    // clang-format off
    ONE(SQRT, -0.0f, -0.0f), ONE(SQRT, -1.0f, NAN), ONE(SQRT, INF, INF), ONE(SQRT, 0x1p-148f, 0x1p-74f),
    ONE(RSQRT, 0.0f, INF), ONE(RSQRT, -1.0f, NAN), ONE(RSQRT, INF, 0.0f), ONE(RSQRT, 4.0f, 0.5f), ONE(RSQRT, NAN, NAN),
    ONE(EXP, 0.0f, 1.0f), ONE(EXP, -0.0f, 1.0f), ONE(EXP, INF, INF), ONE(EXP, -INF, 0.0f), ONE(EXP, NAN, NAN),
    ONE(EXP, 88.72284f, INF), ONE(EXP, FLT_MAX, INF), ONE(EXP, -104.0f, 0.0f), ONE(EXP, -FLT_MAX, 0.0f),
    ONE(EXP2, -149.0f, 0x1p-149f), ONE(EXP2, 127.0f, 0x1p127f), ONE(EXP2, 128.0f, INF), ONE(EXP2, -151.0f, 0.0f),
    ONE(EXP2, 0x1p-149f, 1.0f), ONE(EXP2, NAN, NAN), ONE(EXP2, INF, INF), ONE(EXP2, -INF, 0.0f),
    ONE(EXPM1, 0.0f, 0.0f), ONE(EXPM1, -0.0f, -0.0f), ONE(EXPM1, INF, INF), ONE(EXPM1, -INF, -1.0f),
    ONE(EXPM1, NAN, NAN), ONE(EXPM1, 0x1p-149f, 0x1p-149f), ONE(EXPM1, -0x1p-140f, -0x1p-140f),
    ONE(LOG, 1.0f, 0.0f), ONE(LOG, 0.0f, -INF), ONE(LOG, -0.0f, -INF), ONE(LOG, -1.0f, NAN), ONE(LOG, -INF, NAN),
    ONE(LOG, INF, INF), ONE(LOG, NAN, NAN), ONE(LOG, -0x1p-149f, NAN),
    ONE(LOG2, 1.0f, 0.0f), ONE(LOG2, 0x1p-149f, -149.0f), ONE(LOG2, 0x1p127f, 127.0f), ONE(LOG2, 0.0f, -INF),
    ONE(LOG2, -1.0f, NAN), ONE(LOG2, INF, INF), ONE(LOG10, 1.0f, 0.0f), ONE(LOG10, 1000.0f, 3.0f),
    ONE(LOG10, 0.0f, -INF), ONE(LOG10, -1.0f, NAN), ONE(LOG10, INF, INF), ONE(LOG10, NAN, NAN),
    ONE(LOG1P, 0.0f, 0.0f), ONE(LOG1P, -0.0f, -0.0f), ONE(LOG1P, -1.0f, -INF), ONE(LOG1P, -1.5f, NAN),
    ONE(LOG1P, INF, INF), ONE(LOG1P, NAN, NAN), ONE(LOG1P, 0x1p-149f, 0x1p-149f), ONE(LOG1P, -INF, NAN),
    ONE(SIN, 0.0f, 0.0f), ONE(SIN, -0.0f, -0.0f), ONE(SIN, INF, NAN), ONE(SIN, -INF, NAN), ONE(SIN, NAN, NAN),
    ONE(SIN, 0x1p-149f, 0x1p-149f), ONE(COS, 0.0f, 1.0f), ONE(COS, -0.0f, 1.0f), ONE(COS, INF, NAN), ONE(COS, NAN, NAN),
    ONE(TAN, 0.0f, 0.0f), ONE(TAN, -0.0f, -0.0f), ONE(TAN, -INF, NAN), ONE(TAN, NAN, NAN),
    ONE(ASIN, -0.0f, -0.0f), ONE(ASIN, 1.0f, 0x1.921fb6p+0f), ONE(ASIN, -1.0f, -0x1.921fb6p+0f),
    ONE(ASIN, 1.0000001f, NAN), ONE(ASIN, -INF, NAN), ONE(ASIN, NAN, NAN), ONE(ACOS, 1.0f, 0.0f),
    ONE(ACOS, -1.0f, 0x1.921fb6p+1f), ONE(ACOS, 0.0f, 0x1.921fb6p+0f), ONE(ACOS, -1.5f, NAN), ONE(ACOS, NAN, NAN),
    ONE(ATAN, -0.0f, -0.0f), ONE(ATAN, INF, 0x1.921fb6p+0f), ONE(ATAN, -INF, -0x1.921fb6p+0f), ONE(ATAN, NAN, NAN),
    ONE(SINH, -0.0f, -0.0f), ONE(SINH, INF, INF), ONE(SINH, -INF, -INF), ONE(SINH, 90.0f, INF), ONE(SINH, NAN, NAN),
    ONE(COSH, 0.0f, 1.0f), ONE(COSH, -INF, INF), ONE(COSH, -90.0f, INF), ONE(COSH, NAN, NAN),
    ONE(TANH, -0.0f, -0.0f), ONE(TANH, INF, 1.0f), ONE(TANH, -INF, -1.0f), ONE(TANH, FLT_MAX, 1.0f), ONE(TANH, NAN, NAN),
    ONE(TANH, 0x1p-149f, 0x1p-149f), ONE(ERF, 0.0f, 0.0f), ONE(ERF, -0.0f, -0.0f), ONE(ERF, INF, 1.0f),
    ONE(ERF, -INF, -1.0f), ONE(ERF, NAN, NAN), ONE(ERF, 5.0f, 1.0f),
    TWO(ATAN2, 0.0f, 1.0f, 0.0f), TWO(ATAN2, -0.0f, 1.0f, -0.0f), TWO(ATAN2, 0.0f, -1.0f, 0x1.921fb6p+1f),
    TWO(ATAN2, -0.0f, -1.0f, -0x1.921fb6p+1f), TWO(ATAN2, 0.0f, 0.0f, 0.0f), TWO(ATAN2, -0.0f, 0.0f, -0.0f),
    TWO(ATAN2, 0.0f, -0.0f, 0x1.921fb6p+1f), TWO(ATAN2, -0.0f, -0.0f, -0x1.921fb6p+1f),
    TWO(ATAN2, 1.0f, 0.0f, 0x1.921fb6p+0f), TWO(ATAN2, -1.0f, -0.0f, -0x1.921fb6p+0f),
    TWO(ATAN2, INF, 1.0f, 0x1.921fb6p+0f), TWO(ATAN2, 1.0f, INF, 0.0f), TWO(ATAN2, -1.0f, -INF, -0x1.921fb6p+1f),
    TWO(ATAN2, NAN, 1.0f, NAN), TWO(ATAN2, 1.0f, NAN, NAN), TWO(ATAN2, NAN, INF, NAN),
    TWO(POW, 2.0f, 10.0f, 1024.0f), TWO(POW, -2.0f, 3.0f, -8.0f), TWO(POW, -2.0f, 4.0f, 16.0f),
    TWO(POW, -8.0f, 0.5f, NAN), TWO(POW, 0.0f, 0.0f, 1.0f), TWO(POW, NAN, 0.0f, 1.0f), TWO(POW, NAN, -0.0f, 1.0f),
    TWO(POW, 1.0f, NAN, 1.0f), TWO(POW, 1.0f, INF, 1.0f), TWO(POW, -1.0f, INF, 1.0f), TWO(POW, -1.0f, -INF, 1.0f),
    TWO(POW, NAN, 1.0f, NAN), TWO(POW, 2.0f, NAN, NAN), TWO(POW, -1.0f, NAN, NAN), TWO(POW, 0.0f, 3.0f, 0.0f),
    TWO(POW, -0.0f, 3.0f, -0.0f), TWO(POW, -0.0f, 2.0f, 0.0f), TWO(POW, 0.0f, -3.0f, INF), TWO(POW, -0.0f, -3.0f, -INF),
    TWO(POW, -0.0f, -2.0f, INF), TWO(POW, -0.0f, 0.5f, 0.0f), TWO(POW, 0.0f, INF, 0.0f), TWO(POW, 0.0f, -INF, INF),
    TWO(POW, 0.5f, INF, 0.0f), TWO(POW, 0.5f, -INF, INF), TWO(POW, 2.0f, INF, INF), TWO(POW, 2.0f, -INF, 0.0f),
    TWO(POW, -0.5f, INF, 0.0f), TWO(POW, -2.0f, INF, INF), TWO(POW, INF, 2.0f, INF), TWO(POW, INF, -2.0f, 0.0f),
    TWO(POW, -INF, 3.0f, -INF), TWO(POW, -INF, 2.0f, INF), TWO(POW, -INF, -3.0f, -0.0f), TWO(POW, -INF, -2.0f, 0.0f),
    TWO(POW, -INF, 0.5f, INF), TWO(POW, -1.0f, 0x1p24f, 1.0f), TWO(POW, -1.0f, 16777215.0f, -1.0f),
    TWO(POW, -1.0f, -8388609.0f, -1.0f), TWO(POW, -1.0f, 4194303.5f, NAN), TWO(POW, 2.0f, -149.0f, 0x1p-149f),
    TWO(POW, 2.0f, -151.0f, 0.0f), TWO(POW, 2.0f, 128.0f, INF), TWO(POW, -2.0f, 129.0f, -INF),
    TWO(POW, 0x1p-149f, 0.5f, 0x1.6a09e6p-75f), TWO(POW, 0x1p-149f, -1.0f, INF),
    // clang-format on
};

// Functions of SLEEF that the tables do not use need not meet the bound.
TEST(f32_special_values_are_those_of_c_at_every_level) {
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  for (int s = 0; s < count; s++) {
    const tsri_lane_math *math = tsri_lane_math_for(subjects[s].level, subjects[s].is_sleef);
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
      const special *c = &specials[i];
      for (uint32_t n = 1; n <= 33; n += 16) {  // the place in a vector makes no difference
        float a[33], b[33], is[33];
        for (uint32_t k = 0; k < n; k++) a[k] = c->a, b[k] = c->b;
        math->f32[c->op](is, a, b, n);
        for (uint32_t k = 0; k < n; k++) {
          if (same_f32(is[k], c->wanted)) continue;
          test_fail(__FILE__, __LINE__, "%s %s(%a, %a) is %a, wanted %a", subjects[s].level, claims[c->op].name,
                    (double)c->a, (double)c->b, (double)is[k], (double)c->wanted);
        }
      }
    }
  }
}

TEST(f64_special_values_are_those_of_c_at_every_level) {
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  static const double values[] = {0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, -0.5, INFINITY, -INFINITY, NAN, DBL_MAX, 710.0};
  enum { COUNT = sizeof values / sizeof values[0] };
  for (int s = 0; s < count; s++) {
    const tsri_lane_math *math = tsri_lane_math_for(subjects[s].level, subjects[s].is_sleef);
    for (int k = 0; k < CLAIM_COUNT; k++) {
      const claim *c = &claims[k];
      for (int i = 0; i < COUNT * COUNT; i++) {
        double a = values[i % COUNT], b = values[i / COUNT], is = 0.0;
        double wanted = c->of_one ? c->of_one(a) : c->of_two(a, b);
        math->f64[c->op](&is, &a, &b, 1);
        double error = ulp_error((long double)is, (long double)wanted, DBL_MANT_DIG, DBL_MIN_EXP - 1, DBL_MAX_EXP - 1);
        if (error <= f64_bound) continue;
        test_fail(__FILE__, __LINE__, "%s f64 %s(%a, %a) is %a, wanted %a", subjects[s].level, c->name, a, b, is,
                  wanted);
      }
    }
  }
}

// --- Arrays ---

enum { LONGEST = 70, GUARD = 32 };

// The result of our functions does not depend on the other lanes of the vector. SLEEF's sin does: if one lane is huge, all lanes use another algorithm.
static bool same_result(const subject *of, float is, float wanted) {
  return same_f32(is, wanted) || (of->is_sleef && ulp_error_f32(is, (double)wanted) <= 2.0 * sleef_bound);
}

// Arguments in the domain of every function, with a huge one (sin's second way) and a NaN among them.
static void fill_mixed(float *a, float *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    a[i] = 0.01f + 0.013f * (float)i;
    b[i] = 1.5f - 0.04f * (float)i;
    if (i % 23 == 11) a[i] = 1e20f;
    if (i % 29 == 17) a[i] = NAN;
  }
}

TEST(f32_arrays_of_any_length_write_their_elements_and_no_other) {
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  float a[LONGEST], b[LONGEST], whole[LONGEST], is[LONGEST + 2 * GUARD];
  const float canary = -12345.0f;
  fill_mixed(a, b, LONGEST);
  for (int s = 0; s < count; s++) {
    for (int op = 0; op < TSRI_MATH_COUNT; op++) {
      tsri_math_f32 run = subjects[s].math->f32[op];
      if (!run) continue;
      run(whole, a, b, LONGEST);
      for (uint32_t n = 0; n <= LONGEST; n++) {
        for (int i = 0; i < LONGEST + 2 * GUARD; i++) is[i] = canary;
        run(is + GUARD, a, b, n);
        for (uint32_t i = 0; i < n; i++) CHECK(same_result(&subjects[s], is[GUARD + i], whole[i]));
        for (uint32_t i = 0; i < GUARD; i++) CHECK(is[i] == canary && is[GUARD + n + i] == canary);
      }
    }
  }
}

// Arrays that end where their memory does: a read past them shows under the address sanitizer.
TEST(f64_arrays_of_any_length_write_their_elements_and_no_other) {
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  for (int s = 0; s < count; s++) {
    for (uint32_t n = 1; n <= LONGEST; n += 3) {
      double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *is = malloc(n * sizeof *is);
      CHECK(a && b && is);
      for (uint32_t i = 0; i < n; i++) a[i] = 0.01 + 0.013 * i, b[i] = 1.5;
      for (int op = 0; op < TSRI_MATH_COUNT; op++) {
        if (!subjects[s].math->f64[op]) continue;
        subjects[s].math->f64[op](is, a, b, n);
        double last = 0.0;
        subjects[s].math->f64[op](&last, &a[n - 1], &b[n - 1], 1);
        CHECK(is[n - 1] == last || (isnan(last) && isnan(is[n - 1])));
      }
      free(a);
      free(b);
      free(is);
    }
  }
}

TEST(f32_results_may_go_where_an_argument_was) {
  enum { COUNT = 777 };  // more than a block
  static float a[COUNT], b[COUNT], apart[COUNT], over_a[COUNT], over_b[COUNT];
  subject subjects[MOST_SUBJECTS];
  int count = find_subjects(subjects);
  fill_mixed(a, b, COUNT);
  for (int s = 0; s < count; s++) {
    for (int op = 0; op < TSRI_MATH_COUNT; op++) {
      tsri_math_f32 run = subjects[s].math->f32[op];
      if (!run) continue;
      memcpy(over_a, a, sizeof a);
      memcpy(over_b, b, sizeof b);
      run(apart, a, b, COUNT);
      run(over_a, over_a, b, COUNT);
      run(over_b, a, over_b, COUNT);
      for (int i = 0; i < COUNT; i++) CHECK(same_f32(over_a[i], apart[i]) && same_f32(over_b[i], apart[i]));
    }
  }
}

// --- Choosing ---

TEST(a_level_unknown_here_gives_the_baseline) {
  CHECK(tsri_lane_math_for(NULL, false) == tsri_math_own(TSRI_MATH_LEVEL_baseline));
  CHECK(tsri_lane_math_for("altivec", false) == tsri_math_own(TSRI_MATH_LEVEL_baseline));
  CHECK(tsri_lane_math_for("baseline", false) == tsri_math_own(TSRI_MATH_LEVEL_baseline));
}

TEST(no_entry_is_missing_at_any_level) {
  for (int level = 0; level < TSRI_MATH_LEVEL_COUNT; level++) {
    for (int sleef = 0; sleef < 2; sleef++) {
      const tsri_lane_math *math = tsri_lane_math_for(tsri_math_level_names[level], sleef == 1);
      for (int op = 0; op < TSRI_MATH_COUNT; op++) CHECK(math->f32[op] && math->f64[op]);
    }
  }
}

TEST(claims_cover_every_function_in_order) {
  CHECK_EQ_INT(CLAIM_COUNT, TSRI_MATH_COUNT);
  for (int i = 0; i < CLAIM_COUNT; i++) CHECK_EQ_INT(claims[i].op, i);
}

static void *choose_on_a_thread(void *user) {
  (void)user;
  return (void *)tsri_lane_math_for(tsri_cpu_simd_level(NULL), true);
}

TEST(threads_that_choose_at_once_get_the_same_table) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, choose_on_a_thread, NULL) == 0);
  for (int i = 0; i < 4; i++) {
    void *math = NULL;
    pthread_join(threads[i], &math);
    CHECK(math == tsri_lane_math_for(tsri_cpu_simd_level(NULL), true));
  }
}

TEST(sleef_is_used_where_it_is_installed) {
  if (!tsri_math_sleef(TSRI_MATH_LEVEL_baseline)) SKIP("libsleef.so.3 cannot be opened here (Debian: libsleef3)");
  for (int level = 0; level < TSRI_MATH_LEVEL_COUNT; level++) {
    const tsri_lane_math *math = tsri_lane_math_for(tsri_math_level_names[level], true);
    CHECK(math->f64[TSRI_MATH_EXP] == tsri_math_sleef((tsri_math_level)level)->f64[TSRI_MATH_EXP]);
  }
}
