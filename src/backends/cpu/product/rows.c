// SPDX-License-Identifier: MIT
// Products of floats with few rows and many columns. Each element of b is used only once for each row, so reading b takes most of the time. b is not packed but
// read once, some rows at a time from the first column to the last, which is an order that processors prefetch. The sums are few, and stay in the cache
// meanwhile.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  K_BLOCK = TSRI_PRODUCT_K_BLOCK,
  DEPTH = 64,  // rows of b that are read together, and prefetched
  LEAST_DEPTH = 128,
  LEAST_COLUMNS = 256,
  MOST_COLUMNS = 2048,  // columns whose sums are kept at a time
  MOST_PASSES = 5,      // of tiles over the same rows of b
  LEAST_OF_A_TILE = 4   // least rows of a tile
};

typedef struct rows_product {
  const tsri_product *p;
  tsri_product_strip *strip;
  int passes;
  int64_t panels;   // panels of tile_columns columns
  int64_t columns;  // most columns of a part, whose sums are kept at a time
  int parts;
  size_t part_bytes;
} rows_product;

// Columns `first` to `last` - 1, and a block of k.
typedef struct rows_block {
  const rows_product *d;
  int64_t first, last, k, depth;
  char *a;       // packed, for one pass after the other
  char *sums;    // of the block of k; rows are `step` apart and have whole panels
  char *totals;  // of all blocks of k so far; rows are `totals_step` apart. c, if it has the type of sums
  int64_t step, totals_step;
} rows_block;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static int64_t pieces_of(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

static tsri_product_strip *strip_for(const tsri_product *p) {
  if (!p->is_narrow) return p->kernels->rows;
  return p->is_bf16 ? p->kernels->rows_of_bf16 : p->kernels->rows_of_f16;
}

static int64_t most_rows(const tsri_product *p) {
  return p->groups ? tsri_product_least_group_rows(p) - 1 : MOST_PASSES * p->kernels->tile_rows;
}

// Whether there is only one tile of rows, for which direct.c, which reads b in place, is as fast. It has no tile for the fewest rows.
static bool is_one_tile(const tsri_product *p) {
  return !p->is_narrow && p->m >= LEAST_OF_A_TILE && p->m <= p->kernels->tile_rows;
}

bool tsri_product_has_few_rows(const tsri_product *p) {
  return !p->quant && !p->has_integers && strip_for(p) && p->b.column == 1 && p->n >= LEAST_COLUMNS &&
         p->k >= LEAST_DEPTH && p->m > 1 && p->m <= most_rows(p) && !is_one_tile(p);
}

// The first row of a pass. All passes have about equally many rows.
static int64_t row_of_pass(const rows_product *d, int pass) { return d->p->m * pass / d->passes; }

static rows_product look_at(const tsri_product *p) {
  int64_t width = p->kernels->tile_columns;
  rows_product d = {.p = p, .strip = strip_for(p), .panels = pieces_of(p->n, width)};
  d.passes = (int)pieces_of(p->m, p->kernels->tile_rows);
  d.parts = (int)at_most(d.panels, p->threads);
  d.columns = at_most(pieces_of(d.panels, d.parts) * width, MOST_COLUMNS);
  int64_t sums = p->m * d.columns * (p->is_narrow ? 2 : 1);
  d.part_bytes = (size_t)pieces_of((p->m * K_BLOCK + sums) * (int64_t)p->sum_bytes, 64) * 64;
  return d;
}

size_t tsri_product_rows_scratch_bytes(const tsri_product *p) {
  rows_product d = look_at(p);
  return d.part_bytes * (size_t)d.parts;
}

// Packs rows of 16-bit elements, converted to the type of sums.
static void pack_narrow(const tsri_product *p, char *to, int64_t rows, int64_t depth, const char *from) {
  float wide[TSRI_PRODUCT_MOST_WIDTH * K_BLOCK];
  for (int64_t i = 0; i < rows; i++) {
    p->storage->load(wide + i * depth, from + i * p->a.row * (int64_t)p->element, p->a.column, (uint32_t)depth);
  }
  p->kernels->pack(to, (int)rows, rows, depth, wide, depth, 1);
}

static void pack_a(const rows_block *block) {
  const tsri_product *p = block->d->p;
  for (int pass = 0; pass < block->d->passes; pass++) {
    int64_t row = row_of_pass(block->d, pass), rows = row_of_pass(block->d, pass + 1) - row;
    const char *from = p->a.at + (row * p->a.row + block->k * p->a.column) * (int64_t)p->element;
    char *to = block->a + (size_t)(row * block->depth) * p->sum_bytes;
    if (p->is_narrow) pack_narrow(p, to, rows, block->depth, from);
    else p->kernels->pack(to, (int)rows, rows, block->depth, from, p->a.row, p->a.column);
  }
}

// Adds the products of `depth` rows of b, from row `at` of the block on, to the sums of the panel that begins at `column`.
static void add_panel(const rows_block *block, int64_t column, int64_t at, int64_t depth) {
  const rows_product *d = block->d;
  const tsri_product *p = d->p;
  int64_t width = p->kernels->tile_columns, element = (int64_t)p->element, b_row = p->b.row;
  const char *b = p->b.at + ((block->k + at) * b_row + column) * element;
  char edge[DEPTH * TSRI_PRODUCT_MOST_WIDTH * sizeof(double)];
  if (p->n - column < width) {
    memset(edge, 0, (size_t)(depth * width * element));
    for (int64_t i = 0; i < depth; i++) {
      memcpy(edge + i * width * element, b + i * b_row * element, (size_t)((p->n - column) * element));
    }
    b = edge;
    b_row = width;
  }
  // The first of several passes stores the converted elements for the others.
  bool is_kept = p->is_narrow && d->passes > 1;
  float wide[DEPTH * TSRI_PRODUCT_MOST_WIDTH];
  tsri_product_strip *strip = d->strip;
  for (int pass = 0; pass < d->passes; pass++) {
    int64_t row = row_of_pass(d, pass), rows = row_of_pass(d, pass + 1) - row, ahead = pass == 0 ? DEPTH : 0;
    const char *a = block->a + (size_t)(row * block->depth + at * rows) * p->sum_bytes;
    char *sums = block->sums + (size_t)(row * block->step + column - block->first) * p->sum_bytes;
    strip((int)rows, depth, a, b, b_row, ahead, is_kept && pass == 0 ? wide : NULL, sums, block->step, at > 0);
    if (!is_kept) continue;
    strip = p->kernels->rows;
    b = (const char *)wide;
    b_row = width;
  }
}

static void add_block(const rows_block *block) {
  const tsri_product *p = block->d->p;
  pack_a(block);
  for (int64_t at = 0; at < block->depth; at += DEPTH) {
    for (int64_t column = block->first; column < block->last; column += p->kernels->tile_columns) {
      add_panel(block, column, at, at_most(block->depth - at, DEPTH));
    }
  }
  for (int64_t i = 0; i < p->m; i++) {
    char *to = block->totals + (size_t)(i * block->totals_step) * p->sum_bytes;
    const char *from = block->sums + (size_t)(i * block->step) * p->sum_bytes;
    int64_t count = block->last - block->first;
    if (block->k > 0) tsri_product_add_sums(p, to, from, count);
    else memcpy(to, from, (size_t)count * p->sum_bytes);
  }
}

static void run_columns(const rows_product *d, int64_t first, int64_t last, char *scratch) {
  const tsri_product *p = d->p;
  rows_block block = {.d = d, .first = first, .last = last, .a = scratch, .step = d->columns};
  block.sums = scratch + (size_t)(p->m * K_BLOCK) * p->sum_bytes;
  block.totals =
      p->is_narrow ? block.sums + (size_t)(p->m * d->columns) * p->sum_bytes : p->c + (size_t)first * p->element;
  block.totals_step = p->is_narrow ? d->columns : p->n;
  for (block.k = 0; block.k < p->k; block.k += K_BLOCK) {
    block.depth = at_most(p->k - block.k, K_BLOCK);
    add_block(&block);
  }
  tsri_product_finish_columns(p, block.totals, block.totals_step, first, last);
}

static void run_part(void *user, int part) {
  const rows_product *d = user;
  int64_t width = d->p->kernels->tile_columns;
  int64_t end = at_most(d->p->n, d->panels * (part + 1) / d->parts * width);
  for (int64_t first = d->panels * part / d->parts * width; first < end; first += d->columns) {
    run_columns(d, first, at_most(end, first + d->columns), d->p->scratch + d->part_bytes * (size_t)part);
  }
}

void tsri_product_run_rows(const tsri_product *p) {
  rows_product d = look_at(p);
  tsri_parallel(p->threads, d.parts, run_part, &d);
}
