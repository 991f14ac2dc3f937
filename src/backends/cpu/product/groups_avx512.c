// SPDX-License-Identifier: MIT
// Grouped products by AVX-512: vdpbf16ps for bf16, vpdpbusd for bytes. Functions have target attributes for their instructions, as a processor with AVX-512 may
// lack these.
#include "backends/cpu/product/groups.h"

#if TSRI_HAS_GROUPS
#include <immintrin.h>
#include <stdlib.h>

#include "core/lines.h"

enum { ROWS = 14, COLUMNS = 2 * GROUP_LANES };

#define TARGET_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512bf16")))
#define TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512vnni")))
#define INLINE      static inline __attribute__((always_inline))

// --- Packing --------------------------------------------------------------------------------------------------------------

// The groups of GROUP_LANES lines that lie side by side, all of them there: GROUP_BYTES / `element` neighbours along k, whose elements are rows of memory `row_bytes` apart.
// Rows are loaded one after the other into a vector, so that one or two permutations make groups of them.
INLINE TARGET_AVX512 __m512i whole_across(const char *from, int64_t row_bytes, int64_t element) {
  if (element == 2) {
    const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,  //
                                           23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i rows = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from));
    rows = _mm512_inserti64x4(rows, _mm256_loadu_si256((const void *)(from + row_bytes)), 1);
    return _mm512_permutexvar_epi16(pairs, rows);
  }
  // Four bytes of each row come together first, then the bytes of each line among them.
  const __m512i fours = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m512i lines = _mm512_broadcast_i32x4(_mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
  __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const void *)(from + row_bytes)), 1);
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const void *)(from + 2 * row_bytes)), 2);
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const void *)(from + 3 * row_bytes)), 3);
  return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(fours, rows), lines);
}

// Loads groups of GROUP_LANES lines whose elements of the same k are contiguous, with `count` lines present.
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

// Lines that lie side by side are read across all panels, `panel_step` apart, for each group of k, in the order of memory.
INLINE TARGET_AVX512 void pack_rows(uint32_t *panels, int64_t panel_step, int width, int64_t groups, int64_t lines,
                                    int64_t k, const char *from, int64_t k_step, int64_t element) {
  int64_t each = GROUP_BYTES / element;
  for (int64_t g = 0; g < groups; g++, panels += width, from += each * k_step * element) {
    uint32_t *to = panels;
    bool is_whole = width == 2 * GROUP_LANES && k - g * each >= each;
    int64_t line = 0, whole = is_whole ? lines / width * width : 0;
    for (; line < whole; line += width, to += panel_step) {
      const char *at = from + line * element;
      _mm512_storeu_si512(to, whole_across(at, k_step * element, element));
      _mm512_storeu_si512(to + GROUP_LANES, whole_across(at + GROUP_LANES * element, k_step * element, element));
    }
    for (; line < lines; line += width, to += panel_step) {
      for (int at = 0; at < width; at += GROUP_LANES) {
        int64_t left = lines - line - at, lanes = left < GROUP_LANES ? (left > 0 ? left : 0) : GROUP_LANES;
        int room = width - at < GROUP_LANES ? width - at : GROUP_LANES;
        if (lanes > room) lanes = room;
        __m512i x = across(from + (line + at) * element, k - g * each, k_step, element, (int)lanes);
        _mm512_mask_storeu_epi32(to + at, (__mmask16)((1u << room) - 1), x);
      }
    }
  }
}

TARGET_AVX512 static void pack_rows_bf16(uint32_t *panels, int64_t panel_step, int width, int64_t groups, int64_t lines,
                                         int64_t k, const char *from, int64_t k_step) {
  pack_rows(panels, panel_step, width, groups, lines, k, from, k_step, 2);
}

TARGET_AVX512 static void pack_rows_bytes(uint32_t *panels, int64_t panel_step, int width, int64_t groups,
                                          int64_t lines, int64_t k, const char *from, int64_t k_step) {
  pack_rows(panels, panel_step, width, groups, lines, k, from, k_step, 1);
}

