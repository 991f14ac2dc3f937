// SPDX-License-Identifier: MIT
// Products of f32 and f64 that are too small for packing to pay: those with few rows, which read each panel of b once or twice, and those whose matrix b stays
// in the first-level cache. Tiles read a in place. They also read b in place if its rows are contiguous and are read once or stay in that cache (if they are
// read many times, they must also be aligned). Other panels of b, and a last panel with fewer columns than a vector register, are packed for each block of k.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  K_BLOCK = TSRI_PRODUCT_K_BLOCK,
  PASSES = 2,
  FEW_PASSES = 4,
  FEW_COLUMNS = 256,
  SMALL_B = 1 << 15,  // bytes
  LINE_BYTES = 64
};

typedef struct direct_product {
  const tsri_product *p;
  int lanes;                     // elements of a vector
  int64_t panels, bands, tiles;  // panels of b; bands of rows; tiles of rows in all bands
  size_t panel_bytes;
  int parts;
} direct_product;

// A panel of b: columns `first` to `first` + `count` - 1, rows `k` to `k` + `depth` - 1.
typedef struct b_panel {
  const char *at;
  int64_t row;  // distance of rows
  int64_t first, count, k, depth;
  int vectors;
} b_panel;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

bool tsri_product_is_direct(const tsri_product *p) {
  if (p->is_narrow || p->groups) return false;
  if (p->m <= p->kernels->tile_rows) return true;
  if (p->m <= PASSES * p->kernels->tile_rows && p->n <= FEW_COLUMNS) return true;
  return p->n <= FEW_COLUMNS && p->n * p->k * (int64_t)p->element <= SMALL_B && tsri_product_lies_along_k(p);
}

static size_t panel_bytes(const tsri_product *p) {
  return (size_t)(at_most(p->k, K_BLOCK) * p->kernels->tile_columns) * p->sum_bytes;
}

static int64_t panels_of(const tsri_product *p) {
  return (p->n + p->kernels->tile_columns - 1) / p->kernels->tile_columns;
}

// Divides the work among threads: panels of b if there are few rows, bands of rows if there are many.
static void cut(direct_product *d) {
  const tsri_product *p = d->p;
  bool are_few = p->m <= PASSES * p->kernels->tile_rows;
  d->panels = panels_of(p);
  d->tiles = (p->m + p->kernels->tile_rows - 1) / p->kernels->tile_rows;
  d->bands = are_few ? 1 : tsri_cpu_parts(p->threads, (uint64_t)d->tiles);
  d->parts = d->bands > 1 ? (int)d->bands : tsri_cpu_parts(p->threads, (uint64_t)d->panels);
}

// Enough for any division that cut may choose, for any number of threads.
size_t tsri_product_direct_scratch_bytes(const tsri_product *p) {
  direct_product d = {.p = p};
  cut(&d);
  return panel_bytes(p) * (size_t)d.parts;
}

// How many rows of b, from row `k` on, can be read in place by vectors of `width` elements from column `first` on: these vectors must end before b does. Beyond
// column n, such a vector has elements of the next row, whose sums are not used.
static int64_t rows_in_place(const tsri_product *p, int64_t first, int64_t k, int64_t width) {
  int64_t beyond = width - (p->n - first), row = p->b.row;
  if (beyond <= 0) return p->k - k;
  return row > 0 ? p->k - k - (beyond + row - 1) / row : 0;
}

static b_panel take_panel(const direct_product *d, int64_t first, int64_t k, char *scratch) {
  const tsri_product *p = d->p;
  b_panel b = {.first = first,
               .count = at_most(p->n - first, p->kernels->tile_columns),
               .k = k,
               .depth = at_most(p->k - k, K_BLOCK)};
  b.vectors = b.count <= d->lanes ? 1 : 2;
  b.at = p->b.at + (k * p->b.row + first * p->b.column) * (int64_t)p->element;
  b.row = p->b.row;
  int64_t row_bytes = b.row * (int64_t)p->element;
  // For many tiles of rows, b is read in place only if its vectors do not cross cache lines; otherwise packing costs less.
  bool has_few_passes = d->tiles <= FEW_PASSES || row_bytes % LINE_BYTES == 0;
  bool stays_near = d->tiles <= 1 || (has_few_passes && b.depth * row_bytes <= SMALL_B);
  int64_t width = b.vectors * d->lanes;
  if (p->b.column == 1 && stays_near && rows_in_place(p, first, k, width) >= b.depth) return b;
  p->kernels->pack(scratch, (int)width, b.count, b.depth, b.at, p->b.column, p->b.row);
  b.at = scratch;
  b.row = width;
  return b;
}

