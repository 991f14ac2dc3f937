// SPDX-License-Identifier: MIT
// Computes powers e^(x - top) for x that are not above `top`, and their sum, in one pass. Included by *_isa.c only; HAS_RAISE: the level has these functions.
#ifndef TSRI_CPU_LANES_RAISE_ISA_H
#define TSRI_CPU_LANES_RAISE_ISA_H

#include <math.h>
#include <string.h>

#include "backends/cpu/lanes/vec_isa.h"

#if defined(__AVX2__)
#define HAS_RAISE 1

// p * 2^k for k from -150 to 0, rounded once. The low bits of t hold k + 254.
#if defined(__AVX512F__)
LANE vec times_power(vec p, vec k, vec t) {
  (void)t;
  return _mm512_scalef_ps(p, k);
}
LANE vec not_below(vec least, vec x) { return _mm512_max_ps(least, x); }  // NaN stays
#else
LANE vec times_power(vec p, vec k, vec t) {  // two factors, so that subnormal results round once
  (void)k;
  __m256i both = _mm256_castps_si256(t), half = _mm256_srli_epi32(both, 1);
  vec first = _mm256_castsi256_ps(_mm256_slli_epi32(half, 23));
  vec second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(both, half), 23));
  return times(times(p, first), second);
}
LANE vec not_below(vec least, vec x) { return _mm256_max_ps(least, x); }
#endif

// e^x for x from -infinity to 0, or NaN, as exp_f32 of math/f32_exp.h computes it: x = k ln2 + r, and a polynomial in r.
LANE vec raise_vec(vec x) {
  const vec rounder = repeat(0x1.8p23f + 254.0f);
  x = not_below(repeat(-104.0f), x);  // below -104 the result is 0, too
  vec t = fused(x, repeat(0x1.715476p+0f), rounder), k = minus(t, rounder);
  vec r = fused(k, repeat(-0x1.7f7d1cp-20f), fused(k, repeat(-0x1.62e4p-1f), x));
  vec q = fused(r, repeat(0x1.6b9ce6p-10f), repeat(0x1.12256cp-7f));
  q = fused(r, q, repeat(0x1.5556f2p-5f));
  q = fused(r, q, repeat(0x1.5554b4p-3f));
  q = fused(r, q, repeat(0x1.fffffep-2f));
  return times_power(plus(fused(times(r, r), q, r), repeat(1.0f)), k, t);
}

// Stores the powers of `n` numbers (a multiple of WIDTH), and returns their sums by lane. x and powers may be the same.
LANE vec raise_vectors(const float *x, int64_t n, float top, float *powers) {
  vec tops = repeat(top), sum = repeat(0), other = sum;
  int64_t i = 0;
  for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
    vec a = raise_vec(minus(load(x + i), tops)), b = raise_vec(minus(load(x + i + WIDTH), tops));
    store(powers + i, a);
    store(powers + i + WIDTH, b);
    sum = plus(sum, a);
    other = plus(other, b);
  }
  if (i < n) {
    vec a = raise_vec(minus(load(x + i), tops));
    store(powers + i, a);
    sum = plus(sum, a);
  }
  return plus(sum, other);
}

// As raise_vectors for any n; returns the sum of all.
static inline float raise_line(const float *x, int64_t n, float top, float *powers) {
  int64_t whole = n / WIDTH * WIDTH;
  vec sum = raise_vectors(x, whole, top, powers);
  if (whole < n) {
    float rest[WIDTH];
    size_t bytes = (size_t)(n - whole) * sizeof(float);
    for (int k = 0; k < WIDTH; k++) rest[k] = -INFINITY;
    memcpy(rest, x + whole, bytes);
    sum = plus(sum, raise_vectors(rest, WIDTH, top, rest));
    memcpy(powers + whole, rest, bytes);
  }
  return sum_lanes(sum);
}
#else
#define HAS_RAISE 0
#endif

#endif
