// SPDX-License-Identifier: MIT
// Products of f32 and f16 by AMX, whose registers multiply bf16 sixteen times as fast as AVX-512 multiplies f32.
//
// An f32 is the sum of three bf16 parts: x1 is x rounded to bf16, x2 is the rest rounded to bf16, and x3 is what is left. x3 fits into bf16, as x has 24 significant bits and each part takes 8 of them.
// Of the nine products of parts the six largest are added up. The other three are together at most 2^-23 of the product, and have either sign, so that they cancel in a sum. One
// instruction adds up 32 products before it adds them to the sum, so a sum is rounded six times for 32 elements along k, where multiply-adds of f32 round it 32 times: the error is smaller.
// An f16 has 11 significant bits and is the sum of two parts, all four products of which are added up.
//
// The instructions take subnormal elements for 0 and flush subnormal sums, and infinities have no parts. `least` finds the panels where that can matter; see tsri_product_split_tile.
#include "backends/cpu/product/groups.h"
#include "core/lines.h"

#if TSRI_HAS_GROUPS
#include <immintrin.h>

enum { SIDE = 16, LINES = 2 * SIDE, UNIT = 32, MOST_PARTS = 3 };  // UNIT: elements along k in a register
enum { REGISTER_BYTES = 1024, PART_BYTES = 2 * REGISTER_BYTES, ROW_BYTES = 64 };

#define TARGET_AMX __attribute__((target("amx-tile,amx-bf16")))
#define INLINE     static inline __attribute__((always_inline))

typedef enum parts { PARTS_OF_F16 = 2, PARTS_OF_F32 = 3 } parts;

// Bytes of a panel's block of 32 lines and 32 elements along k.
#define BLOCK_BYTES(parts) ((parts)*PART_BYTES)

// --- Packing --------------------------------------------------------------------------------------------------------------
//
// A panel of 32 lines has, for each 32 elements along k, the first parts, then the second ones and so on, each as two registers: lines 0 to 15, and 16 to 31. Rows of a register of a are lines
// with 32 elements along k. Rows of a register of b are pairs of neighbours along k, one pair of each of 16 lines.

// 16 lines with 32 elements along k as f32, in one of two orders. By lines: vectors 2 i and 2 i + 1 are the first and the second half of line i. By k: vector i
// has element i of all lines.
typedef __m512i square[UNIT];

// Rounds to bf16, halves away from 0.
INLINE TARGET_AVX512 __m512i rounded(__m512i bits) {
  return _mm512_and_si512(_mm512_add_epi32(bits, _mm512_set1_epi32(0x8000)), _mm512_set1_epi32((int)0xFFFF0000u));
}

// Splits x into its parts, each in the high half of a word. If x is subnormal, x1 becomes the smallest number instead of possibly 0, so that `least` finds it.
INLINE TARGET_AVX512 void split(parts count, __m512i bits, __m512i *to) {
  enum { SUBNORMAL = 0x20 };
  __m512 x = _mm512_castsi512_ps(bits);
  __m512i x1 = rounded(bits);
  __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(x1));
  to[0] = x1;
  to[1] = _mm512_castps_si512(rest);
  if (count == PARTS_OF_F16) return;
  to[0] = _mm512_mask_mov_epi32(x1, _mm512_fpclass_ps_mask(x, SUBNORMAL), _mm512_set1_epi32(1 << 16));
  to[1] = rounded(_mm512_castps_si512(rest));
  to[2] = _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(to[1])));
}

// Loads the elements of a vector for which `mask` is set, as f32; the others are 0.
INLINE TARGET_AVX512 __m512i load(parts count, uint32_t mask, const char *from) {
  if (count == PARTS_OF_F32) return _mm512_maskz_loadu_epi32((__mmask16)mask, from);
  return _mm512_castps_si512(_mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16)mask, from)));
}

INLINE int64_t element_of(parts count) { return count == PARTS_OF_F32 ? 4 : 2; }

// Loads lines that are contiguous along k; steps are in bytes.
INLINE TARGET_AVX512 void read_lines(parts count, square x, const char *from, int64_t line_step, int64_t lines,
                                     int64_t k) {
  uint32_t there = k >= UNIT ? UINT32_MAX : (1u << k) - 1;
#pragma GCC unroll 16
  for (int i = 0; i < SIDE; i++) {
    uint32_t mask = i < lines ? there : 0;
    x[2 * i] = load(count, mask & UINT16_MAX, from + i * line_step);
    x[2 * i + 1] = load(count, mask >> SIDE, from + i * line_step + SIDE * element_of(count));
  }
}

