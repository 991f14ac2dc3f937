// SPDX-License-Identifier: MIT
// Products of operands that lie in rows of memory, at one SIMD level: the inside of a matrix product.
//
// Compiled once per level (cmake/isa.cmake). Written with vectors, as compilers do not see that a row's lanes are free
// of each other once they know how many there are.
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "backends/cpu/lanes/isa_parts.h"

LANE float muladd(float x, float y, float z, bool is_fused) { return is_fused ? __builtin_fmaf(x, y, z) : x * y + z; }

#if defined(__AVX512F__)
#define WIDTH 16
typedef __m512 vec;
LANE vec load(const float *at) { return _mm512_loadu_ps(at); }
LANE void store(float *at, vec x) { _mm512_storeu_ps(at, x); }
LANE vec repeat(float x) { return _mm512_set1_ps(x); }
LANE vec muladd_vec(vec x, vec y, vec z, bool is_fused) {
  return is_fused ? _mm512_fmadd_ps(x, y, z) : _mm512_add_ps(_mm512_mul_ps(x, y), z);
}
#elif defined(__AVX2__)
#define WIDTH 8
typedef __m256 vec;
LANE vec load(const float *at) { return _mm256_loadu_ps(at); }
LANE void store(float *at, vec x) { _mm256_storeu_ps(at, x); }
LANE vec repeat(float x) { return _mm256_set1_ps(x); }
LANE vec muladd_vec(vec x, vec y, vec z, bool is_fused) {
  return is_fused ? _mm256_fmadd_ps(x, y, z) : _mm256_add_ps(_mm256_mul_ps(x, y), z);
}
#elif defined(__aarch64__)
#define WIDTH 4
typedef float32x4_t vec;
LANE vec load(const float *at) { return vld1q_f32(at); }
LANE void store(float *at, vec x) { vst1q_f32(at, x); }
LANE vec repeat(float x) { return vdupq_n_f32(x); }
LANE vec muladd_vec(vec x, vec y, vec z, bool is_fused) {
  return is_fused ? vfmaq_f32(z, x, y) : vaddq_f32(vmulq_f32(x, y), z);
}
#else
#define WIDTH 4
typedef struct vec {
  float lane[WIDTH];
} vec;
LANE vec load(const float *at) {
  vec x;
  memcpy(&x, at, sizeof x);
  return x;
}
LANE void store(float *at, vec x) { memcpy(at, &x, sizeof x); }
LANE vec repeat(float x) { return (vec){{x, x, x, x}}; }
LANE vec muladd_vec(vec x, vec y, vec z, bool is_fused) {
  for (int i = 0; i < WIDTH; i++) z.lane[i] = muladd(x.lane[i], y.lane[i], z.lane[i], is_fused);
  return z;
}
#endif

// Rows of a whole number of vectors; a repeats along x, b does not.
LANE void rows_of_vectors(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                          uint32_t rows, bool is_fused) {
  const float *x = a->memory, *y = b->memory;
  for (uint32_t i = 0; i < rows; i++, x += a->step_y, y += b->step_y, dst += width, c += width) {
    vec factor = repeat(*x);
    for (uint32_t k = 0; k < width; k += WIDTH) store(dst + k, muladd_vec(factor, load(y + k), load(c + k), is_fused));
  }
}

// Any steps, any width, and a last row that may be short.
LANE void rows_of_any(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                      uint32_t n, bool is_fused) {
  const float *x = a->memory, *y = b->memory;
  for (uint32_t at = 0; at < n; at += width, x += a->step_y, y += b->step_y) {
    uint32_t count = n - at < width ? n - at : width;
    for (uint32_t i = 0; i < count; i++) {
      dst[at + i] = muladd(x[(int64_t)i * a->step_x], y[(int64_t)i * b->step_x], c[at + i], is_fused);
    }
  }
}

LANE void muladd_any(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                     uint32_t n, bool is_fused) {
  bool is_whole = n % width == 0 && width % WIDTH == 0;
  if (!is_whole || a->step_x != 0 || b->step_x != 1) {
    rows_of_any(dst, a, b, c, width, n, is_fused);
  } else if (width == 16) {
    rows_of_vectors(dst, a, b, c, 16, n / 16, is_fused);
  } else {
    rows_of_vectors(dst, a, b, c, width, n / width, is_fused);
  }
}

void ISA_NAME(tsri_lanes_muladd_rows_)(float *dst, tsri_lane_rows a, tsri_lane_rows b, const float *c, uint32_t width,
                                       uint32_t n, bool is_fused) {
  bool is_turned = b.step_x == 0;  // factors may be exchanged
  const tsri_lane_rows *x = is_turned ? &b : &a, *y = is_turned ? &a : &b;
  if (is_fused) {
    muladd_any(dst, x, y, c, width, n, true);
  } else {
    muladd_any(dst, x, y, c, width, n, false);
  }
}
