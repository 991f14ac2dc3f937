// SPDX-License-Identifier: MIT
// Grouped products by AVX-512: vdpbf16ps for bf16, vpdpbusd for bytes. Functions name their instructions, as a processor with AVX-512 may lack them.
#include "backends/cpu/product/groups.h"

#if TSRI_HAS_GROUPS
#include <immintrin.h>

enum { ROWS = 14, COLUMNS = 2 * LANES };

#define TARGET_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512bf16")))
#define TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512vnni")))
#define INLINE      static inline __attribute__((always_inline))

// --- Packing --------------------------------------------------------------------------------------------------------------

// Groups of LANES lines that lie side by side, `count` of them there: elements of one k are a row of memory.
INLINE TARGET_AVX512 __m512i across(const char *from, int64_t k_left, int64_t k_step, int64_t element, int count) {
  __m512i groups = _mm512_setzero_si512();
  __mmask16 mask = (__mmask16)((1u << count) - 1);
  int each = GROUP_BYTES / (int)element;
  for (int i = 0; i < each && i < k_left; i++) {
    const char *row = from + i * k_step * element;
    __m512i lanes = element == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, row))
                                 : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, row));
    groups = _mm512_or_si512(groups, _mm512_slli_epi32(lanes, (unsigned)(i * 8 * (int)element)));
  }
  return groups;
}

TARGET_AVX512 static void pack_side_by_side(uint32_t *panel, int width, int64_t groups, int64_t count, int64_t k,
                                            const char *from, int64_t k_step, int64_t element) {
  int64_t each = GROUP_BYTES / element;
  for (int64_t g = 0; g < groups; g++, panel += width, from += each * k_step * element) {
    for (int at = 0; at < width; at += LANES) {
      int64_t left = count - at, lanes = left < LANES ? (left > 0 ? left : 0) : LANES;
      int to = width - at < LANES ? width - at : LANES;
      __m512i x = across(from + at * element, k - g * each, k_step, element, (int)lanes);
      _mm512_mask_storeu_epi32(panel + at, (__mmask16)((1u << to) - 1), x);
    }
  }
}

void tsri_pack_across(uint32_t *panel, int width, int64_t groups, int64_t count, int64_t k, const char *from,
                      int64_t line_step, int64_t k_step, int64_t element) {
  if (line_step == 1) {
    if (element == 2) pack_side_by_side(panel, width, groups, count, k, from, k_step, 2);
    else pack_side_by_side(panel, width, groups, count, k, from, k_step, 1);
    return;
  }
  for (int64_t i = 0; i < width; i++) {
    const char *line = from + i * line_step * element;
    int64_t whole = i < count && k_step == 1 ? k * element / GROUP_BYTES : 0;
    for (int64_t g = 0; g < whole; g++) memcpy(&panel[g * width + i], line + g * GROUP_BYTES, GROUP_BYTES);
    for (int64_t g = whole; g < groups; g++) {
      panel[g * width + i] = i < count ? tsri_group_at(line, g, k, k_step, element) : 0;
    }
  }
}

// One less than a magnitude, without a sign, is larger than any other if it is 0.
TARGET_AVX512 uint32_t tsri_least_bf16(const void *panel, size_t bytes) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff), one = _mm512_set1_epi16(1);
  __m512i least = _mm512_set1_epi16(-1);
  size_t at = 0;
  for (; at + sizeof least <= bytes; at += sizeof least) {
    __m512i x = _mm512_and_si512(_mm512_loadu_si512((const char *)panel + at), magnitude);
    least = _mm512_min_epu16(least, _mm512_sub_epi16(x, one));
  }
  if (at < bytes) {
    __mmask32 mask = (__mmask32)((UINT64_C(1) << (bytes - at) / 2) - 1);
    __m512i x = _mm512_and_si512(_mm512_maskz_loadu_epi16(mask, (const char *)panel + at), magnitude);
    least = _mm512_min_epu16(least, _mm512_sub_epi16(x, one));
  }
  uint16_t lanes[sizeof least / sizeof(uint16_t)];
  uint32_t found = TSRI_PRODUCT_NO_LEAST;
  _mm512_storeu_si512(lanes, least);
  for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) found = lanes[i] + 1u < found ? lanes[i] + 1u : found;
  return found;
}

// --- Exact tiles of bf16 --------------------------------------------------------------------------------------------------

enum { EXACT_ROWS = 4 };

// The second of a pair as f32, and the first one.
INLINE TARGET_AVX512 __m512 second(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u)));
}
INLINE TARGET_AVX512 __m512 first(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }

