// SPDX-License-Identifier: MIT
// Nanoseconds per element of the transcendental functions, by SIMD level: our own, SLEEF's, and the C library's, one
// element at a time; then 10^7 f32 on two threads, for comparison with bench/math_torch.py.
//
//   math [FUNCTION…]
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/math/math_levels.h"

enum { LANES = 1024, REPEATS = 200, FEW_REPEATS = 25, TRIES = 9, ARRAY = 10000000, THREADS = 2 };

typedef struct function {
  const char *name;
  tsri_math_op op;
  double low, high;  // range of the arguments
  float (*libm_f32)(float);
  float (*libm_pair_f32)(float, float);
} function;

static float rsqrtf_of(float x) { return 1.0f / sqrtf(x); }

static const function functions[] = {
    {"sqrt", TSRI_MATH_SQRT, 0, 100, sqrtf, NULL},      {"rsqrt", TSRI_MATH_RSQRT, 0, 100, rsqrtf_of, NULL},
    {"exp", TSRI_MATH_EXP, -20, 20, expf, NULL},        {"exp2", TSRI_MATH_EXP2, -20, 20, exp2f, NULL},
    {"expm1", TSRI_MATH_EXPM1, -5, 5, expm1f, NULL},    {"log", TSRI_MATH_LOG, 0, 100, logf, NULL},
    {"log2", TSRI_MATH_LOG2, 0, 100, log2f, NULL},      {"log10", TSRI_MATH_LOG10, 0, 100, log10f, NULL},
    {"log1p", TSRI_MATH_LOG1P, -0.9, 10, log1pf, NULL}, {"sin", TSRI_MATH_SIN, -100, 100, sinf, NULL},
    {"cos", TSRI_MATH_COS, -100, 100, cosf, NULL},      {"tan", TSRI_MATH_TAN, -100, 100, tanf, NULL},
    {"asin", TSRI_MATH_ASIN, -1, 1, asinf, NULL},       {"acos", TSRI_MATH_ACOS, -1, 1, acosf, NULL},
    {"atan", TSRI_MATH_ATAN, -10, 10, atanf, NULL},     {"atan2", TSRI_MATH_ATAN2, -10, 10, NULL, atan2f},
    {"sinh", TSRI_MATH_SINH, -10, 10, sinhf, NULL},     {"cosh", TSRI_MATH_COSH, -10, 10, coshf, NULL},
    {"tanh", TSRI_MATH_TANH, -5, 5, tanhf, NULL},       {"erf", TSRI_MATH_ERF, -3, 3, erff, NULL},
    {"pow", TSRI_MATH_POW, 0.1, 10, NULL, powf},
};

static float a32[LANES], b32[LANES], out32[LANES];
static double a64[LANES], b64[LANES], out64[LANES];

static void fill_arguments(const function *f) {
  for (int i = 0; i < LANES; i++) {
    a64[i] = f->low + (f->high - f->low) * (i * 617 % LANES + 0.5) / LANES;
    b64[i] = f->low + (f->high - f->low) * (i * 389 % LANES + 0.5) / LANES;
    a32[i] = (float)a64[i];
    b32[i] = (float)b64[i];
  }
}

// The best of TRIES; -1 if there is no such function.
static double time_f32(tsri_math_f32 run) {
  if (!run) return -1.0;
  uint64_t best = UINT64_MAX;
  for (int t = 0; t < TRIES; t++) {
    uint64_t start = tsri_clock_ns();
    for (int i = 0; i < REPEATS; i++) run(out32, a32, b32, LANES);
    uint64_t took = tsri_clock_ns() - start;
    if (took < best) best = took;
  }
  return (double)best / ((double)LANES * REPEATS);
}

static double time_f64(tsri_math_f64 run) {
  if (!run) return -1.0;
  uint64_t best = UINT64_MAX;
  for (int t = 0; t < TRIES; t++) {
    uint64_t start = tsri_clock_ns();
    for (int i = 0; i < FEW_REPEATS; i++) run(out64, a64, b64, LANES);
    uint64_t took = tsri_clock_ns() - start;
    if (took < best) best = took;
  }
  return (double)best / ((double)LANES * FEW_REPEATS);
}

static double time_libm_f32(const function *f) {
  uint64_t best = UINT64_MAX;
  for (int t = 0; t < TRIES; t++) {
    uint64_t start = tsri_clock_ns();
    for (int r = 0; r < FEW_REPEATS; r++) {
      for (int i = 0; i < LANES; i++) out32[i] = f->libm_f32 ? f->libm_f32(a32[i]) : f->libm_pair_f32(a32[i], b32[i]);
    }
    uint64_t took = tsri_clock_ns() - start;
    if (took < best) best = took;
  }
  return (double)best / ((double)LANES * FEW_REPEATS);
}

static void print_time(double ns) {
  if (ns < 0) {
    printf("%9s", "-");
  } else {
    printf("%9.3f", ns);
  }
}

static bool is_present(const char *level) { return strcmp(tsri_cpu_simd_level(level), level) == 0; }