static void pack_rows_of(uint32_t *panels, int64_t panel_step, int width, int64_t groups, int64_t lines, int64_t k,
                         const char *from, int64_t k_step, int64_t element) {
  (element == 2 ? pack_rows_bf16 : pack_rows_bytes)(panels, panel_step, width, groups, lines, k, from, k_step);
}

// Swaps rows and columns of 16 x 16 groups.
INLINE TARGET_AVX512 void turn(__m512i x[GROUP_LANES]) {
  __m512i y[GROUP_LANES];
#pragma GCC unroll 4
  for (int i = 0; i < GROUP_LANES; i += 4) {  // squares of 4 x 4, in each quarter of the vectors
    __m512i a = _mm512_unpacklo_epi32(x[i], x[i + 1]), b = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    __m512i c = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]), d = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
    y[i] = _mm512_unpacklo_epi64(a, c);
    y[i + 1] = _mm512_unpackhi_epi64(a, c);
    y[i + 2] = _mm512_unpacklo_epi64(b, d);
    y[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {  // transposes each square of 4 x 4
    __m512i a = _mm512_shuffle_i32x4(y[i], y[i + 4], 0x88), b = _mm512_shuffle_i32x4(y[i], y[i + 4], 0xdd);
    __m512i c = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0x88), d = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0xdd);
    x[i] = _mm512_shuffle_i32x4(a, c, 0x88);
    x[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
    x[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
    x[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

// Packs up to GROUP_LANES lines that are contiguous along k, with `bytes` bytes each, as `groups` groups; bytes beyond that are zeros.
TARGET_AVX512 static void turn_lines(uint32_t *panel, int width, int64_t groups, int64_t count, int64_t bytes,
                                     const char *from, int64_t line_bytes) {
  enum { TOGETHER = GROUP_LANES * GROUP_BYTES };
  __mmask16 mask = (__mmask16)((1u << (width < GROUP_LANES ? width : GROUP_LANES)) - 1);
  for (int64_t at = 0; groups > 0; at += TOGETHER, groups -= GROUP_LANES, panel += GROUP_LANES * width) {
    int64_t left = bytes - at;
    __mmask64 there = left >= TOGETHER ? ~UINT64_C(0) : left > 0 ? (UINT64_C(1) << left) - 1 : 0;
    __m512i x[GROUP_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < GROUP_LANES; i++)
      x[i] = _mm512_maskz_loadu_epi8(i < count ? there : 0, from + i * line_bytes + at);
    turn(x);
#pragma GCC unroll 16
    for (int g = 0; g < GROUP_LANES; g++) {
      if (g < groups) _mm512_mask_storeu_epi32(panel + g * width, mask, x[g]);
    }
  }
}

// Packs one panel of `count` lines.
static void pack_lines(uint32_t *panel, int width, int64_t groups, int64_t count, int64_t k, const char *from,
                       int64_t line_step, int64_t k_step, int64_t element) {
  for (int first = 0; k_step == 1 && first < width; first += GROUP_LANES) {
    turn_lines(panel + first, width, groups, count - first, k * element, from + first * line_step * element,
               line_step * element);
  }
  for (int64_t i = 0; k_step != 1 && i < width; i++) {
    const char *line = from + i * line_step * element;
    for (int64_t g = 0; g < groups; g++) {
      panel[g * width + i] = i < count ? tsri_group_at(line, g, k, k_step, element) : 0;
    }
  }
}

// If elements are contiguous neither along k nor across lines, they are gathered first, along the direction with the smaller stride.
enum { STAGE_BYTES = 512 };  // bytes of a line along k: a multiple of GROUP_LANES groups
enum { STAGE_LINES = 1024 };

// Gathers across lines all elements for one group of k, in the order of memory.
static void gather_rows(uint32_t *panels, int width, int64_t groups, int64_t lines, int64_t k, const char *from,
                        int64_t line_step, int64_t k_step, int64_t element) {
  char stage[GROUP_BYTES * STAGE_LINES];
  int64_t each = GROUP_BYTES / element, at_once = STAGE_LINES / width * width;
  for (int64_t g = 0; g < groups; g++) {
    int64_t depth = k - g * each < each ? k - g * each : each;
    for (int64_t line = 0; line < lines; line += at_once) {
      int64_t count = lines - line < at_once ? lines - line : at_once;
      for (int64_t i = 0; i < depth; i++) {
        const char *row = from + (line * line_step + (g * each + i) * k_step) * element;
        tsri_gather_line(stage + i * count * element, line_step * element, row, count, (size_t)element);
      }
      pack_rows_of(panels + line * groups + g * width, groups * width, width, 1, count, depth > 0 ? depth : 0, stage,
                   count, element);
    }
  }
}

// Gathers along k: a part of each line of a panel, which stays in the first-level cache.
static void gather_lines(uint32_t *panels, int width, int64_t groups, int64_t lines, int64_t k, const char *from,
                         int64_t line_step, int64_t k_step, int64_t element) {
  char stage[2 * GROUP_LANES * STAGE_BYTES];
  int64_t each = GROUP_BYTES / element, together = STAGE_BYTES / element;
  for (int64_t line = 0; line < lines; line += width, panels += groups * width) {
    int64_t count = lines - line < width ? lines - line : width;
    for (int64_t at = 0; at < k; at += together) {
      int64_t depth = k - at < together ? k - at : together;
      for (int64_t i = 0; i < count; i++) {
        tsri_gather_line(stage + i * depth * element, k_step * element,
                         from + ((line + i) * line_step + at * k_step) * element, depth, (size_t)element);
      }
      pack_lines(panels + at / each * width, width, at + depth == k ? groups - at / each : depth / each, count, depth,
                 stage, depth, 1, element);
    }
  }
}

void tsri_pack_across(uint32_t *panels, int width, int64_t groups, int64_t lines, int64_t k, const char *from,
                      int64_t line_step, int64_t k_step, int64_t element) {
  if (line_step == 1) {
    pack_rows_of(panels, groups * width, width, groups, lines, k, from, k_step, element);
  } else if (k_step == 1 || lines == 1) {
    for (int64_t line = 0; line < lines; line += width, panels += groups * width) {
      pack_lines(panels, width, groups, lines - line < width ? lines - line : width, k,
                 from + line * line_step * element, line_step, k_step, element);
    }
  } else if (k == 1 || llabs(line_step) < llabs(k_step)) {
    gather_rows(panels, width, groups, lines, k, from, line_step, k_step, element);
  } else {
    gather_lines(panels, width, groups, lines, k, from, line_step, k_step, element);
  }
}

TARGET_AVX512 void tsri_turn_groups(char *to, int64_t to_row, const uint32_t *from, int64_t from_row) {
  __m512i x[GROUP_LANES];
#pragma GCC unroll 16
  for (int i = 0; i < GROUP_LANES; i++) x[i] = _mm512_loadu_si512(from + i * from_row);
  turn(x);
#pragma GCC unroll 16
  for (int i = 0; i < GROUP_LANES; i++) _mm512_storeu_si512(to + i * to_row, x[i]);
}

TARGET_AVX512 void tsri_copy_padded(char *to, const char *from, int64_t bytes) {
  _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8((UINT64_C(1) << bytes) - 1, from));
}

// Compares magnitudes after subtracting 1, as unsigned numbers: so 0 becomes the largest and is ignored.
INLINE TARGET_AVX512 __m512i smaller(__m512i least, __m512i x) {
  __m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
  return _mm512_min_epu16(least, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));
}

TARGET_AVX512 uint32_t tsri_least_bf16(const void *at, int64_t rows, size_t bytes, int64_t step) {
  __m512i least = _mm512_set1_epi16(-1);
  const char *row = at;
  __mmask32 rest = (__mmask32)((UINT64_C(1) << bytes % sizeof least / sizeof(uint16_t)) - 1);
  for (int64_t i = 0; i < rows; i++, row += step) {
    size_t k = 0;
    for (; k + sizeof least <= bytes; k += sizeof least) least = smaller(least, _mm512_loadu_si512(row + k));
    if (k < bytes) least = smaller(least, _mm512_maskz_loadu_epi16(rest, row + k));
  }
  uint16_t lanes[sizeof least / sizeof(uint16_t)];
  uint32_t found = TSRI_PRODUCT_NO_LEAST;
  _mm512_storeu_si512(lanes, least);
  for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) found = lanes[i] + 1u < found ? lanes[i] + 1u : found;
  return found;
}