INLINE TARGET_AVX512 void exact_few(int rows, int64_t groups, const uint32_t *a, int64_t row_step, int64_t group_step,
                                    const uint32_t *b, float *c, int64_t c_step, bool adds) {
  __m512 sum[EXACT_ROWS][2] = {{{0}}};
  for (int64_t g = 0; g < groups; g++, a += group_step, b += COLUMNS) {
    __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + LANES);
    for (int i = 0; i < rows; i++) {
      __m512i x = _mm512_set1_epi32((int)a[i * row_step]);
      sum[i][0] = _mm512_fmadd_ps(second(x), second(left), sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(second(x), second(right), sum[i][1]);
      sum[i][0] = _mm512_fmadd_ps(first(x), first(left), sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(first(x), first(right), sum[i][1]);
    }
  }
  for (int i = 0; i < rows; i++, c += c_step) {
    for (int j = 0; j < 2; j++) {
      float *to = c + j * LANES;
      _mm512_storeu_ps(to, adds ? _mm512_add_ps(_mm512_loadu_ps(to), sum[i][j]) : sum[i][j]);
    }
  }
}

TARGET_AVX512 void tsri_exact_rows(int rows, int64_t groups, const uint32_t *a, int64_t row_step, int64_t group_step,
                                   const uint32_t *b, float *c, int64_t c_step, bool adds) {
  int i = 0;
  for (; i + EXACT_ROWS <= rows; i += EXACT_ROWS) {
    exact_few(EXACT_ROWS, groups, a + i * row_step, row_step, group_step, b, c + i * c_step, c_step, adds);
  }
  for (; i < rows; i++) exact_few(1, groups, a + i * row_step, row_step, group_step, b, c + i * c_step, c_step, adds);
}

static void exact_tile(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step, bool adds) {
  tsri_exact_rows(rows, k / 2, a, 1, ROWS, b, c, c_step, adds);
}

// --- Tiles ----------------------------------------------------------------------------------------------------------------

// Inlined with `rows` known, so that sums stay in registers.
INLINE TARGET_BF16 void rows_of_bf16(int rows, int64_t groups, const uint32_t *a, const uint32_t *b, float *c,
                                     int64_t c_step, bool adds) {
  __m512 sum[ROWS][2] = {{{0}}};
  for (int64_t g = 0; g < groups; g++, a += ROWS, b += COLUMNS) {
    __m512bh left = (__m512bh)_mm512_loadu_si512(b), right = (__m512bh)_mm512_loadu_si512(b + LANES);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[i]);
      sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, left);
      sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, right);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++, c += c_step) {
    for (int j = 0; j < 2; j++) {
      float *to = c + j * LANES;
      _mm512_storeu_ps(to, adds ? _mm512_add_ps(_mm512_loadu_ps(to), sum[i][j]) : sum[i][j]);
    }
  }
}

TARGET_BF16 static void tile_bf16(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step,
                                  bool adds) {
  int64_t groups = k / 2;
  if (rows <= ROWS / 4) rows_of_bf16(ROWS / 4, groups, a, b, c, c_step, adds);
  else if (rows <= ROWS / 2) rows_of_bf16(ROWS / 2, groups, a, b, c, c_step, adds);
  else rows_of_bf16(ROWS, groups, a, b, c, c_step, adds);
}

// Elements of a count as unsigned and those of b as signed: low bytes of sums, which are what a product of bytes keeps, are the same for all of them.
INLINE TARGET_VNNI void rows_of_bytes(int rows, int64_t groups, const uint32_t *a, const uint32_t *b, int32_t *c,
                                      int64_t c_step, bool adds) {
  __m512i sum[ROWS][2] = {{{0}}};
  for (int64_t g = 0; g < groups; g++, a += ROWS, b += COLUMNS) {
    __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + LANES);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      __m512i x = _mm512_set1_epi32((int)a[i]);
      sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], x, left);
      sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], x, right);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++, c += c_step) {
    for (int j = 0; j < 2; j++) {
      int32_t *to = c + j * LANES;
      _mm512_storeu_si512(to, adds ? _mm512_add_epi32(_mm512_loadu_si512(to), sum[i][j]) : sum[i][j]);
    }
  }
}

TARGET_VNNI static void tile_bytes(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step,
                                   bool adds) {
  int64_t groups = k / 4;
  if (rows <= ROWS / 4) rows_of_bytes(ROWS / 4, groups, a, b, c, c_step, adds);
  else if (rows <= ROWS / 2) rows_of_bytes(ROWS / 2, groups, a, b, c, c_step, adds);
  else rows_of_bytes(ROWS, groups, a, b, c, c_step, adds);
}

static void pack_a_bf16(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panel, ROWS, (k + 1) / 2, count, k, from, line_step, k_step, 2);
}
static void pack_b_bf16(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panel, COLUMNS, (k + 1) / 2, count, k, from, line_step, k_step, 2);
}
static void pack_a_bytes(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panel, ROWS, (k + 3) / 4, count, k, from, line_step, k_step, 1);
}
static void pack_b_bytes(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panel, COLUMNS, (k + 3) / 4, count, k, from, line_step, k_step, 1);
}

const tsri_product_groups tsri_product_bf16_avx512 = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = 2,
    .k_block = 2 * TSRI_PRODUCT_K_BLOCK,
    .pack_a = pack_a_bf16,
    .pack_b = pack_b_bf16,
    .tile = tile_bf16,
    .least = tsri_least_bf16,
    .exact_tile = exact_tile,
};

const tsri_product_groups tsri_product_bytes_avx512 = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = 4,
    .k_block = 4 * TSRI_PRODUCT_K_BLOCK,
    .pack_a = pack_a_bytes,
    .pack_b = pack_b_bytes,
    .tile = tile_bytes,
};
#endif
