// SPDX-License-Identifier: MIT
// Products of f32 by AMX, whose registers multiply bf16 sixteen times as fast as AVX-512 multiplies f32.
//
// An f32 is the sum of three bf16: x rounded, the rest rounded, and what is left. Of the nine products of such parts the three smallest are left out; together they are at most 2^-23 of
// the product, with either sign, and 2^-25 on average. Sums are f32, and rounded once for each 32 elements along k and each of the six products, where multiply-adds of f32 round for every
// element: results are as good as those (product/split_test.c compares both with f64).
//
// The registers take subnormal numbers for 0 and flush subnormal sums. blocks.c finds the tiles where that could matter, and those with infinities and NaN, which cannot be split.
#include "backends/cpu/product/groups.h"

#if TSRI_HAS_GROUPS
#include <immintrin.h>

enum { SIDE = 16, LINES = 2 * SIDE, UNIT = 32, PARTS = 3 };  // UNIT: elements along k in a register
enum { REGISTER_BYTES = 1024, PART_BYTES = 2 * REGISTER_BYTES, BLOCK_BYTES = PARTS * PART_BYTES };
enum { ROW_BYTES = 64 };

#define TARGET_AMX __attribute__((target("amx-tile,amx-bf16")))

// --- Packing --------------------------------------------------------------------------------------------------------------
//
// A panel of 32 lines has, for each 32 elements along k, three parts of two registers: lines 0 to 15, and 16 to 31. A word is a pair of elements that are neighbours along k. Rows of a register of
// a are lines, and its columns are pairs; a register of b has rows of pairs, and its columns are lines.

typedef __m512i words[PARTS][SIDE];

// Rounded to bf16, as f32: half of a bit of the last place goes to the even neighbour.
TARGET_AVX512 static inline __m512i rounded(__m512i x) {
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
  __m512i up = _mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7FFF)), odd);
  return _mm512_and_si512(up, _mm512_set1_epi32((int)0xFFFF0000u));
}

// Elements too small for any part are marked by the smallest part there is, so that they are found by tsri_least_bf16.
TARGET_AVX512 static inline void split(__m512 x, __m512i *parts) {
  __m512i bits = _mm512_castps_si512(x), first = rounded(bits);
  __mmask16 is_lost = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7FFFFFFF)) &
                      _mm512_testn_epi32_mask(first, _mm512_set1_epi32(0x7FFFFFFF));
  __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
  __m512i second = rounded(_mm512_castps_si512(rest));
  parts[0] = _mm512_mask_mov_epi32(first, is_lost, _mm512_set1_epi32(1 << 16));
  parts[1] = second;
  parts[2] = _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(second)));
}

// Row i: the pairs of line i, whose elements are neighbours.
TARGET_AVX512 static inline void split_lines(const float *from, int64_t line_step, words out) {
  __m512i places = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 25, 23,
                                    21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  for (int i = 0; i < SIDE; i++) {
    __m512i low[PARTS], high[PARTS];
    split(_mm512_loadu_ps(from + i * line_step), low);
    split(_mm512_loadu_ps(from + i * line_step + SIDE), high);
    for (int p = 0; p < PARTS; p++) out[p][i] = _mm512_permutex2var_epi16(low[p], places, high[p]);
  }
}

// Row i: pair i of each line; lines are neighbours.
TARGET_AVX512 static inline void split_pairs(const float *from, int64_t k_step, words out) {
  for (int i = 0; i < SIDE; i++) {
    __m512i even[PARTS], odd[PARTS];
    split(_mm512_loadu_ps(from + 2 * i * k_step), even);
    split(_mm512_loadu_ps(from + (2 * i + 1) * k_step), odd);
    for (int p = 0; p < PARTS; p++) {
      out[p][i] = _mm512_or_si512(_mm512_srli_epi32(even[p], 16),
                                  _mm512_and_si512(odd[p], _mm512_set1_epi32((int)0xFFFF0000u)));
    }
  }
}

TARGET_AVX512 static void transpose(__m512i *x) {
  __m512i y[SIDE];
  for (int i = 0; i < SIDE; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < SIDE; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  for (int i = 0; i < 4; i++) {  // columns i, i + 4, i + 8 and i + 12 of rows 0 to 3, 4 to 7, …
    __m512i a = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88), b = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
    __m512i c = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xDD), d = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xDD);
    y[i] = _mm512_shuffle_i32x4(a, b, 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
    y[i + 8] = _mm512_shuffle_i32x4(a, b, 0xDD);
    y[i + 12] = _mm512_shuffle_i32x4(c, d, 0xDD);
  }
  memcpy(x, y, sizeof y);
}

