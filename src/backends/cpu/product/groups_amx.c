// SPDX-License-Identifier: MIT
// Grouped products by AMX: registers of 16 rows of 64 bytes. A tile of the result is 2 x 2 of them, 32 rows and 32 columns; two hold panels of a, two
// those of b.
//
// A panel of a has, for 16 groups along k, its rows one after the other; one of b has groups of all columns side by side, as for vdpbf16ps.
// tdpbf16ps sums products with even and odd k apart and adds both to the sum: other roundings than vdpbf16ps, within the same bound.
#include "backends/cpu/product/groups.h"

#if TSRI_HAS_GROUPS
#include <immintrin.h>

enum { ROWS = 32, COLUMNS = 32, TILE_ROWS = 16, TILE_BYTES = 64 };
enum { A_BLOCK_BYTES = ROWS * TILE_BYTES, B_BLOCK_BYTES = GROUPS_TOGETHER * COLUMNS * GROUP_BYTES };
enum { B_STEP = COLUMNS * GROUP_BYTES };

#define TARGET_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8")))

// --- Packing --------------------------------------------------------------------------------------------------------------

// Packs one panel of `count` lines that are contiguous along k.
static void copy_panel_of_a(char *panel, int64_t count, int64_t k_bytes, const char *from, int64_t line_bytes) {
  int64_t blocks = (k_bytes + TILE_BYTES - 1) / TILE_BYTES;
  for (int64_t i = 0; i < ROWS; i++) {
    char *to = panel + i * TILE_BYTES;
    const char *line = from + i * line_bytes;
    for (int64_t block = 0; block < blocks; block++, to += A_BLOCK_BYTES) {
      int64_t left = i < count ? k_bytes - block * TILE_BYTES : 0;
      if (left >= TILE_BYTES) memcpy(to, line + block * TILE_BYTES, TILE_BYTES);
      else tsri_copy_padded(to, left > 0 ? line + block * TILE_BYTES : from, left);
    }
  }
}

// Packs one panel of `count` lines with any strides: packed as b is, a few blocks at a time, and then transposed.
static void turn_panel_of_a(char *panel, int64_t count, int64_t k, const char *from, int64_t line_step, int64_t k_step,
                            int64_t element) {
  enum { BLOCKS_AT_ONCE = 8 };
  uint32_t across[BLOCKS_AT_ONCE * GROUPS_TOGETHER * ROWS];
  int64_t together = TILE_BYTES / element;
  for (int64_t at = 0; at < k; at += BLOCKS_AT_ONCE * together) {
    int64_t depth = k - at < BLOCKS_AT_ONCE * together ? k - at : BLOCKS_AT_ONCE * together;
    int64_t blocks = (depth + together - 1) / together;
    tsri_pack_across(across, ROWS, blocks * GROUPS_TOGETHER, count, depth, from + at * k_step * element, line_step,
                     k_step, element);
    for (int64_t block = 0; block < blocks; block++, panel += A_BLOCK_BYTES) {
      const uint32_t *groups = across + block * GROUPS_TOGETHER * ROWS;
      for (int row = 0; row < ROWS; row += TILE_ROWS) {
        tsri_turn_groups(panel + row * TILE_BYTES, TILE_BYTES, groups + row, ROWS);
      }
    }
  }
}

static void pack_a(char *panels, int64_t lines, int64_t k, const char *from, int64_t line_step, int64_t k_step,
                   int64_t element) {
  int64_t together = TILE_BYTES / element, panel_bytes = (k + together - 1) / together * A_BLOCK_BYTES;
  for (int64_t i = 0; i < lines; i += ROWS, panels += panel_bytes) {
    int64_t count = lines - i < ROWS ? lines - i : ROWS;
    const char *at = from + i * line_step * element;
    if (k_step == 1) copy_panel_of_a(panels, count, k * element, at, line_step * element);
    else turn_panel_of_a(panels, count, k, at, line_step, k_step, element);
  }
}

static void pack_b(void *panels, int64_t lines, int64_t k, const char *from, int64_t line_step, int64_t k_step,
                   int64_t element) {
  int64_t together = TILE_BYTES / element, groups = (k + together - 1) / together * GROUPS_TOGETHER;
  tsri_pack_across(panels, COLUMNS, groups, lines, k, from, line_step, k_step, element);
}

static void pack_a_bf16(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_a(panels, lines, k, from, line_step, k_step, 2);
}
static void pack_b_bf16(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_b(panels, lines, k, from, line_step, k_step, 2);
}
static void pack_a_bytes(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_a(panels, lines, k, from, line_step, k_step, 1);
}
static void pack_b_bytes(void *panels, int64_t lines, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_b(panels, lines, k, from, line_step, k_step, 1);
}

