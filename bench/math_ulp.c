// SPDX-License-Identifier: MIT
// Largest error of the f32 functions in ULP, compared with the C library's f64 functions, by level: our own, then
// SLEEF's.
//
//   math_ulp [STRIDE] [FUNCTION…]    every STRIDE-th of the 2^32 floats (default 4099); 1 takes minutes per function
//
// Functions of two arguments are tested with 2^32 / STRIDE pairs: random bits, and arguments of usual size.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/math/math_levels.h"

enum { BLOCK = 4096 };

typedef struct subject {
  const char *level, *source;
  const tsri_lane_math *math;
  double worst;
  float worst_a, worst_b, worst_is;
} subject;

static double rsqrt(double x) { return 1.0 / sqrt(x); }

typedef struct function {
  const char *name;
  tsri_math_op op;
  double (*of_one)(double);
  double (*of_two)(double, double);
} function;

static const function functions[] = {
    {"sqrt", TSRI_MATH_SQRT, sqrt, NULL},    {"rsqrt", TSRI_MATH_RSQRT, rsqrt, NULL},
    {"exp", TSRI_MATH_EXP, exp, NULL},       {"exp2", TSRI_MATH_EXP2, exp2, NULL},
    {"expm1", TSRI_MATH_EXPM1, expm1, NULL}, {"log", TSRI_MATH_LOG, log, NULL},
    {"log2", TSRI_MATH_LOG2, log2, NULL},    {"log10", TSRI_MATH_LOG10, log10, NULL},
    {"log1p", TSRI_MATH_LOG1P, log1p, NULL}, {"sin", TSRI_MATH_SIN, sin, NULL},
    {"cos", TSRI_MATH_COS, cos, NULL},       {"tan", TSRI_MATH_TAN, tan, NULL},
    {"asin", TSRI_MATH_ASIN, asin, NULL},    {"acos", TSRI_MATH_ACOS, acos, NULL},
    {"atan", TSRI_MATH_ATAN, atan, NULL},    {"sinh", TSRI_MATH_SINH, sinh, NULL},
    {"cosh", TSRI_MATH_COSH, cosh, NULL},    {"tanh", TSRI_MATH_TANH, tanh, NULL},
    {"erf", TSRI_MATH_ERF, erf, NULL},       {"atan2", TSRI_MATH_ATAN2, NULL, atan2},
    {"pow", TSRI_MATH_POW, NULL, pow},
};

// The error of `is` in ULP of f32 at `wanted`; infinity counts as 2^128.
static double ulp_error(float is, double wanted) {
  if (isnan(wanted) || isnan(is)) return isnan(wanted) && isnan(is) ? 0.0 : INFINITY;
  if (!signbit(is) != !signbit(wanted)) return INFINITY;
  if (isinf(wanted)) return isinf(is) ? 0.0 : INFINITY;
  uint64_t bits;
  memcpy(&bits, &wanted, sizeof bits);
  int64_t exponent = (int64_t)(bits >> 52 & 0x7ff) - 1023;
  if (exponent < -126) exponent = -126;
  if (exponent > 127) return isinf(is) ? 0.0 : (0x1p128 - fabs((double)is)) * 0x1p-104;
  bits = (uint64_t)(1023 + 23 - exponent) << 52;
  double per_unit;
  memcpy(&per_unit, &bits, sizeof per_unit);
  double size = isinf(is) ? 0x1p128 : fabs((double)is);
  return fabs(size - fabs(wanted)) * per_unit;
}

static uint64_t random_bits(uint64_t *state) {  // splitmix64
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static float float_from(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// Half of the pairs are random bits; for the others pow neither overflows nor underflows.
static void random_pair(uint64_t *state, float *a, float *b) {
  uint64_t r = random_bits(state), s = random_bits(state);
  *a = float_from((uint32_t)r);
  *b = float_from((uint32_t)(r >> 32));
  if (s % 2 == 0) return;
  *a = float_from(0x3f800000u + (uint32_t)((int32_t)(r % 0x04000000u) - 0x02000000));
  *b = (float)((double)(int32_t)(s >> 32) * (s % 4 == 1 ? 0x1p-25 : 0x1p-30));
}

static void check_block(const function *f, const float *a, const float *b, const double *wanted, subject *subjects,
                        int count) {
  float is[BLOCK];
  for (int s = 0; s < count; s++) {
    subject *of = &subjects[s];
    if (!of->math->f32[f->op]) continue;
    of->math->f32[f->op](is, a, b, BLOCK);
    for (int i = 0; i < BLOCK; i++) {
      double error = ulp_error(is[i], wanted[i]);
      if (error <= of->worst) continue;
      of->worst = error;
      of->worst_a = a[i];
      of->worst_b = b[i];
      of->worst_is = is[i];
    }
  }
}

static void check_function(const function *f, uint64_t stride, subject *subjects, int count) {
  static float a[BLOCK], b[BLOCK];
  static double wanted[BLOCK];
  uint64_t next = 0, random = 1;
  while (next < UINT64_C(1) << 32) {
    for (int i = 0; i < BLOCK; i++, next += stride) {
      a[i] = float_from((uint32_t)next);
      if (f->of_two) random_pair(&random, &a[i], &b[i]);
      wanted[i] = f->of_two ? f->of_two((double)a[i], (double)b[i]) : f->of_one((double)a[i]);
    }
    check_block(f, a, b, wanted, subjects, count);
  }
}

static bool is_wanted(const char *name, int argc, char **argv) {
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return true;
  }
  return argc <= 2;
}

static int find_subjects(subject *subjects) {
  int count = 0;
  for (int i = 0; i < TSRI_MATH_LEVEL_COUNT; i++) {
    const char *level = tsri_math_level_names[i];
    if (strcmp(tsri_cpu_simd_level(level), level) != 0) continue;
    const tsri_lane_math *sleef = tsri_math_sleef((tsri_math_level)i);
    subjects[count++] = (subject){.level = level, .source = "own", .math = tsri_math_own((tsri_math_level)i)};
    if (sleef) subjects[count++] = (subject){.level = level, .source = "sleef", .math = sleef};
  }
  return count;
}

int main(int argc, char **argv) {
  subject subjects[2 * TSRI_MATH_LEVEL_COUNT];
  int count = find_subjects(subjects);
  uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 4099;
  if (stride == 0) stride = 1;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (!is_wanted(functions[i].name, argc, argv)) continue;
    for (int s = 0; s < count; s++) subjects[s].worst = 0.0;
    check_function(&functions[i], stride, subjects, count);
    printf("%s\n", functions[i].name);
    for (int s = 0; s < count; s++) {
      const subject *of = &subjects[s];
      if (!of->math->f32[functions[i].op]) continue;
      printf("  %-9s%-6s%8.3f ULP at %.9g (%a), %.9g: %.9g\n", of->level, of->source, of->worst, (double)of->worst_a,
             (double)of->worst_a, (double)of->worst_b, (double)of->worst_is);
    }
    fflush(stdout);
  }
  return 0;
}