// Loads lines whose elements of the same k are contiguous.
INLINE TARGET_AVX512 void read_by_k(parts count, square x, const char *from, int64_t k_step, int64_t lines, int64_t k) {
  uint32_t there = lines >= SIDE ? UINT16_MAX : (1u << lines) - 1;
#pragma GCC unroll 32
  for (int i = 0; i < UNIT; i++) x[i] = load(count, i < k ? there : 0, from + i * k_step);
}

// Converts a square from the order by lines to that by k: transposes 16 x 16 elements at a time. The next function does the reverse.
static void turn_lines_to_k(square x) {
  square y;
  tsri_turn_groups((char *)y, ROW_BYTES, (const uint32_t *)x, 2 * SIDE);
  tsri_turn_groups((char *)(y + SIDE), ROW_BYTES, (const uint32_t *)x + SIDE, 2 * SIDE);
  memcpy(x, y, sizeof y);
}
static void turn_k_to_lines(square x) {
  square y;
  tsri_turn_groups((char *)y, 2 * ROW_BYTES, (const uint32_t *)x, SIDE);
  tsri_turn_groups((char *)(y + 1), 2 * ROW_BYTES, (const uint32_t *)(x + SIDE), SIDE);
  memcpy(x, y, sizeof y);
}

// Stores one register of each part, from a square by lines, for a.
INLINE TARGET_AVX512 void write_lines(parts count, char *to, const square x) {
  const __m512i high_halves = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
                                               27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  for (int i = 0; i < SIDE; i++, to += ROW_BYTES) {
    __m512i low[MOST_PARTS], high[MOST_PARTS];
    split(count, x[2 * i], low);
    split(count, x[2 * i + 1], high);
    for (int p = 0; p < (int)count; p++) {
      _mm512_storeu_si512(to + p * PART_BYTES, _mm512_permutex2var_epi16(low[p], high_halves, high[p]));
    }
  }
}

// Stores one register of each part, from a square by k, for b.
INLINE TARGET_AVX512 void write_pairs(parts count, char *to, const square x) {
  const __mmask32 odd_halves = 0xAAAAAAAA;
  for (int i = 0; i < SIDE; i++, to += ROW_BYTES) {
    __m512i even[MOST_PARTS], odd[MOST_PARTS];
    split(count, x[2 * i], even);
    split(count, x[2 * i + 1], odd);
    for (int p = 0; p < (int)count; p++) {
      __m512i even_low = _mm512_srli_epi32(even[p], 16);
      _mm512_storeu_si512(to + p * PART_BYTES, _mm512_mask_blend_epi16(odd_halves, even_low, odd[p]));
    }
  }
}

// Packs one register of each part: `lines` lines (at most SIDE, maybe 0) with `k` elements (at most UNIT) each. Steps are in bytes.
INLINE TARGET_AVX512 void pack_register(parts count, bool is_a, char *to, int64_t lines, int64_t k, const char *from,
                                        int64_t line_step, int64_t k_step) {
  square x;
  float copy[SIDE * UNIT];
  int64_t element = element_of(count);
  if (line_step != element && k_step != element) {
    for (int64_t i = 0; i < lines; i++) {
      tsri_gather_line((char *)copy + i * UNIT * element, k_step, from + i * line_step, k, (size_t)element);
    }
    from = (const char *)copy;
    line_step = UNIT * element;
    k_step = element;
  }
  bool is_by_lines = k_step == element;
  if (is_by_lines) read_lines(count, x, from, line_step, lines, k);
  else read_by_k(count, x, from, k_step, lines, k);
  if (is_a && !is_by_lines) turn_k_to_lines(x);
  if (!is_a && is_by_lines) turn_lines_to_k(x);
  if (is_a) write_lines(count, to, x);
  else write_pairs(count, to, x);
}

INLINE TARGET_AVX512 void pack(parts count, bool is_a, char *panels, int64_t lines, int64_t k, const char *from,
                               int64_t line_step, int64_t k_step) {
  line_step *= element_of(count);
  k_step *= element_of(count);
  for (int64_t line = 0; line < lines; line += LINES) {
    for (int64_t at = 0; at < k; at += UNIT, panels += BLOCK_BYTES(count)) {
      for (int half = 0; half < 2; half++) {
        int64_t first = line + half * SIDE, left = lines - first;
        pack_register(count, is_a, panels + half * REGISTER_BYTES,
                      left > SIDE ? SIDE
                      : left > 0  ? left
                                  : 0,
                      k - at < UNIT ? k - at : UNIT, left > 0 ? from + first * line_step + at * k_step : from,
                      line_step, k_step);
      }
    }
  }
}

