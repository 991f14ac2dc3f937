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

static void pack_a(char *panel, int64_t count, int64_t k, const char *from, int64_t line_step, int64_t k_step,
                   int64_t element) {
  int64_t together = TILE_BYTES / element, blocks = (k + together - 1) / together;
  for (int64_t i = 0; i < ROWS; i++) {
    const char *line = from + i * line_step * element;
    for (int64_t block = 0; block < blocks; block++) {
      char *to = panel + block * A_BLOCK_BYTES + i * TILE_BYTES;
      if (i < count && k_step == 1 && (block + 1) * together <= k) {
        memcpy(to, line + block * TILE_BYTES, TILE_BYTES);
        continue;
      }
      for (int64_t g = 0; g < GROUPS_TOGETHER; g++) {
        uint32_t group = i < count ? tsri_group_at(line, block * GROUPS_TOGETHER + g, k, k_step, element) : 0;
        memcpy(to + g * GROUP_BYTES, &group, GROUP_BYTES);
      }
    }
  }
}

static void pack_b(char *panel, int64_t count, int64_t k, const char *from, int64_t line_step, int64_t k_step,
                   int64_t element) {
  int64_t together = TILE_BYTES / element, groups = (k + together - 1) / together * GROUPS_TOGETHER;
  tsri_pack_across((uint32_t *)(void *)panel, COLUMNS, groups, count, k, from, line_step, k_step, element);
}

static void pack_a_bf16(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_a(panel, count, k, from, line_step, k_step, 2);
}
static void pack_b_bf16(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_b(panel, count, k, from, line_step, k_step, 2);
}
static void pack_a_bytes(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_a(panel, count, k, from, line_step, k_step, 1);
}
static void pack_b_bytes(void *panel, int64_t count, int64_t k, const void *from, int64_t line_step, int64_t k_step) {
  pack_b(panel, count, k, from, line_step, k_step, 1);
}

// --- Tiles ----------------------------------------------------------------------------------------------------------------

typedef struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

TARGET_AMX static void begin(void) {
  tile_config config = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    config.row_bytes[i] = TILE_BYTES;
    config.rows[i] = TILE_ROWS;
  }
  _tile_loadconfig(&config);
}

TARGET_AMX static void end(void) { _tile_release(); }

// Registers 0 to 3 are the result, 0 and 1 its upper half; 4 and 5 are a, 6 and 7 are b. They are named by literals, hence a macro.
#define TILE(name, DOT)                                                                                      \
  TARGET_AMX static void name(int rows, int64_t blocks, const char *a, const char *b, char *c, int64_t step, \
                              bool adds) {                                                                   \
    bool has_lower = rows > TILE_ROWS;                                                                       \
    char *lower = c + TILE_ROWS * step;                                                                      \
    _tile_zero(0);                                                                                           \
    _tile_zero(1);                                                                                           \
    _tile_zero(2);                                                                                           \
    _tile_zero(3);                                                                                           \
    if (adds) {                                                                                              \
      _tile_loadd(0, c, (size_t)step);                                                                       \
      _tile_loadd(1, c + TILE_BYTES, (size_t)step);                                                          \
    }                                                                                                        \
    if (adds && has_lower) {                                                                                 \
      _tile_loadd(2, lower, (size_t)step);                                                                   \
      _tile_loadd(3, lower + TILE_BYTES, (size_t)step);                                                      \
    }                                                                                                        \
    for (int64_t i = 0; i < blocks; i++, a += A_BLOCK_BYTES, b += B_BLOCK_BYTES) {                           \
      _tile_loadd(4, a, TILE_BYTES);                                                                         \
      _tile_loadd(6, b, B_STEP);                                                                             \
      _tile_loadd(7, b + TILE_BYTES, B_STEP);                                                                \
      DOT(0, 4, 6);                                                                                          \
      DOT(1, 4, 7);                                                                                          \
      if (!has_lower) continue;                                                                              \
      _tile_loadd(5, a + TILE_ROWS * TILE_BYTES, TILE_BYTES);                                                \
      DOT(2, 5, 6);                                                                                          \
      DOT(3, 5, 7);                                                                                          \
    }                                                                                                        \
    _tile_stored(0, c, (size_t)step);                                                                        \
    _tile_stored(1, c + TILE_BYTES, (size_t)step);                                                           \
    if (!has_lower) return;                                                                                  \
    _tile_stored(2, lower, (size_t)step);                                                                    \
    _tile_stored(3, lower + TILE_BYTES, (size_t)step);                                                       \
  }

TILE(blocks_of_bf16, _tile_dpbf16ps)
TILE(blocks_of_bytes, _tile_dpbssd)

static void tile_bf16(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step, bool adds) {
  blocks_of_bf16(rows, k / (TILE_BYTES / 2), a, b, c, c_step * (int64_t)sizeof(float), adds);
}

static void tile_bytes(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step, bool adds) {
  blocks_of_bytes(rows, k / TILE_BYTES, a, b, c, c_step * (int64_t)sizeof(int32_t), adds);
}

static void exact_tile(int rows, int64_t k, const void *a, const void *b, void *c, int64_t c_step, bool adds) {
  const char *left = a, *right = b;
  for (int64_t block = 0; block < k / (TILE_BYTES / 2); block++, left += A_BLOCK_BYTES, right += B_BLOCK_BYTES) {
    tsri_exact_rows(rows, GROUPS_TOGETHER, (const uint32_t *)(const void *)left, GROUPS_TOGETHER, 1,
                    (const uint32_t *)(const void *)right, c, c_step, adds || block > 0);
  }
}

const tsri_product_groups tsri_product_bf16_amx = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = TILE_BYTES / 2,
    .k_block = 2 * TSRI_PRODUCT_K_BLOCK,
    .begin = begin,
    .end = end,
    .pack_a = pack_a_bf16,
    .pack_b = pack_b_bf16,
    .tile = tile_bf16,
    .least = tsri_least_bf16,
    .exact_tile = exact_tile,
};

const tsri_product_groups tsri_product_bytes_amx = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = TILE_BYTES,
    .k_block = 4 * TSRI_PRODUCT_K_BLOCK,
    .begin = begin,
    .end = end,
    .pack_a = pack_a_bytes,
    .pack_b = pack_b_bytes,
    .tile = tile_bytes,
};
#endif
