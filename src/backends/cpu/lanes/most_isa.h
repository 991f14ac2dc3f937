// SPDX-License-Identifier: MIT
// Maximum and minimum of two vectors at one SIMD level. Included by *_isa.c only.
//
// If either operand is NaN, the result is NaN; of equal numbers, such as 0 and -0, it is the first operand. Processors' instructions return their second
// operand if one is NaN or both are equal. So the operands are exchanged, and only a NaN in b needs a selection.
#ifndef TSRI_CPU_LANES_MOST_ISA_H
#define TSRI_CPU_LANES_MOST_ISA_H

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "backends/cpu/lanes/isa_parts.h"

typedef float f32_vec ISA_IN_VECTORS;
typedef double f64_vec ISA_IN_VECTORS;
typedef int32_t i32_vec ISA_IN_VECTORS;
typedef int64_t i64_vec ISA_IN_VECTORS;

#if defined(__AVX512F__)
LANE f32_vec max_f32_lanes(f32_vec a, f32_vec b) {
  return _mm512_mask_mov_ps(_mm512_max_ps(b, a), _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), b);
}
LANE f32_vec min_f32_lanes(f32_vec a, f32_vec b) {
  return _mm512_mask_mov_ps(_mm512_min_ps(b, a), _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), b);
}
LANE f64_vec max_f64_lanes(f64_vec a, f64_vec b) {
  return _mm512_mask_mov_pd(_mm512_max_pd(b, a), _mm512_cmp_pd_mask(b, b, _CMP_UNORD_Q), b);
}
LANE f64_vec min_f64_lanes(f64_vec a, f64_vec b) {
  return _mm512_mask_mov_pd(_mm512_min_pd(b, a), _mm512_cmp_pd_mask(b, b, _CMP_UNORD_Q), b);
}
LANE i32_vec max_i32_lanes(i32_vec a, i32_vec b) { return (i32_vec)_mm512_max_epi32((__m512i)a, (__m512i)b); }
LANE i32_vec min_i32_lanes(i32_vec a, i32_vec b) { return (i32_vec)_mm512_min_epi32((__m512i)a, (__m512i)b); }
#elif defined(__AVX2__)
LANE f32_vec max_f32_lanes(f32_vec a, f32_vec b) {
  return _mm256_blendv_ps(_mm256_max_ps(b, a), b, _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
}
LANE f32_vec min_f32_lanes(f32_vec a, f32_vec b) {
  return _mm256_blendv_ps(_mm256_min_ps(b, a), b, _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
}
LANE f64_vec max_f64_lanes(f64_vec a, f64_vec b) {
  return _mm256_blendv_pd(_mm256_max_pd(b, a), b, _mm256_cmp_pd(b, b, _CMP_UNORD_Q));
}
LANE f64_vec min_f64_lanes(f64_vec a, f64_vec b) {
  return _mm256_blendv_pd(_mm256_min_pd(b, a), b, _mm256_cmp_pd(b, b, _CMP_UNORD_Q));
}
LANE i32_vec max_i32_lanes(i32_vec a, i32_vec b) { return (i32_vec)_mm256_max_epi32((__m256i)a, (__m256i)b); }
LANE i32_vec min_i32_lanes(i32_vec a, i32_vec b) { return (i32_vec)_mm256_min_epi32((__m256i)a, (__m256i)b); }
#else
// The result of a comparison: all bits of a lane are set, or none.
#if defined(__GNUC__)
#define CHOOSE_LANES(vec, bits, is_a, a, b) ((vec)(((bits)(a) & (is_a)) | ((bits)(b) & ~(is_a))))
#else
#define CHOOSE_LANES(vec, bits, is_a, a, b) ((is_a) ? (a) : (b))
#endif
LANE f32_vec max_f32_lanes(f32_vec a, f32_vec b) { return CHOOSE_LANES(f32_vec, i32_vec, (a >= b) | (a != a), a, b); }
LANE f32_vec min_f32_lanes(f32_vec a, f32_vec b) { return CHOOSE_LANES(f32_vec, i32_vec, (a <= b) | (a != a), a, b); }
LANE f64_vec max_f64_lanes(f64_vec a, f64_vec b) { return CHOOSE_LANES(f64_vec, i64_vec, (a >= b) | (a != a), a, b); }
LANE f64_vec min_f64_lanes(f64_vec a, f64_vec b) { return CHOOSE_LANES(f64_vec, i64_vec, (a <= b) | (a != a), a, b); }
LANE i32_vec max_i32_lanes(i32_vec a, i32_vec b) { return CHOOSE_LANES(i32_vec, i32_vec, a >= b, a, b); }
LANE i32_vec min_i32_lanes(i32_vec a, i32_vec b) { return CHOOSE_LANES(i32_vec, i32_vec, a <= b, a, b); }
#endif

#endif