// --- Exact tiles of bf16 --------------------------------------------------------------------------------------------------

enum { EXACT_ROWS = 4 };

// second: the second number of each pair as f32. The next function: the first one.
INLINE TARGET_AVX512 __m512 second(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u)));
}
INLINE TARGET_AVX512 __m512 first(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }

INLINE uint32_t group_of(const char *a) {
  uint32_t group;
  memcpy(&group, a, sizeof group);
  return group;
}

INLINE TARGET_AVX512 void exact_few(int rows, int64_t groups, const char *a, int64_t a_row, int64_t a_step,
                                    const uint32_t *b, float *c, int64_t c_step, bool adds) {
  __m512 sum[EXACT_ROWS][2] = {{{0}}};
  for (int64_t g = 0; g < groups; g++, a += a_step, b += COLUMNS) {
    __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + GROUP_LANES);
    for (int i = 0; i < rows; i++) {
      __m512i x = _mm512_set1_epi32((int)group_of(a + i * a_row));
      sum[i][0] = _mm512_fmadd_ps(second(x), second(left), sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(second(x), second(right), sum[i][1]);
      sum[i][0] = _mm512_fmadd_ps(first(x), first(left), sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(first(x), first(right), sum[i][1]);
    }
  }
  for (int i = 0; i < rows; i++, c += c_step) {
    for (int j = 0; j < 2; j++) {
      float *to = c + j * GROUP_LANES;
      _mm512_storeu_ps(to, adds ? _mm512_add_ps(_mm512_loadu_ps(to), sum[i][j]) : sum[i][j]);
    }
  }
}

TARGET_AVX512 void tsri_exact_rows(int rows, int64_t groups, const char *a, int64_t a_row, int64_t a_step,
                                   const uint32_t *b, float *c, int64_t c_step, bool adds) {
  int i = 0;
  for (; i + EXACT_ROWS <= rows; i += EXACT_ROWS) {
    exact_few(EXACT_ROWS, groups, a + i * a_row, a_row, a_step, b, c + i * c_step, c_step, adds);
  }
  for (; i < rows; i++) exact_few(1, groups, a + i * a_row, a_row, a_step, b, c + i * c_step, c_step, adds);
}

static void exact_tile(const tsri_group_tile *t) {
  tsri_exact_rows(t->rows, t->k / 2, t->a, t->a_row, t->a_step, t->b, t->c, t->c_step, t->adds);
}

// --- Tiles ----------------------------------------------------------------------------------------------------------------

// Inlined with constant `rows`, so that sums stay in registers, and with constant a_row if a is packed.
INLINE TARGET_BF16 void rows_of_bf16(int rows, int vectors, const tsri_group_tile *t, int64_t a_row) {
  __m512 sum[ROWS][2] = {{{0}}};
  const char *a = t->a;
  const uint32_t *b = t->b;
  for (int64_t g = t->k / 2; g > 0; g--, a += t->a_step, b += COLUMNS) {
    __m512bh row[2];
    for (int j = 0; j < vectors; j++) row[j] = (__m512bh)_mm512_loadu_si512(b + j * GROUP_LANES);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      __m512bh x = (__m512bh)_mm512_set1_epi32((int)group_of(a + i * a_row));
      for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], x, row[j]);
    }
  }
  float *c = t->c;
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++, c += t->c_step) {
    for (int j = 0; j < vectors; j++) {
      float *to = c + j * GROUP_LANES;
      _mm512_storeu_ps(to, t->adds ? _mm512_add_ps(_mm512_loadu_ps(to), sum[i][j]) : sum[i][j]);
    }
  }
}

