// SPDX-License-Identifier: MIT
// Shared by the files of grouped products: the tables of each instruction set, and packing.
#ifndef TSRI_CPU_PRODUCT_GROUPS_H
#define TSRI_CPU_PRODUCT_GROUPS_H

#include <string.h>

#include "backends/cpu/product/product.h"

// Whether the compiler has intrinsics for the instructions.
#if defined(__x86_64__) && defined(__linux__) && \
    ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11))
#define TSRI_HAS_GROUPS 1
#else
#define TSRI_HAS_GROUPS 0
#endif

#if TSRI_HAS_GROUPS
extern const tsri_product_groups tsri_product_bf16_avx512, tsri_product_bytes_avx512;
extern const tsri_product_groups tsri_product_bf16_amx, tsri_product_bytes_amx;
extern const tsri_product_groups tsri_product_f32_amx, tsri_product_f16_amx;

enum { GROUP_BYTES = 4, GROUPS_TOGETHER = 16, GROUP_LANES = 16 };

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))

// Loads group `g` of a line, with zeros after its `k` elements of `element` bytes.
static inline uint32_t tsri_group_at(const char *line, int64_t g, int64_t k, int64_t k_step, int64_t element) {
  uint32_t group = 0;
  int64_t each = GROUP_BYTES / element, first = g * each, count = k - first < each ? k - first : each;
  if (count <= 0) return 0;
  if (k_step == 1 && count == each) memcpy(&group, line + first * element, GROUP_BYTES);
  else {
    for (int64_t i = 0; i < count; i++) {
      memcpy((char *)&group + i * element, line + (first + i) * k_step * element, (size_t)element);
    }
  }
  return group;
}

// Packs panels of `width` lines (at most 2 * GROUP_LANES) in which the groups of all lines are interleaved: group g of line i of a panel is at g * width + i. A
// panel has `groups` groups; those beyond k, and lines that the last panel lacks, are zeros.
void tsri_pack_across(uint32_t *panels, int width, int64_t groups, int64_t lines, int64_t k, const char *from,
                      int64_t line_step, int64_t k_step, int64_t element);

// Transposes a square of groups: group i of row g, from[g * from_row + i], becomes group g of the row at to + i * to_row bytes.
void tsri_turn_groups(char *to, int64_t to_row, const uint32_t *from, int64_t from_row);

// Copies `bytes` bytes (less than 64), and pads with zeros to 64.
void tsri_copy_padded(char *to, const char *from, int64_t bytes);

// AMX's functions for tsri_product_groups.begin and end.
void tsri_amx_begin(void);
void tsri_amx_end(void);

// The smallest magnitude of bf16 elements (tsri_product_groups.least).
uint32_t tsri_least_bf16(const void *at, int64_t rows, size_t bytes, int64_t step);

// Computes `rows` rows of a tile of 2 * GROUP_LANES columns: c = a b, or c += a b, for `groups` pairs of bf16, by multiplications and additions of f32 in the
// order of vdpbf16ps. Group g of row i of a is at a + i * a_row + g * a_step, in bytes.
void tsri_exact_rows(int rows, int64_t groups, const char *a, int64_t a_row, int64_t a_step, const uint32_t *b,
                     float *c, int64_t c_step, bool adds);
#endif

#endif