static void print_function(const function *f) {
  fill_arguments(f);
  printf("%-6s", f->name);
  for (int i = 0; i < TSRI_MATH_LEVEL_COUNT; i++) {
    if (!is_present(tsri_math_level_names[i])) continue;
    const tsri_lane_math *sleef = tsri_math_sleef((tsri_math_level)i);
    print_time(time_f32(tsri_math_own((tsri_math_level)i)->f32[f->op]));
    print_time(sleef ? time_f32(sleef->f32[f->op]) : -1.0);
    print_time(sleef ? time_f64(sleef->f64[f->op]) : -1.0);
  }
  print_time(time_libm_f32(f));
  print_time(time_f64(tsri_math_own(TSRI_MATH_LEVEL_baseline)->f64[f->op]));
  printf("\n");
  fflush(stdout);
}

static void print_heading(void) {
  printf("ns per element, %d elements at a time\n%-6s", LANES, "");
  for (int i = 0; i < TSRI_MATH_LEVEL_COUNT; i++) {
    if (is_present(tsri_math_level_names[i])) printf("%9s%18s", tsri_math_level_names[i], "");
  }
  printf("%9s\n%-6s", "libm", "");
  for (int i = 0; i < TSRI_MATH_LEVEL_COUNT; i++) {
    if (is_present(tsri_math_level_names[i])) printf("%9s%9s%9s", "own f32", "SLEEF", "SLEEF64");
  }
  printf("%9s%9s\n", "f32", "f64");
}

// --- Whole arrays on two threads ---------------------------------------------------------------------------------

typedef void (*block_function)(const tsri_lane_math *math, float *dst, const float *a, uint32_t n);

typedef struct share {
  const tsri_lane_math *math;
  block_function run;
  float *dst;
  const float *a;
  size_t count;
} share;

static void run_exp(const tsri_lane_math *math, float *dst, const float *a, uint32_t n) {
  math->f32[TSRI_MATH_EXP](dst, a, a, n);
}

static void run_tanh(const tsri_lane_math *math, float *dst, const float *a, uint32_t n) {
  math->f32[TSRI_MATH_TANH](dst, a, a, n);
}

static void run_sin(const tsri_lane_math *math, float *dst, const float *a, uint32_t n) {
  math->f32[TSRI_MATH_SIN](dst, a, a, n);
}

static void run_log(const tsri_lane_math *math, float *dst, const float *a, uint32_t n) {
  math->f32[TSRI_MATH_LOG](dst, a, a, n);
}

// x / 2 (1 + erf(x / sqrt(2)))
static void run_gelu(const tsri_lane_math *math, float *dst, const float *a, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) dst[i] = a[i] * 0.70710678f;
  math->f32[TSRI_MATH_ERF](dst, dst, dst, n);
  for (uint32_t i = 0; i < n; i++) dst[i] = 0.5f * a[i] * (1.0f + dst[i]);
}

// 1 / (1 + e^-x)
static void run_sigmoid(const tsri_lane_math *math, float *dst, const float *a, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) dst[i] = -a[i];
  math->f32[TSRI_MATH_EXP](dst, dst, dst, n);
  for (uint32_t i = 0; i < n; i++) dst[i] = 1.0f / (1.0f + dst[i]);
}

static void *run_share(void *user) {
  const share *part = user;
  for (size_t i = 0; i < part->count; i += LANES) {
    size_t n = part->count - i < LANES ? part->count - i : LANES;
    part->run(part->math, part->dst + i, part->a + i, (uint32_t)n);
  }
  return NULL;
}

static double time_array(const tsri_lane_math *math, block_function run, float *dst, const float *a) {
  uint64_t best = UINT64_MAX;
  for (int t = 0; t < TRIES; t++) {
    pthread_t threads[THREADS];
    share parts[THREADS];
    uint64_t start = tsri_clock_ns();
    for (int i = 0; i < THREADS; i++) {
      size_t from = (size_t)ARRAY / THREADS * (size_t)i;
      parts[i] = (share){math, run, dst + from, a + from, ARRAY / THREADS};
      if (pthread_create(&threads[i], NULL, run_share, &parts[i]) != 0) exit(1);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    uint64_t took = tsri_clock_ns() - start;
    if (took < best) best = took;
  }
  return (double)best / 1e6;
}

static void print_arrays(void) {
  static const struct {
    const char *name;
    block_function run;
  } rows[] = {{"exp", run_exp},         {"tanh", run_tanh}, {"gelu", run_gelu},
              {"sigmoid", run_sigmoid}, {"sin", run_sin},   {"log", run_log}};
  float *a = malloc(ARRAY * sizeof *a), *dst = malloc(ARRAY * sizeof *dst);
  if (!a || !dst) exit(1);
  for (size_t i = 0; i < ARRAY; i++) a[i] = (float)(i * 7919 % 20001) * 5e-4f - 5.0f;
  memset(dst, 0, ARRAY * sizeof *dst);
  const tsri_lane_math *math = tsri_lane_math_for(tsri_cpu_simd_level(NULL), true);
  printf("\nms for %d f32 on %d threads, level %s\n", ARRAY, THREADS, tsri_cpu_simd_level(NULL));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    printf("%-8s%8.2f\n", rows[i].name, time_array(math, rows[i].run, dst, a));
  }
  free(a);
  free(dst);
}

int main(int argc, char **argv) {
  print_heading();
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    bool wanted = argc < 2;
    for (int k = 1; k < argc; k++) wanted = wanted || strcmp(argv[k], functions[i].name) == 0;
    if (wanted) print_function(&functions[i]);
  }
  print_arrays();
  return 0;
}
