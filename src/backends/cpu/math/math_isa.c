// SPDX-License-Identifier: MIT
// Our own functions at one SIMD level: a loop around each lane function, which the compiler vectorises.
//
// The f64 functions call the C library for each element, except square roots. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/math/f32_base.h"
#include "backends/cpu/math/f32_exp.h"
#include "backends/cpu/math/f32_log.h"
#include "backends/cpu/math/f32_pow.h"
#include "backends/cpu/math/f32_trig.h"
#include "backends/cpu/math/math_levels.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

// Tells the compiler that loop iterations are independent: dst is the same array as a or b, or does not overlap them.
#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define LANES _Pragma("GCC ivdep")
#else
#define LANES
#endif

LANE float sqrt_f32(float x) { return sqrtf(x); }
LANE float rsqrt_f32(float x) { return 1.0f / sqrtf(x); }

#define EACH_F32(function)                                                                    \
  static void each_##function##_f32(float *dst, const float *a, const float *b, uint32_t n) { \
    (void)b;                                                                                  \
    LANES for (uint32_t i = 0; i < n; i++) dst[i] = function##_f32(a[i]);                     \
  }
EACH_F32(sqrt)
EACH_F32(rsqrt)
EACH_F32(exp)
EACH_F32(exp2)
EACH_F32(expm1)
EACH_F32(log)
EACH_F32(log2)
EACH_F32(log10)
EACH_F32(log1p)
EACH_F32(asin)
EACH_F32(acos)
EACH_F32(atan)
EACH_F32(sinh)
EACH_F32(cosh)
EACH_F32(tanh)
EACH_F32(erf)

static void each_atan2_f32(float *dst, const float *a, const float *b, uint32_t n) {
  LANES for (uint32_t i = 0; i < n; i++) dst[i] = atan2_f32(a[i], b[i]);
}

// Functions that take several loops do BLOCK lanes at a time.
enum { BLOCK = 256 };

// Three loops instead of one: in a single loop gcc would branch around the work for lanes whose result is a constant, and
// then generate no vector code.
static void pow_block(float *dst, const float *x, const float *y, uint32_t n) {
  double exponents[BLOCK];
  float powers[BLOCK];
  LANES for (uint32_t i = 0; i < n; i++) exponents[i] = (double)y[i] * pow_log2(magnitude(x[i]));
  LANES for (uint32_t i = 0; i < n; i++) powers[i] = pow_exp2(exponents[i]);
  LANES for (uint32_t i = 0; i < n; i++) dst[i] = pow_special(x[i], y[i], powers[i]);
}

static void each_pow_f32(float *dst, const float *a, const float *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i += BLOCK) pow_block(dst + i, a + i, b + i, n - i < BLOCK ? n - i : BLOCK);
}

// sin, cos and tan: lanes with an argument beyond TRIG_LIMIT are computed by the C library, in f64.
LANE uint32_t is_beyond(float x) { return magnitude(x) > TRIG_LIMIT; }

static bool any_is_beyond(const float *a, uint32_t n) {
  uint32_t any = 0;
  for (uint32_t i = 0; i < n; i++) any |= is_beyond(a[i]);
  return any != 0;
}

static void trig_block(float *dst, const float *a, uint32_t n, tsri_math_f32 small, double (*huge)(double)) {
  if (!any_is_beyond(a, n)) {
    small(dst, a, a, n);
    return;
  }
  float kept[BLOCK];  // arguments, since dst may be the same array as a
  memcpy(kept, a, n * sizeof *a);
  small(dst, kept, kept, n);
  for (uint32_t i = 0; i < n; i++) {
    if (is_beyond(kept[i]) && magnitude(kept[i]) < INFINITY) dst[i] = (float)huge((double)kept[i]);
  }
}

#define EACH_TRIG_F32(function)                                                                         \
  EACH_F32(small_##function)                                                                            \
  static void each_##function##_f32(float *dst, const float *a, const float *b, uint32_t n) {           \
    (void)b;                                                                                            \
    for (uint32_t i = 0; i < n; i += BLOCK) {                                                           \
      trig_block(dst + i, a + i, n - i < BLOCK ? n - i : BLOCK, each_small_##function##_f32, function); \
    }                                                                                                   \
  }
EACH_TRIG_F32(sin)
EACH_TRIG_F32(cos)
EACH_TRIG_F32(tan)

static void each_sqrt_f64(double *dst, const double *a, const double *b, uint32_t n) {
  (void)b;
  LANES for (uint32_t i = 0; i < n; i++) dst[i] = sqrt(a[i]);
}

static void each_rsqrt_f64(double *dst, const double *a, const double *b, uint32_t n) {
  (void)b;
  LANES for (uint32_t i = 0; i < n; i++) dst[i] = 1.0 / sqrt(a[i]);
}

#define EACH_F64(name, value)                                                                \
  static void each_##name##_f64(double *dst, const double *a, const double *b, uint32_t n) { \
    (void)b;                                                                                 \
    for (uint32_t i = 0; i < n; i++) dst[i] = value;                                         \
  }
EACH_F64(exp, exp(a[i]))
EACH_F64(exp2, exp2(a[i]))
EACH_F64(expm1, expm1(a[i]))
EACH_F64(log, log(a[i]))
EACH_F64(log2, log2(a[i]))
EACH_F64(log10, log10(a[i]))
EACH_F64(log1p, log1p(a[i]))
EACH_F64(sin, sin(a[i]))
EACH_F64(cos, cos(a[i]))
EACH_F64(tan, tan(a[i]))
EACH_F64(asin, asin(a[i]))
EACH_F64(acos, acos(a[i]))
EACH_F64(atan, atan(a[i]))
EACH_F64(atan2, atan2(a[i], b[i]))
EACH_F64(sinh, sinh(a[i]))
EACH_F64(cosh, cosh(a[i]))
EACH_F64(tanh, tanh(a[i]))
EACH_F64(erf, erf(a[i]))
EACH_F64(pow, pow(a[i], b[i]))

#define BOTH(X)   \
  X(SQRT, sqrt)   \
  X(RSQRT, rsqrt) \
  X(EXP, exp)     \
  X(EXP2, exp2)   \
  X(EXPM1, expm1) \
  X(LOG, log)     \
  X(LOG2, log2)   \
  X(LOG10, log10) \
  X(LOG1P, log1p) \
  X(SIN, sin)     \
  X(COS, cos)     \
  X(TAN, tan)     \
  X(ASIN, asin)   \
  X(ACOS, acos)   \
  X(ATAN, atan)   \
  X(ATAN2, atan2) \
  X(SINH, sinh)   \
  X(COSH, cosh)   \
  X(TANH, tanh)   \
  X(ERF, erf)     \
  X(POW, pow)
#define F32_ENTRY(op, function) [TSRI_MATH_##op] = each_##function##_f32,
#define F64_ENTRY(op, function) [TSRI_MATH_##op] = each_##function##_f64,

const tsri_lane_math PASTE(tsri_math_own_, TSRI_ISA) = {.f32 = {BOTH(F32_ENTRY)}, .f64 = {BOTH(F64_ENTRY)}};