TARGET_AVX512 static void pack_a_f32(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step,
                                     int64_t k_step) {
  pack(PARTS_OF_F32, true, panels, lines, k, from, line_step, k_step);
}
TARGET_AVX512 static void pack_b_f32(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step,
                                     int64_t k_step) {
  pack(PARTS_OF_F32, false, panels, lines, k, from, line_step, k_step);
}
TARGET_AVX512 static void pack_a_f16(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step,
                                     int64_t k_step) {
  pack(PARTS_OF_F16, true, panels, lines, k, from, line_step, k_step);
}
TARGET_AVX512 static void pack_b_f16(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step,
                                     int64_t k_step) {
  pack(PARTS_OF_F16, false, panels, lines, k, from, line_step, k_step);
}

// The smallest magnitude of x1 other than 0; or 0 if an element is outside of the range in which all parts of all elements are normal numbers and no sum of
// products overflows: from 2^-102 (then the last of the 24 bits of x is at least 2^-126) to 2^48.
INLINE TARGET_AVX512 uint32_t least_of(parts count, const char *panel, size_t bytes) {
  enum { LEAST_GOOD = (127 - 102) << 7, MOST_GOOD = (127 + 48) << 7 };
  const __m512i sign = _mm512_set1_epi16((short)0x8000), one = _mm512_set1_epi16(1);
  __m512i smallest = _mm512_set1_epi16(-1), largest = _mm512_setzero_si512();
  for (const char *block = panel; block < panel + bytes; block += BLOCK_BYTES(count)) {
    for (int row = 0; row < PART_BYTES; row += ROW_BYTES) {
      __m512i x = _mm512_andnot_si512(sign, _mm512_loadu_si512(block + row));
      smallest = _mm512_min_epu16(smallest, _mm512_sub_epi16(x, one));  // 0 becomes the largest number
      largest = _mm512_max_epu16(largest, x);
    }
  }
  uint16_t low[UNIT], high[UNIT];
  uint32_t found = TSRI_PRODUCT_NO_LEAST;
  _mm512_storeu_si512(low, smallest);
  _mm512_storeu_si512(high, largest);
  for (int i = 0; i < UNIT; i++) {
    if (high[i] >= MOST_GOOD || low[i] + 1u < LEAST_GOOD) return 0;
    found = low[i] + 1u < found ? low[i] + 1u : found;
  }
  return found;
}

// As least_of; a panel is contiguous, so `rows` and `step` are not used.
TARGET_AVX512 static uint32_t least_f32(const void *panel, int64_t rows, size_t bytes, int64_t step) {
  (void)rows, (void)step;
  return least_of(PARTS_OF_F32, panel, bytes);
}
TARGET_AVX512 static uint32_t least_f16(const void *panel, int64_t rows, size_t bytes, int64_t step) {
  (void)rows, (void)step;
  return least_of(PARTS_OF_F16, panel, bytes);
}

// --- Tiles ----------------------------------------------------------------------------------------------------------------

// Tile registers 0 to 3 are the result (0 and 1 its upper half), 4 and 5 a part of a, 6 and 7 a part of b. The instructions need literals, hence macros.
#define LOAD(upper, lower, panel, part)                       \
  _tile_loadd(upper, (panel) + (part)*PART_BYTES, ROW_BYTES); \
  _tile_loadd(lower, (panel) + (part)*PART_BYTES + REGISTER_BYTES, ROW_BYTES)
#define LOAD_A(part) LOAD(4, 5, a, part)
#define LOAD_B(part) LOAD(6, 7, b, part)
#define DOTS()             \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7)

