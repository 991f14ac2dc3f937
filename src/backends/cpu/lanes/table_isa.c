// SPDX-License-Identifier: MIT
// Masks, indices, sums and streaming at one SIMD level, and the level's table.
//
// Compiled once per level (cmake/isa.cmake).
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "backends/cpu/lanes/isa_parts.h"
#include "core/lines.h"

static void iota_32(uint32_t *dst, uint32_t base, uint32_t step, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) dst[i] = base + i * step;
}

static void iota_64(uint64_t *dst, uint64_t base, uint64_t step, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) dst[i] = base + i * step;
}

static void blend_32(uint32_t *dst, const uint32_t *src, const uint32_t *mask, uint32_t n) {
  LANES for (uint32_t i = 0; i < n; i++) dst[i] = mask[i] != 0 ? src[i] : dst[i];
}

static void blend_64(uint64_t *dst, const uint64_t *src, const uint32_t *mask, uint32_t n) {
  LANES for (uint32_t i = 0; i < n; i++) dst[i] = mask[i] != 0 ? src[i] : dst[i];
}

static uint32_t mask_and(uint32_t *dst, const uint32_t *a, const uint32_t *b, uint32_t flip, uint32_t n) {
  uint32_t count = 0;
  if (a) {
    LANES for (uint32_t i = 0; i < n; i++) {
      uint32_t bit = a[i] & (b[i] ^ flip) & 1u;
      dst[i] = bit;
      count += bit;
    }
  } else {
    LANES for (uint32_t i = 0; i < n; i++) {
      uint32_t bit = (b[i] ^ flip) & 1u;
      dst[i] = bit;
      count += bit;
    }
  }
  return count;
}

static uint32_t mask_count(const uint32_t *b, uint32_t flip, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += (b[i] ^ flip) & 1u;
  return count;
}

#define INDEX    uint32_t
#define UNSIGNED uint32_t
#define SCAN     scan_u32
#include "backends/cpu/lanes/scan_isa.inc"

#define INDEX    int32_t
#define UNSIGNED uint32_t
#define SCAN     scan_i32
#include "backends/cpu/lanes/scan_isa.inc"

#define INDEX    int64_t
#define UNSIGNED uint64_t
#define SCAN     scan_i64
#include "backends/cpu/lanes/scan_isa.inc"

static void split(uint32_t *const *part, const uint32_t *memory, uint32_t wide, uint32_t n) {
  uint32_t *a = part[0], *b = part[1];
  if (wide == 2) {
    LANES for (uint32_t i = 0; i < n; i++) {
      a[i] = memory[(size_t)i * 2];
      b[i] = memory[(size_t)i * 2 + 1];
    }
    return;
  }
  uint32_t *c = part[2], *d = part[3];
  LANES for (uint32_t i = 0; i < n; i++) {
    a[i] = memory[(size_t)i * 4];
    b[i] = memory[(size_t)i * 4 + 1];
    c[i] = memory[(size_t)i * 4 + 2];
    d[i] = memory[(size_t)i * 4 + 3];
  }
}

static void join(uint32_t *memory, uint32_t *const *part, uint32_t wide, uint32_t n) {
  const uint32_t *a = part[0], *b = part[1];
  if (wide == 2) {
    LANES for (uint32_t i = 0; i < n; i++) {
      memory[(size_t)i * 2] = a[i];
      memory[(size_t)i * 2 + 1] = b[i];
    }
    return;
  }
  const uint32_t *c = part[2], *d = part[3];
  LANES for (uint32_t i = 0; i < n; i++) {
    memory[(size_t)i * 4] = a[i];
    memory[(size_t)i * 4 + 1] = b[i];
    memory[(size_t)i * 4 + 2] = c[i];
    memory[(size_t)i * 4 + 3] = d[i];
  }
}

// The number of partial sums, a constant so that the order of additions does not depend on the width of the level's vectors.
enum { PARTS = 16 };
enum { SUM_MOST_ROUNDS = 64 };  // additions to a sum before it is added to its total

