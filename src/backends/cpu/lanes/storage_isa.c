// SPDX-License-Identifier: MIT
// Loads and stores of each dtype at one SIMD level.
//
// Compiled once per level (cmake/isa.cmake). storage_isa.inc has the loops; this file defines the element types, and conversions of f16 by hardware.
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "backends/cpu/lanes/isa_parts.h"

#define NAME(verb) verb##_bool
#define ELEMENT    u8
#define VALUE      u32
#define WIDEN(x)   ((u32)((x) != 0))
#define NARROW(x)  ((u8)((x) != 0))
#include "backends/cpu/lanes/storage_isa.inc"

#define NAME(verb) verb##_u8
#define ELEMENT    u8
#define VALUE      u32
#define WIDEN(x)   ((u32)(x))
#define NARROW(x)  ((u8)(x))
#include "backends/cpu/lanes/storage_isa.inc"

#define NAME(verb) verb##_i8
#define ELEMENT    i8
#define VALUE      i32
#define WIDEN(x)   ((i32)(x))
#define NARROW(x)  ((i8)(x))
#include "backends/cpu/lanes/storage_isa.inc"

#define NAME(verb) verb##_i16
#define ELEMENT    i16
#define VALUE      i32
#define WIDEN(x)   ((i32)(x))
#define NARROW(x)  ((i16)(x))
#include "backends/cpu/lanes/storage_isa.inc"

#define NAME(verb) verb##_32
#define ELEMENT    u32
#define VALUE      u32
#define WIDEN(x)   (x)
#define NARROW(x)  (x)
#include "backends/cpu/lanes/storage_isa.inc"

#define NAME(verb) verb##_64
#define ELEMENT    u64
#define VALUE      u64
#define WIDEN(x)   (x)
#define NARROW(x)  (x)
#include "backends/cpu/lanes/storage_isa.inc"

#define NAME(verb) verb##_bf16
#define ELEMENT    u16
#define VALUE      f32
#define WIDEN(x)   f32_of_bf16(x)
#define NARROW(x)  bf16_of_f32(x)
#include "backends/cpu/lanes/storage_isa.inc"

#if defined(__F16C__)
#define OWN_RUNS
#define WIDEN_F16(x)  _cvtsh_ss(x)
#define NARROW_F16(x) _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)

static void load_run_f16(f32 *dst, const u16 *src, uint32_t n) {
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps((float *)(dst + i), _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(src + i))));
  }
  for (; i < n; i++) dst[i] = _cvtsh_ss(src[i]);
}

static void store_run_f16(u16 *dst, const f32 *src, uint32_t n) {
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps((const float *)(src + i)), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(void *)(dst + i), halves);
  }
  for (; i < n; i++) dst[i] = _cvtss_sh(src[i], _MM_FROUND_TO_NEAREST_INT);
}
#else
#define WIDEN_F16(x)  f32_of_f16(x)
#define NARROW_F16(x) f16_of_f32(x)
#endif

#define NAME(verb) verb##_f16
#define ELEMENT    u16
#define VALUE      f32
#define WIDEN(x)   WIDEN_F16(x)
#define NARROW(x)  NARROW_F16(x)
#include "backends/cpu/lanes/storage_isa.inc"

#define WAYS(kind) \
  { load_##kind, gather_32_##kind, gather_64_##kind, store_##kind, scatter_32_##kind, scatter_64_##kind }

const tsri_lane_storage ISA_NAME(tsri_lanes_storage_)[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = WAYS(bool), [TSR_U8] = WAYS(u8),   [TSR_I8] = WAYS(i8),     [TSR_I16] = WAYS(i16),
    [TSR_I32] = WAYS(32),    [TSR_U32] = WAYS(32),  [TSR_F32] = WAYS(32),    [TSR_I64] = WAYS(64),
    [TSR_F64] = WAYS(64),    [TSR_F16] = WAYS(f16), [TSR_BF16] = WAYS(bf16),
};