static void multiply(const direct_product *d, const b_panel *b, int64_t first, int64_t last) {
  const tsri_product *p = d->p;
  bool is_whole = b->count == b->vectors * d->lanes, adds = b->k > 0;
  double tile[TSRI_PRODUCT_MOST_TILE];
  for (int64_t row = first, done = 0; row < last; row += done) {
    const char *a = p->a.at + (row * p->a.row + b->k * p->a.column) * (int64_t)p->element;
    char *sums = p->c + (size_t)(row * p->n + b->first) * p->sum_bytes;
    int rows = (int)at_most(last - row, p->kernels->tile_rows);
    if (is_whole) {
      done = p->kernels->direct(rows, b->vectors, b->depth, a, p->a.row, p->a.column, b->at, b->row, sums, p->n, adds);
    } else {
      done = p->kernels->direct(rows, b->vectors, b->depth, a, p->a.row, p->a.column, b->at, b->row, tile,
                                p->kernels->tile_columns, false);
      tsri_product_take_tile(p, tile, sums, p->n, done, b->count, adds);
    }
  }
}

static void finish_rows(const tsri_product *p, const b_panel *b, int64_t first, int64_t last) {
  if (tsri_product_is_plain(p)) return;
  const char *bias = p->bias ? p->bias + (size_t)b->first * p->element : NULL;
  for (int64_t row = first; row < last; row++) {
    int64_t at = row * p->n + b->first;
    tsri_product_finish(p, p->c + (size_t)at * p->sum_bytes, bias, at, b->count);
  }
}

// Applies bias and activation to whole rows, to several contiguous rows as one long row, because a call for few elements takes longer than the computation. The
// bias is repeated for as many rows as are processed together.
static void finish_whole_rows(const tsri_product *p, int64_t first, int64_t last) {
  double biases[TSRI_PRODUCT_STRETCH];
  size_t row_bytes = (size_t)p->n * p->sum_bytes;
  int64_t together = p->is_scaled ? 1 : at_most(last - first, TSRI_PRODUCT_STRETCH / p->n);
  if (tsri_product_is_plain(p)) return;
  for (int64_t i = 0; p->bias && i < together; i++) memcpy((char *)biases + (size_t)i * row_bytes, p->bias, row_bytes);
  for (int64_t row = first; row < last; row += together) {
    int64_t rows = at_most(last - row, together);
    tsri_product_finish(p, p->c + (size_t)row * row_bytes, p->bias ? biases : NULL, row * p->n, rows * p->n);
  }
}

static void run_part(void *user, int part) {
  const direct_product *d = user;
  const tsri_product *p = d->p;
  bool is_band = d->bands > 1;
  char *scratch = p->scratch + d->panel_bytes * (size_t)part;
  int64_t first_row = is_band ? d->tiles * part / d->bands * p->kernels->tile_rows : 0;
  int64_t last_row = is_band ? at_most(p->m, d->tiles * (part + 1) / d->bands * p->kernels->tile_rows) : p->m;
  int64_t first = is_band ? 0 : d->panels * part / d->parts,
          last = is_band ? d->panels : d->panels * (part + 1) / d->parts;
  bool has_whole_rows = first == 0 && last == d->panels && p->n <= FEW_COLUMNS;
  for (int64_t panel = first; panel < last; panel++) {
    b_panel b = {0};
    for (int64_t k = 0; k < p->k; k += K_BLOCK) {
      b = take_panel(d, panel * p->kernels->tile_columns, k, scratch);
      multiply(d, &b, first_row, last_row);
    }
    if (!has_whole_rows) finish_rows(p, &b, first_row, last_row);
  }
  if (has_whole_rows) finish_whole_rows(p, first_row, last_row);
}

void tsri_product_run_direct(const tsri_product *p) {
  direct_product d = {.p = p, .lanes = p->kernels->tile_columns / 2, .panel_bytes = panel_bytes(p)};
  cut(&d);
  tsri_parallel(p->threads, d.parts, run_part, &d);
}
