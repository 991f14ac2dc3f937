// SPDX-License-Identifier: MIT
// The language's transcendental functions on arrays, in one table per SIMD level.
//
// The f32 functions are within 2 ULP of the exact result over the whole range, with C's results for NaN, infinities,
// zeros and subnormals (the sign of a NaN is not given). The f64 ones are within 1 ULP with SLEEF, else as the C
// library's.
#ifndef TSRI_CPU_MATH_H
#define TSRI_CPU_MATH_H

#include <stdbool.h>
#include <stdint.h>

// X(name as in lang/ir_ops.h, number of arguments)
#define TSRI_MATH_OPS(X) \
  X(SQRT, 1)             \
  X(RSQRT, 1)            \
  X(EXP, 1)              \
  X(EXP2, 1)             \
  X(EXPM1, 1)            \
  X(LOG, 1)              \
  X(LOG2, 1)             \
  X(LOG10, 1)            \
  X(LOG1P, 1)            \
  X(SIN, 1)              \
  X(COS, 1)              \
  X(TAN, 1)              \
  X(ASIN, 1)             \
  X(ACOS, 1)             \
  X(ATAN, 1)             \
  X(ATAN2, 2)            \
  X(SINH, 1)             \
  X(COSH, 1)             \
  X(TANH, 1)             \
  X(ERF, 1)              \
  X(POW, 2)

typedef enum tsri_math_op {
#define TSRI_X(name, count) TSRI_MATH_##name,
  TSRI_MATH_OPS(TSRI_X)
#undef TSRI_X
      TSRI_MATH_COUNT
} tsri_math_op;

// dst[i] = op(a[i], b[i]) for i < n. `dst` may be `a` or `b`, and overlaps them in no other way; `b` is not read by
// functions of one argument. Nothing beyond `n` is read or written. No alignment is needed.
// Threads: any.
typedef void (*tsri_math_f32)(float *dst, const float *a, const float *b, uint32_t n);
typedef void (*tsri_math_f64)(double *dst, const double *a, const double *b, uint32_t n);

// No entry is NULL.
typedef struct tsri_lane_math {
  tsri_math_f32 f32[TSRI_MATH_COUNT];
  tsri_math_f64 f64[TSRI_MATH_COUNT];
} tsri_lane_math;

// The table for "baseline", "neon", "avx2" or "avx512" (the caller has checked that the processor has it); NULL or a
// level that this build does not have gives the baseline. `allow_sleef`: functions that SLEEF computes faster at this
// level come from it, if its library can be opened; the first such call opens it, and it stays open.
//
// Ownership: the table lives for ever.
// Threads:   any.
const tsri_lane_math *tsri_lane_math_for(const char *simd_level, bool allow_sleef);

#endif