// Elements of a are treated as unsigned and those of b as signed: a product of bytes keeps only the low bytes of sums, which do not depend on that.
INLINE TARGET_VNNI void rows_of_bytes(int rows, int vectors, const tsri_group_tile *t, int64_t a_row) {
  __m512i sum[ROWS][2] = {{{0}}};
  const char *a = t->a;
  const uint32_t *b = t->b;
  for (int64_t g = t->k / 4; g > 0; g--, a += t->a_step, b += COLUMNS) {
    __m512i row[2];
    for (int j = 0; j < vectors; j++) row[j] = _mm512_loadu_si512(b + j * GROUP_LANES);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      __m512i x = _mm512_set1_epi32((int)group_of(a + i * a_row));
      for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], x, row[j]);
    }
  }
  int32_t *c = t->c;
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++, c += t->c_step) {
    for (int j = 0; j < vectors; j++) {
      int32_t *to = c + j * GROUP_LANES;
      _mm512_storeu_si512(to, t->adds ? _mm512_add_epi32(_mm512_loadu_si512(to), sum[i][j]) : sum[i][j]);
    }
  }
}

// Instantiates the tiles: few rows of a panel, all rows of a panel, and all rows in place; with one vector of columns or two.
#define TILE(rows_of)                                                                \
  do {                                                                               \
    bool is_packed = t->a_row == GROUP_BYTES, is_half = t->columns <= GROUP_LANES;   \
    if (is_packed && t->rows <= ROWS / 4) rows_of(ROWS / 4, 2, t, GROUP_BYTES);      \
    else if (is_packed && t->rows <= ROWS / 2) rows_of(ROWS / 2, 2, t, GROUP_BYTES); \
    else if (is_half) rows_of(ROWS, 1, t, is_packed ? GROUP_BYTES : t->a_row);       \
    else if (is_packed) rows_of(ROWS, 2, t, GROUP_BYTES);                            \
    else rows_of(ROWS, 2, t, t->a_row);                                              \
  } while (0)

TARGET_BF16 static void tile_bf16(const tsri_group_tile *t) { TILE(rows_of_bf16); }
TARGET_VNNI static void tile_bytes(const tsri_group_tile *t) { TILE(rows_of_bytes); }

static void pack_a_bf16(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panels, ROWS, (k + 1) / 2, lines, k, from, line_step, k_step, 2);
}
static void pack_b_bf16(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panels, COLUMNS, (k + 1) / 2, lines, k, from, line_step, k_step, 2);
}
static void pack_a_bytes(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panels, ROWS, (k + 3) / 4, lines, k, from, line_step, k_step, 1);
}
static void pack_b_bytes(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  tsri_pack_across(panels, COLUMNS, (k + 3) / 4, lines, k, from, line_step, k_step, 1);
}

const tsri_product_groups tsri_product_bf16_avx512 = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = 2,
    .k_block = 2 * TSRI_PRODUCT_K_BLOCK,
    .pack_a = pack_a_bf16,
    .pack_b = pack_b_bf16,
    .packed_row = GROUP_BYTES,
    .packed_step = ROWS * GROUP_BYTES,
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
    .packed_row = GROUP_BYTES,
    .packed_step = ROWS * GROUP_BYTES,
    .tile = tile_bytes,
};
#endif
