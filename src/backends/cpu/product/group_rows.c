// SPDX-License-Identifier: MIT
// Products of bf16 and bytes with few rows, by tiles of groups, if rows of b are contiguous. Each element of b is used only once for each row of a, so reading
// b takes most of the time. Threads take columns of b. Each packs a piece of b, multiplies it while it is in the cache, and packs the next one into the same
// memory: b is read once, and no packed panel is written to memory.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  PIECE_ROW_BYTES = 256,  // bytes of a row of b in a piece
  PIECE_DEPTH = 256,      // rows of b in a piece
  K_BLOCK_BYTES = 1024,   // bytes of a row of a that are packed at a time
  LEAST_DEPTH_BYTES = 128,
  LEAST_COLUMNS = 64,
  MOST_COLUMNS = 2048,  // columns whose sums are kept at a time
  MOST_PANELS = 2,      // panels of a
  LEAST_TILE_COLUMNS = 32,
  CACHE_LINE = 64
};

typedef struct group_rows {
  const tsri_product *p;
  int64_t a_panels, b_panels;
  int64_t columns;  // most columns of a part, whose sums are kept at a time
  int64_t piece_columns;
  int parts;
  size_t a_bytes, piece_bytes, part_bytes;  // bytes of scratch memory
} group_rows;