// --- Tiles ----------------------------------------------------------------------------------------------------------------

typedef struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

// A constant, because compilers assume that _tile_loadconfig reads only the first bytes, and would omit stores to the others.
static const tile_config all_registers = {
    .palette = 1,
    .row_bytes = {TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES},
    .rows = {TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS},
};

TARGET_AMX void tsri_amx_begin(void) { _tile_loadconfig(&all_registers); }

TARGET_AMX void tsri_amx_end(void) { _tile_release(); }

// Registers 0 to 3 are the result, 0 and 1 its upper half; 4 and 5 are a, 6 and 7 are b. They are named by literals, hence a macro.
#define TILE(name, DOT)                                                                      \
  TARGET_AMX static void name(const tsri_group_tile *t, int64_t blocks) {                    \
    bool has_lower = t->rows > TILE_ROWS, has_right = t->columns > TILE_BYTES / GROUP_BYTES; \
    const char *a = t->a, *b = t->b;                                                         \
    size_t step = (size_t)t->c_step * sizeof(float), a_row = (size_t)t->a_row;               \
    char *c = t->c, *lower = c + TILE_ROWS * step;                                           \
    _tile_zero(0);                                                                           \
    _tile_zero(1);                                                                           \
    _tile_zero(2);                                                                           \
    _tile_zero(3);                                                                           \
    if (t->adds) {                                                                           \
      _tile_loadd(0, c, step);                                                               \
      _tile_loadd(1, c + TILE_BYTES, step);                                                  \
    }                                                                                        \
    if (t->adds && has_lower) {                                                              \
      _tile_loadd(2, lower, step);                                                           \
      _tile_loadd(3, lower + TILE_BYTES, step);                                              \
    }                                                                                        \
    for (int64_t i = 0; i < blocks; i++, a += t->a_step, b += B_BLOCK_BYTES) {               \
      _tile_loadd(4, a, a_row);                                                              \
      _tile_loadd(6, b, B_STEP);                                                             \
      DOT(0, 4, 6);                                                                          \
      if (has_right) {                                                                       \
        _tile_loadd(7, b + TILE_BYTES, B_STEP);                                              \
        DOT(1, 4, 7);                                                                        \
      }                                                                                      \
      if (!has_lower) continue;                                                              \
      _tile_loadd(5, a + TILE_ROWS * a_row, a_row);                                          \
      DOT(2, 5, 6);                                                                          \
      if (has_right) DOT(3, 5, 7);                                                           \
    }                                                                                        \
    _tile_stored(0, c, step);                                                                \
    if (has_right) _tile_stored(1, c + TILE_BYTES, step);                                    \
    if (!has_lower) return;                                                                  \
    _tile_stored(2, lower, step);                                                            \
    if (has_right) _tile_stored(3, lower + TILE_BYTES, step);                                \
  }

TILE(blocks_of_bf16, _tile_dpbf16ps)
TILE(blocks_of_bytes, _tile_dpbssd)

static void tile_bf16(const tsri_group_tile *t) { blocks_of_bf16(t, t->k / (TILE_BYTES / 2)); }
static void tile_bytes(const tsri_group_tile *t) { blocks_of_bytes(t, t->k / TILE_BYTES); }

static void exact_tile(const tsri_group_tile *t) {
  const char *a = t->a, *b = t->b;
  for (int64_t block = 0; block < t->k / (TILE_BYTES / 2); block++, a += t->a_step, b += B_BLOCK_BYTES) {
    tsri_exact_rows(t->rows, GROUPS_TOGETHER, a, t->a_row, GROUP_BYTES, (const uint32_t *)(const void *)b, t->c,
                    t->c_step, t->adds || block > 0);
  }
}

const tsri_product_groups tsri_product_bf16_amx = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = TILE_BYTES / 2,
    .k_block = 2 * TSRI_PRODUCT_K_BLOCK,
    .begin = tsri_amx_begin,
    .end = tsri_amx_end,
    .pack_a = pack_a_bf16,
    .pack_b = pack_b_bf16,
    .packed_row = TILE_BYTES,
    .packed_step = A_BLOCK_BYTES,
    .tile = tile_bf16,
    .least = tsri_least_bf16,
    .exact_tile = exact_tile,
};

const tsri_product_groups tsri_product_bytes_amx = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = TILE_BYTES,
    .k_block = 4 * TSRI_PRODUCT_K_BLOCK,
    .begin = tsri_amx_begin,
    .end = tsri_amx_end,
    .pack_a = pack_a_bytes,
    .pack_b = pack_b_bytes,
    .packed_row = TILE_BYTES,
    .packed_step = A_BLOCK_BYTES,
    .tile = tile_bytes,
};
#endif