TARGET_AMX static void zero_sums(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

TARGET_AMX static void store_sums(char *c, size_t step) {
  _tile_stored(0, c, step);
  _tile_stored(1, c + ROW_BYTES, step);
  _tile_stored(2, c + SIDE * step, step);
  _tile_stored(3, c + SIDE * step + ROW_BYTES, step);
}

// Adds the products of `blocks` * 32 elements along k to the sums. From one product of parts to the next, only one side is loaded again.
TARGET_AMX static void add_f32(const char *a, const char *b, int64_t blocks) {
  for (int64_t i = 0; i < blocks; i++, a += BLOCK_BYTES(PARTS_OF_F32), b += BLOCK_BYTES(PARTS_OF_F32)) {
    LOAD_A(0);
    LOAD_B(2);
    DOTS();
    LOAD_B(1);
    DOTS();
    LOAD_A(1);
    DOTS();
    LOAD_B(0);
    DOTS();
    LOAD_A(2);
    DOTS();
    LOAD_A(0);
    DOTS();
  }
}

TARGET_AMX static void add_f16(const char *a, const char *b, int64_t blocks) {
  for (int64_t i = 0; i < blocks; i++, a += BLOCK_BYTES(PARTS_OF_F16), b += BLOCK_BYTES(PARTS_OF_F16)) {
    LOAD_A(0);
    LOAD_B(1);
    DOTS();
    LOAD_A(1);
    DOTS();
    LOAD_B(0);
    DOTS();
    LOAD_A(0);
    DOTS();
  }
}

// As add_f32 and add_f16, with the same sums, for a tile without a lower or right half.
TARGET_AMX static void add_few(parts count, const char *a, const char *b, int64_t blocks, bool has_lower,
                               bool has_right) {
  static const uint8_t of_f32[][2] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};
  static const uint8_t of_f16[][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  const uint8_t(*order)[2] = count == PARTS_OF_F32 ? of_f32 : of_f16;
  int products = count == PARTS_OF_F32 ? 6 : 4;
  for (int64_t i = 0; i < blocks; i++, a += BLOCK_BYTES(count), b += BLOCK_BYTES(count)) {
    for (int j = 0; j < products; j++) {
      LOAD_A(order[j][0]);
      LOAD_B(order[j][1]);
      _tile_dpbf16ps(0, 4, 6);
      if (has_right) _tile_dpbf16ps(1, 4, 7);
      if (has_lower) _tile_dpbf16ps(2, 5, 6);
    }
  }
}

// Each block of k is summed starting from 0, and then added to the blocks before, as in other tiles of f32: deep.c relies on that.
INLINE TARGET_AVX512 void tile(parts count, const tsri_group_tile *t) {
  float sums[LINES * LINES], *c = t->c;
  bool has_lower = t->rows > SIDE, has_right = t->columns > SIDE, is_apart = t->adds || !has_lower || !has_right;
  zero_sums();
  if (!has_lower || !has_right) add_few(count, t->a, t->b, t->k / UNIT, has_lower, has_right);
  else if (count == PARTS_OF_F32) add_f32(t->a, t->b, t->k / UNIT);
  else add_f16(t->a, t->b, t->k / UNIT);
  store_sums(is_apart ? (char *)sums : (char *)c, (is_apart ? (size_t)LINES : (size_t)t->c_step) * sizeof(float));
  for (int i = 0; is_apart && i < t->rows; i++, c += t->c_step) {
    for (int j = 0; j < t->columns; j += SIDE) {
      __m512 sum = _mm512_loadu_ps(sums + i * LINES + j);
      _mm512_storeu_ps(c + j, t->adds ? _mm512_add_ps(_mm512_loadu_ps(c + j), sum) : sum);
    }
  }
}

TARGET_AVX512 static void tile_f32(const tsri_group_tile *t) { tile(PARTS_OF_F32, t); }
TARGET_AVX512 static void tile_f16(const tsri_group_tile *t) { tile(PARTS_OF_F16, t); }

const tsri_product_groups tsri_product_f32_amx = {
    .tile_rows = LINES,
    .tile_columns = LINES,
    .unit = UNIT,
    .k_block = TSRI_PRODUCT_K_BLOCK,
    .begin = tsri_amx_begin,
    .end = tsri_amx_end,
    .pack_a = pack_a_f32,
    .pack_b = pack_b_f32,
    .packed_bytes = PARTS_OF_F32 * 2,
    .tile = tile_f32,
    .least = least_f32,
};

const tsri_product_groups tsri_product_f16_amx = {
    .tile_rows = LINES,
    .tile_columns = LINES,
    .unit = UNIT,
    .k_block = 2 * TSRI_PRODUCT_K_BLOCK,
    .begin = tsri_amx_begin,
    .end = tsri_amx_end,
    .pack_a = pack_a_f16,
    .pack_b = pack_b_f16,
    .packed_bytes = PARTS_OF_F16 * 2,
    .tile = tile_f16,
    .least = least_f16,
};
#endif
