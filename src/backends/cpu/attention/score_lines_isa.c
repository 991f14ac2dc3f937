// SPDX-License-Identifier: MIT
// Loops over one row of scores at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/attention/score_lines.h"
#include "backends/cpu/lanes/raise_isa.h"

// NaN if either is.
static inline float greater_of(float a, float b) { return ((a >= b) | (a != a)) ? a : b; }

static float scale(float *x, int64_t n, float factor, const float *added, float most) {
  float lanes[WIDTH];
  vec best = repeat(most), factors = repeat(factor);
  int64_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) {
    vec score = times(load(x + i), factors);
    if (added) score = plus(score, load(added + i));
    store(x + i, score);
    best = greater(best, score);
  }
  store(lanes, best);
  for (int k = 0; i < n; i++, k++) {
    x[i] = x[i] * factor + (added ? added[i] : 0.0f);
    lanes[k] = greater_of(lanes[k], x[i]);
  }
  ISA_UNROLL for (int half = WIDTH / 2; half > 0; half /= 2) {
    ISA_UNROLL for (int k = 0; k < half; k++) lanes[k] = greater_of(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

static float raise(float *x, int64_t n, float most, const tsri_lane_math *math) {
#if HAS_RAISE
  (void)math;
  return raise_line(x, n, most, x);
#else
  LANES for (int64_t i = 0; i < n; i++) x[i] -= most;
  math->f32[TSRI_MATH_EXP](x, x, NULL, (uint32_t)n);
  vec sum = repeat(0);
  float rest = 0;
  int64_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) sum = plus(sum, load(x + i));
  for (; i < n; i++) rest += x[i];
  return sum_lanes(sum) + rest;
#endif
}

static void multiply(float *x, int64_t n, float factor) { LANES for (int64_t i = 0; i < n; i++) x[i] *= factor; }

static float dot(const float *a, const float *b, int64_t n) {
  vec sum = repeat(0);
  float rest = 0;
  int64_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) sum = plus(sum, times(load(a + i), load(b + i)));
  for (; i < n; i++) rest += a[i] * b[i];
  return sum_lanes(sum) + rest;
}

static void gradient(float *x, const float *weights, int64_t n, float mean, float factor) {
  LANES for (int64_t i = 0; i < n; i++) x[i] = weights[i] * (x[i] - mean) * factor;
}

static bool is_finite(const float *x, int64_t n) {
  vec zero = repeat(0), sum = zero;
  float rest = 0;
  int64_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) sum = plus(sum, times(load(x + i), zero));
  for (; i < n; i++) rest += x[i] * 0;
  return sum_lanes(sum) + rest == 0;
}

const tsri_score_lines ISA_NAME(tsri_score_lines_) = {scale, raise, multiply, dot, gradient, is_finite};
