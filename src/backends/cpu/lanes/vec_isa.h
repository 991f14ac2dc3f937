// SPDX-License-Identifier: MIT
// A vector of f32 at one SIMD level, for the few loops that are written with vector types. Included by *_isa.c only.
//
// `repeat` sets all lanes to x. `greater` and `smaller` are the language's max and min: NaN if either operand is NaN. `stream` is a non-temporal store (an
// ordinary one if the level has none) to an address aligned to the vector.
#ifndef TSRI_CPU_LANES_VEC_ISA_H
#define TSRI_CPU_LANES_VEC_ISA_H

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include "backends/cpu/lanes/isa_parts.h"

#if defined(__AVX512F__)
#define WIDTH 16
typedef __m512 vec;
LANE vec load(const float *at) { return _mm512_loadu_ps(at); }
LANE void store(float *at, vec x) { _mm512_storeu_ps(at, x); }
LANE void stream_vec(float *at, vec x) { _mm512_stream_ps(at, x); }
LANE vec repeat(float x) { return _mm512_set1_ps(x); }
LANE vec plus(vec x, vec y) { return _mm512_add_ps(x, y); }
LANE vec minus(vec x, vec y) { return _mm512_sub_ps(x, y); }
LANE vec times(vec x, vec y) { return _mm512_mul_ps(x, y); }
LANE vec fused(vec x, vec y, vec z) { return _mm512_fmadd_ps(x, y, z); }
LANE vec choose(__mmask16 is_x, vec x, vec y) { return _mm512_mask_blend_ps(is_x, y, x); }
LANE vec greater(vec x, vec y) {
  return choose(_mm512_cmp_ps_mask(x, y, _CMP_GT_OQ) | _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x, y);
}
LANE vec smaller(vec x, vec y) {
  return choose(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ) | _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x, y);
}
#elif defined(__AVX2__)
#define WIDTH 8
typedef __m256 vec;
LANE vec load(const float *at) { return _mm256_loadu_ps(at); }
LANE void store(float *at, vec x) { _mm256_storeu_ps(at, x); }
LANE void stream_vec(float *at, vec x) { _mm256_stream_ps(at, x); }
LANE vec repeat(float x) { return _mm256_set1_ps(x); }
LANE vec plus(vec x, vec y) { return _mm256_add_ps(x, y); }
LANE vec minus(vec x, vec y) { return _mm256_sub_ps(x, y); }
LANE vec times(vec x, vec y) { return _mm256_mul_ps(x, y); }
LANE vec fused(vec x, vec y, vec z) { return _mm256_fmadd_ps(x, y, z); }
LANE vec greater(vec x, vec y) {
  return _mm256_blendv_ps(y, x, _mm256_or_ps(_mm256_cmp_ps(x, y, _CMP_GT_OQ), _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}
LANE vec smaller(vec x, vec y) {
  return _mm256_blendv_ps(y, x, _mm256_or_ps(_mm256_cmp_ps(x, y, _CMP_LT_OQ), _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}
#elif defined(__SSE2__)
#define WIDTH 4
typedef __m128 vec;
LANE vec load(const float *at) { return _mm_loadu_ps(at); }
LANE void store(float *at, vec x) { _mm_storeu_ps(at, x); }
LANE void stream_vec(float *at, vec x) { _mm_stream_ps(at, x); }
LANE vec repeat(float x) { return _mm_set1_ps(x); }
LANE vec plus(vec x, vec y) { return _mm_add_ps(x, y); }
LANE vec minus(vec x, vec y) { return _mm_sub_ps(x, y); }
LANE vec times(vec x, vec y) { return _mm_mul_ps(x, y); }
LANE vec fused(vec x, vec y, vec z) {  // no instruction for it: one lane after the other
  float p[WIDTH], q[WIDTH], r[WIDTH];
  store(p, x);
  store(q, y);
  store(r, z);
  for (int i = 0; i < WIDTH; i++) r[i] = __builtin_fmaf(p[i], q[i], r[i]);
  return load(r);
}
LANE vec choose(vec is_x, vec x, vec y) { return _mm_or_ps(_mm_and_ps(is_x, x), _mm_andnot_ps(is_x, y)); }
LANE vec greater(vec x, vec y) { return choose(_mm_or_ps(_mm_cmpgt_ps(x, y), _mm_cmpunord_ps(x, x)), x, y); }
LANE vec smaller(vec x, vec y) { return choose(_mm_or_ps(_mm_cmplt_ps(x, y), _mm_cmpunord_ps(x, x)), x, y); }
#elif defined(__aarch64__)
#define WIDTH 4
typedef float32x4_t vec;
LANE vec load(const float *at) { return vld1q_f32(at); }
LANE void store(float *at, vec x) { vst1q_f32(at, x); }
LANE void stream_vec(float *at, vec x) { vst1q_f32(at, x); }
LANE vec repeat(float x) { return vdupq_n_f32(x); }
LANE vec plus(vec x, vec y) { return vaddq_f32(x, y); }
LANE vec minus(vec x, vec y) { return vsubq_f32(x, y); }
LANE vec times(vec x, vec y) { return vmulq_f32(x, y); }
LANE vec fused(vec x, vec y, vec z) { return vfmaq_f32(z, x, y); }
LANE vec greater(vec x, vec y) { return vbslq_f32(vorrq_u32(vcgtq_f32(x, y), vmvnq_u32(vceqq_f32(x, x))), x, y); }
LANE vec smaller(vec x, vec y) { return vbslq_f32(vorrq_u32(vcltq_f32(x, y), vmvnq_u32(vceqq_f32(x, x))), x, y); }
#elif defined(__wasm_simd128__)
#define WIDTH 4
typedef v128_t vec;
LANE vec load(const float *at) { return wasm_v128_load(at); }
LANE void store(float *at, vec x) { wasm_v128_store(at, x); }
LANE void stream_vec(float *at, vec x) { wasm_v128_store(at, x); }
LANE vec repeat(float x) { return wasm_f32x4_splat(x); }
LANE vec plus(vec x, vec y) { return wasm_f32x4_add(x, y); }
LANE vec minus(vec x, vec y) { return wasm_f32x4_sub(x, y); }
LANE vec times(vec x, vec y) { return wasm_f32x4_mul(x, y); }
LANE vec fused(vec x, vec y, vec z) {  // no instruction that rounds once: one lane after the other
  float p[WIDTH], q[WIDTH], r[WIDTH];
  store(p, x);
  store(q, y);
  store(r, z);
  for (int i = 0; i < WIDTH; i++) r[i] = __builtin_fmaf(p[i], q[i], r[i]);
  return load(r);
}
LANE vec greater(vec x, vec y) {
  return wasm_v128_bitselect(x, y, wasm_v128_or(wasm_f32x4_gt(x, y), wasm_f32x4_ne(x, x)));
}
LANE vec smaller(vec x, vec y) {
  return wasm_v128_bitselect(x, y, wasm_v128_or(wasm_f32x4_lt(x, y), wasm_f32x4_ne(x, x)));
}
#else
#define WIDTH 1
typedef float vec;
LANE vec load(const float *at) { return *at; }
LANE void store(float *at, vec x) { *at = x; }
LANE void stream_vec(float *at, vec x) { *at = x; }
LANE vec repeat(float x) { return x; }
LANE vec plus(vec x, vec y) { return x + y; }
LANE vec minus(vec x, vec y) { return x - y; }
LANE vec times(vec x, vec y) { return x * y; }
LANE vec fused(vec x, vec y, vec z) { return __builtin_fmaf(x, y, z); }
LANE vec greater(vec x, vec y) { return x > y || x != x ? x : y; }
LANE vec smaller(vec x, vec y) { return x < y || x != x ? x : y; }
#endif

LANE vec muladd_vec(vec x, vec y, vec z, bool is_fused) { return is_fused ? fused(x, y, z) : plus(times(x, y), z); }

// The sum of all lanes: adds the upper half to the lower half until one lane is left.
LANE float sum_lanes(vec x) {
  float lanes[WIDTH];
  store(lanes, x);
  ISA_UNROLL for (int half = WIDTH / 2; half > 0; half /= 2) {
    ISA_UNROLL for (int k = 0; k < half; k++) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

#endif
