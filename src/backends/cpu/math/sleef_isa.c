// SPDX-License-Identifier: MIT
// SLEEF's functions at one SIMD level, behind our signature. Compiled once per level (cmake/isa.cmake).
//
// The library is opened at run time (math.c). Its names tell type, lanes, error bound and instructions:
// Sleef_expf8_u10avx2 is exp of 8 floats within 1.0 ULP, by AVX2.
#include "backends/cpu/math/math_levels.h"

#include <math.h>
#include <string.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define LOAD         PASTE(tsri_math_sleef_, TSRI_ISA)

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#define F32_NAME(function) "Sleef_" #function "f16_u10avx512f"
#define F64_NAME(function) "Sleef_" #function "d8_u10avx512f"
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32 };
#define F32_NAME(function) "Sleef_" #function "f8_u10avx2"
#define F64_NAME(function) "Sleef_" #function "d4_u10avx2"
#elif defined(__x86_64__)
enum { VECTOR_BYTES = 16 };
#define F32_NAME(function) "Sleef_" #function "f4_u10sse2"
#define F64_NAME(function) "Sleef_" #function "d2_u10sse2"
#else
enum { VECTOR_BYTES = 16 };
#define F32_NAME(function) "Sleef_" #function "f4_u10advsimd"
#define F64_NAME(function) "Sleef_" #function "d2_u10advsimd"
#endif

// The type in the functions' signatures: the same to the calling convention as the processor's vector types.
typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES)));

// X(op, function, limit for f32, limit for f64): beyond the limits, SLEEF returns infinity too early (its exp in f64 from 709.7827111495576 on, although e^x is
// finite up to 709.782712893384) or NaN; such arguments go to the C library. ABOVE: the limit is for positive arguments only.
#define ONE_ARGUMENT(X)               \
  X(EXP, exp, 88.0, 709.7, ABOVE)     \
  X(EXP2, exp2, NONE, NONE, ABOVE)    \
  X(EXPM1, expm1, NONE, NONE, ABOVE)  \
  X(LOG, log, NONE, NONE, ABOVE)      \
  X(LOG2, log2, NONE, NONE, ABOVE)    \
  X(LOG10, log10, NONE, NONE, ABOVE)  \
  X(LOG1P, log1p, 1e37, 1e306, ABOVE) \
  X(SIN, sin, NONE, NONE, ABOVE)      \
  X(COS, cos, NONE, NONE, ABOVE)      \
  X(TAN, tan, NONE, NONE, ABOVE)      \
  X(ASIN, asin, NONE, NONE, ABOVE)    \
  X(ACOS, acos, NONE, NONE, ABOVE)    \
  X(ATAN, atan, NONE, NONE, ABOVE)    \
  X(SINH, sinh, 88.0, 709.0, BEYOND)  \
  X(COSH, cosh, 88.0, 709.0, BEYOND)  \
  X(TANH, tanh, NONE, NONE, ABOVE)    \
  X(ERF, erf, NONE, NONE, ABOVE)
#define TWO_ARGUMENTS(X) \
  X(ATAN2, atan2)        \
  X(POW, pow)
#define NONE   INFINITY
#define ABOVE  false
#define BEYOND true

#define SCALAR    float
#define VECTOR    vector_f32
#define NAME(end) end##_f32
#include "backends/cpu/math/sleef_run.inc"
#undef SCALAR
#undef VECTOR
#undef NAME

#define SCALAR    double
#define VECTOR    vector_f64
#define NAME(end) end##_f64
#include "backends/cpu/math/sleef_run.inc"

// Each function's pointer into SLEEF, which is set before any table that uses it is returned, and the function for our table.
#define EACH_ONE(function, scalar, type, limit, both_signs)                                         \
  static vector_##type (*sleef_##function##_##type)(vector_##type);                                 \
  static void each_##function##_##type(scalar *dst, const scalar *a, const scalar *b, uint32_t n) { \
    (void)b;                                                                                        \
    run_one_##type(sleef_##function##_##type, dst, a, n, limit, both_signs, function);              \
  }
#define EACH_ONE_BOTH(op, function, limit_f32, limit_f64, both_signs) \
  EACH_ONE(function, float, f32, limit_f32, both_signs)               \
  EACH_ONE(function, double, f64, limit_f64, both_signs)
ONE_ARGUMENT(EACH_ONE_BOTH)

#define EACH_TWO(function, scalar, type)                                                            \
  static vector_##type (*sleef_##function##_##type)(vector_##type, vector_##type);                  \
  static void each_##function##_##type(scalar *dst, const scalar *a, const scalar *b, uint32_t n) { \
    run_two_##type(sleef_##function##_##type, dst, a, b, n, function);                              \
  }
#define EACH_TWO_BOTH(op, function) \
  EACH_TWO(function, float, f32)    \
  EACH_TWO(function, double, f64)
TWO_ARGUMENTS(EACH_TWO_BOTH)

// Whether the library has the symbol; if so, sets `slot`, a function pointer, to it.
static bool find(tsri_library *sleef, const char *name, void *slot) {
  void *address = tsri_library_symbol(sleef, name);
  memcpy(slot, &address, sizeof address);
  return address != NULL;
}

bool LOAD(tsri_library *sleef, tsri_lane_math *functions) {
  *functions = (tsri_lane_math){0};
#define TSRI_X(op, function, ...)                                         \
  if (find(sleef, F32_NAME(function), (void *)&sleef_##function##_f32)) { \
    functions->f32[TSRI_MATH_##op] = each_##function##_f32;               \
  }                                                                       \
  if (find(sleef, F64_NAME(function), (void *)&sleef_##function##_f64)) { \
    functions->f64[TSRI_MATH_##op] = each_##function##_f64;               \
  }
  ONE_ARGUMENT(TSRI_X)
  TWO_ARGUMENTS(TSRI_X)
#undef TSRI_X
  return functions->f32[TSRI_MATH_EXP] != NULL;
}

#else

bool LOAD(tsri_library *sleef, tsri_lane_math *functions) {
  (void)sleef;
  *functions = (tsri_lane_math){0};
  return false;
}

#endif