#define REAL        float
#define SUM         sum_f32
#define SUM_ROW     sum_row_f32
#define SUM_ROWS    sum_rows_f32
#define SUM_PARTS   sum_parts_f32
#define SUM_STRIDED sum_strided_f32
#define SUM_BEGIN   sum_begin_f32
#define SUM_END     sum_end_f32
#define SUM_FOUR    sum_four_f32
#define SUM_ROUNDS  sum_rounds_f32
#define SUM_HALVES  sum_halves_f32
#include "backends/cpu/lanes/sum_isa.inc"

#define REAL        double
#define SUM         sum_f64
#define SUM_ROW     sum_row_f64
#define SUM_ROWS    sum_rows_f64
#define SUM_PARTS   sum_parts_f64
#define SUM_STRIDED sum_strided_f64
#define SUM_BEGIN   sum_begin_f64
#define SUM_END     sum_end_f64
#define SUM_FOUR    sum_four_f64
#define SUM_ROUNDS  sum_rounds_f64
#define SUM_HALVES  sum_halves_f64
#include "backends/cpu/lanes/sum_isa.inc"

#if defined(__AVX512F__)
enum { LINE = 64 };
static void stream_line(char *dst, const char *src) { _mm512_stream_si512((void *)dst, _mm512_loadu_si512(src)); }
#elif defined(__AVX2__)
enum { LINE = 64 };
static void stream_line(char *dst, const char *src) {
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)src);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(src + 32));
  _mm256_stream_si256((__m256i *)(void *)dst, low);
  _mm256_stream_si256((__m256i *)(void *)(dst + 32), high);
}
#elif defined(__SSE2__)
enum { LINE = 64 };
static void stream_line(char *dst, const char *src) {
  for (int i = 0; i < LINE; i += 16) {
    _mm_stream_si128((__m128i *)(void *)(dst + i), _mm_loadu_si128((const __m128i *)(const void *)(src + i)));
  }
}
#else
enum { LINE = 64 };
static void stream_line(char *dst, const char *src) { memcpy(dst, src, LINE); }
#endif

static void stream(void *dst, const void *src, size_t bytes) {
  char *to = dst;
  const char *from = src;
  size_t head = (size_t)(-(uintptr_t)to) & (LINE - 1);
  if (head > bytes) head = bytes;
  if (head != 0) memcpy(to, from, head);
  size_t at = head;
  for (; at + LINE <= bytes; at += LINE) stream_line(to + at, from + at);
  if (at < bytes) memcpy(to + at, from + at, bytes - at);
}

static void fence(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const tsri_lanes_isa ISA_NAME(tsri_lanes_isa_) = {
    .name = TEXT(TSRI_ISA),
    .ops = ISA_NAME(tsri_lanes_ops_),
    .folds = ISA_NAME(tsri_lanes_folds_),
    .storage = ISA_NAME(tsri_lanes_storage_),
    .iota_32 = iota_32,
    .iota_64 = iota_64,
    .blend_32 = blend_32,
    .blend_64 = blend_64,
    .mask_and = mask_and,
    .mask_count = mask_count,
    .scan_u32 = scan_u32,
    .scan_i32 = scan_i32,
    .scan_i64 = scan_i64,
    .split = split,
    .join = join,
    .chain = ISA_NAME(tsri_lanes_chain_),
    .muladd_rows = ISA_NAME(tsri_lanes_muladd_rows_),
    .sum_f32 = sum_f32,
#if !defined(__wasm__)
    .sum_rows_f32 = sum_rows_f32,
    .sum_rows_f64 = sum_rows_f64,
    .sum_strided_f32 = sum_strided_f32,
    .sum_strided_f64 = sum_strided_f64,
#endif
    .sum_row_f32 = sum_row_f32,
    .sum_f64 = sum_f64,
    .sum_row_f64 = sum_row_f64,
    .stream = stream,
    .fence = fence,
};