// One register of each part: `lines` lines and `k` elements of each, at most SIDE and UNIT.
TARGET_AVX512 static void pack_registers(char *to, bool has_rows_of_lines, int64_t lines, int64_t k, const float *from,
                                         int64_t line_step, int64_t k_step) {
  words w;
  float copy[SIDE * UNIT];
  bool is_whole = lines == SIDE && k == UNIT;
  if (!is_whole || (line_step != 1 && k_step != 1)) {
    memset(copy, 0, sizeof copy);
    for (int64_t i = 0; i < lines; i++) {
      for (int64_t j = 0; j < k; j++) copy[i * UNIT + j] = from[i * line_step + j * k_step];
    }
    from = copy;
    line_step = UNIT;
    k_step = 1;
  }
  bool are_lines = k_step == 1;
  if (are_lines) split_lines(from, line_step, w);
  else split_pairs(from, k_step, w);
  for (int p = 0; p < PARTS; p++, to += PART_BYTES) {
    if (are_lines != has_rows_of_lines) transpose(w[p]);
    for (int i = 0; i < SIDE; i++) _mm512_storeu_si512(to + i * ROW_BYTES, w[p][i]);
  }
}

static void pack(char *panels, bool is_a, int64_t lines, int64_t k, const float *from, int64_t line_step,
                 int64_t k_step) {
  for (int64_t line = 0; line < lines; line += LINES) {
    for (int64_t at = 0; at < k; at += UNIT, panels += BLOCK_BYTES) {
      for (int half = 0; half < 2; half++) {
        int64_t first = line + half * SIDE, count = lines - first, depth = k - at < UNIT ? k - at : UNIT;
        count = count < 0 ? 0 : count < SIDE ? count : SIDE;
        pack_registers(panels + half * REGISTER_BYTES, is_a, count, depth, from + first * line_step + at * k_step,
                       line_step, k_step);
      }
    }
  }
}

static void pack_a(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack(panels, true, lines, k, from, line_step, k_step);
}
static void pack_b(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack(panels, false, lines, k, from, line_step, k_step);
}

// The smallest magnitude of the first parts, 0 if one of them is infinite or NaN.
TARGET_AVX512 static uint32_t least(const void *at, int64_t rows, size_t bytes, int64_t step) {
  uint32_t found = TSRI_PRODUCT_NO_LEAST;
  const __m512i exponent = _mm512_set1_epi16(0x7F80);
  (void)rows, (void)step;  // a panel is one piece
  for (size_t i = 0; i < bytes; i += BLOCK_BYTES) {
    const char *part = (const char *)at + i;
    uint32_t here = tsri_least_bf16(part, 1, PART_BYTES, 0);
    found = here < found ? here : found;
    for (int j = 0; j < PART_BYTES; j += ROW_BYTES) {
      __m512i x = _mm512_and_si512(_mm512_loadu_si512(part + j), exponent);
      if (_mm512_cmpeq_epi16_mask(x, exponent)) return 0;
    }
  }
  return found;
}

// --- Tiles ----------------------------------------------------------------------------------------------------------------

// Registers 0 to 3 are the result, 0 and 1 its upper half; 4 and 5 are a part of a, 6 and 7 one of b. They are named by literals, hence macros.
#define LOAD(low, high, panel, part)                      \
  _tile_loadd(low, panel + (part)*PART_BYTES, ROW_BYTES); \
  _tile_loadd(high, panel + (part)*PART_BYTES + REGISTER_BYTES, ROW_BYTES)
#define DOTS()             \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7)

TARGET_AMX static void tile(const tsri_group_tile *t) {
  const char *a = t->a, *b = t->b;
  size_t step = (size_t)t->c_step * sizeof(float);
  bool has_lower = t->rows > SIDE;
  char *c = t->c, *lower = c + SIDE * step;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (t->adds) {
    _tile_loadd(0, c, step);
    _tile_loadd(1, c + ROW_BYTES, step);
  }
  if (t->adds && has_lower) {
    _tile_loadd(2, lower, step);
    _tile_loadd(3, lower + ROW_BYTES, step);
  }
  // From one product of parts to the next only one side changes.
  for (int64_t i = 0; i < t->k; i += UNIT, a += BLOCK_BYTES, b += BLOCK_BYTES) {
    LOAD(4, 5, a, 0);
    LOAD(6, 7, b, 2);
    DOTS();
    LOAD(6, 7, b, 1);
    DOTS();
    LOAD(4, 5, a, 1);
    DOTS();
    LOAD(6, 7, b, 0);
    DOTS();
    LOAD(4, 5, a, 2);
    DOTS();
    LOAD(4, 5, a, 0);
    DOTS();
  }
  _tile_stored(0, c, step);
  _tile_stored(1, c + ROW_BYTES, step);
  if (!has_lower) return;
  _tile_stored(2, lower, step);
  _tile_stored(3, lower + ROW_BYTES, step);
}

const tsri_product_groups tsri_product_split_amx = {
    .tile_rows = LINES,
    .tile_columns = LINES,
    .unit = UNIT,
    .k_block = TSRI_PRODUCT_K_BLOCK,
    .begin = tsri_amx_begin,
    .end = tsri_amx_end,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .panel_element = PARTS * 2,
    .tile = tile,
    .least = least,
};
#endif