// Columns `first` to `last` - 1, and the block of k that begins at `k`.
typedef struct group_block {
  const group_rows *d;
  int64_t first, last, k, depth;
  char *a, *piece, *sums;
  uint32_t least_a;  // tsri_product_groups.least
  // For each panel of columns: whether a sum could be flushed in this block or in an earlier one.
  bool is_exact[MOST_COLUMNS / LEAST_TILE_COLUMNS];
} group_block;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static int64_t pieces_of(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

// Number of elements along k of a panel for `depth` elements, rounded up.
static int64_t padded(const tsri_product *p, int64_t depth) {
  return pieces_of(depth, p->groups->unit) * p->groups->unit;
}

static bool has_group_rows(const tsri_product *p) {
  int64_t least_rows = p->has_integers ? 1 : tsri_product_least_group_rows(p);
  return p->m >= least_rows && p->m <= MOST_PANELS * p->groups->tile_rows && p->n >= LEAST_COLUMNS &&
         p->b.column == 1 && p->k * (int64_t)p->element >= LEAST_DEPTH_BYTES;
}

bool tsri_product_has_few_groups(const tsri_product *p) {
  return p->groups && (has_group_rows(p) || tsri_product_has_group_lines(p));
}

static group_rows look_at(const tsri_product *p) {
  int64_t rows = p->groups->tile_rows, columns = p->groups->tile_columns;
  group_rows d = {.p = p, .a_panels = pieces_of(p->m, rows), .b_panels = pieces_of(p->n, columns)};
  d.parts = (int)at_most(d.b_panels, p->threads);
  d.columns = at_most(pieces_of(d.b_panels, d.parts) * columns, MOST_COLUMNS);
  d.piece_columns = at_most(PIECE_ROW_BYTES / (int64_t)p->element, d.columns);
  d.a_bytes = (size_t)(d.a_panels * rows * K_BLOCK_BYTES);
  d.piece_bytes = (size_t)(d.piece_columns * PIECE_DEPTH) * p->element;
  size_t sums = (size_t)(d.a_panels * rows * d.columns) * p->sum_bytes;
  d.part_bytes = (d.a_bytes + d.piece_bytes + sums + 63) / 64 * 64;
  return d;
}

size_t tsri_product_few_groups_scratch_bytes(const tsri_product *p) {
  if (p->b.column != 1) return tsri_product_group_lines_scratch_bytes(p);
  group_rows d = look_at(p);
  return d.part_bytes * (size_t)d.parts;
}

static void pack_a(group_block *block) {
  const tsri_product *p = block->d->p;
  const char *from = p->a.at + block->k * p->a.column * (int64_t)p->element;
  size_t lines = (size_t)(block->d->a_panels * p->groups->tile_rows);
  p->groups->pack_a(block->a, p->m, block->depth, from, p->a.row, p->a.column);
  if (!p->groups->least) return;
  block->least_a = p->groups->least(block->a, 1, lines * (size_t)padded(p, block->depth) * p->element, 0);
}

// Adds the products of all rows and a panel of `depth` rows of b (from row `at` of the block on) to the sums of panel `number` of the block's columns.
static void add_panel(group_block *block, int64_t number, int64_t at, int64_t depth, const char *panel) {
  const tsri_product *p = block->d->p;
  const tsri_product_groups *groups = p->groups;
  int64_t units = pieces_of(block->depth, groups->unit), column = number * groups->tile_columns;
  size_t bytes = (size_t)(padded(p, depth) * groups->tile_columns) * p->element;
  bool adds = block->k + at > 0, *is_exact = &block->is_exact[number];
  if (groups->least) {
    uint32_t least = groups->least(panel, 1, bytes, 0);
    *is_exact = (adds && *is_exact) || tsri_product_may_flush(block->least_a, least);
  }
  for (int64_t i = 0; i < block->d->a_panels; i++) {
    int64_t row = i * groups->tile_rows;
    tsri_group_tile tile = {.rows = (int)at_most(p->m - row, groups->tile_rows),
                            .columns = groups->tile_columns,
                            .k = padded(p, depth),
                            .a = block->a + (i * units + at / groups->unit) * groups->packed_step,
                            .b = panel,
                            .a_row = groups->packed_row,
                            .a_step = groups->packed_step,
                            .c = block->sums + (size_t)(row * block->d->columns + column) * p->sum_bytes,
                            .c_step = block->d->columns,
                            .adds = adds};
    (*is_exact ? groups->exact_tile : groups->tile)(&tile);
  }
}

// Prefetches share `share` of `shares` of the piece of b after the one at `column` and row `at` of the block. Not for AMX, whose tiles would wait for the same
// memory: there 17 rows of bf16 times 2048 x 2048 take 1391 us without prefetching and 1561 with it, on one thread of a Xeon. By vdpbf16ps, on Zen 4, they take
// 1036 to 1399 us without it and 1060 with it.
static void fetch_next(const group_block *block, int64_t column, int64_t at, int64_t share, int64_t shares) {
  const tsri_product *p = block->d->p;
  int64_t element = (int64_t)p->element, begin = PIECE_DEPTH * share / shares, end = PIECE_DEPTH * (share + 1) / shares;
  if (p->groups->unit * element == CACHE_LINE) return;
  int64_t next = column + block->d->piece_columns, k = block->k + at + begin;
  if (next >= block->last) {
    next = block->first;
    k += PIECE_DEPTH;
  }
  p->kernels->fetch(p->b.at + (k * p->b.row + next) * element, end - begin, block->d->piece_columns * element,
                    p->b.row * element);
}

// As add_panel, for a piece of b that begins at `column`.
static void add_piece(group_block *block, int64_t column, int64_t at, int64_t depth) {
  const tsri_product *p = block->d->p;
  const tsri_product_groups *groups = p->groups;
  int64_t columns = at_most(block->last - column, block->d->piece_columns);
  const char *from = p->b.at + ((block->k + at) * p->b.row + column) * (int64_t)p->element;
  size_t panel_bytes = (size_t)(padded(p, depth) * groups->tile_columns) * p->element;
  groups->pack_b(block->piece, columns, depth, from, 1, p->b.row);
  int64_t panels = pieces_of(columns, groups->tile_columns);
  for (int64_t j = 0; j < panels; j++) {
    fetch_next(block, column, at, j, panels);
    add_panel(block, (column - block->first) / groups->tile_columns + j, at, depth,
              block->piece + (size_t)j * panel_bytes);
  }
}

static void run_columns(const group_rows *d, int64_t first, int64_t last, char *scratch) {
  const tsri_product *p = d->p;
  int64_t k_block = K_BLOCK_BYTES / (int64_t)p->element;
  group_block block = {.d = d, .first = first, .last = last, .a = scratch};
  block.piece = scratch + d->a_bytes;
  block.sums = block.piece + d->piece_bytes;
  if (p->groups->begin) p->groups->begin();
  for (block.k = 0; block.k < p->k; block.k += k_block) {
    block.depth = at_most(p->k - block.k, k_block);
    pack_a(&block);
    for (int64_t at = 0; at < block.depth; at += PIECE_DEPTH) {
      for (int64_t column = first; column < last; column += d->piece_columns) {
        add_piece(&block, column, at, at_most(block.depth - at, PIECE_DEPTH));
      }
    }
  }
  if (p->groups->end) p->groups->end();
  tsri_product_finish_columns(p, block.sums, d->columns, first, last);
}

static void run_part(void *user, int part) {
  const group_rows *d = user;
  int64_t width = d->p->groups->tile_columns;
  int64_t end = at_most(d->p->n, d->b_panels * (part + 1) / d->parts * width);
  for (int64_t first = d->b_panels * part / d->parts * width; first < end; first += d->columns) {
    run_columns(d, first, at_most(end, first + d->columns), d->p->scratch + d->part_bytes * (size_t)part);
  }
}

void tsri_product_run_few_groups(const tsri_product *p) {
  if (p->b.column != 1) {
    tsri_product_run_group_lines(p);
    return;
  }
  group_rows d = look_at(p);
  tsri_parallel(p->threads, d.parts, run_part, &d);
}
