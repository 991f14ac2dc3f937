// SPDX-License-Identifier: MIT
// Products of matrices from packed panels.
//
// For each block of k, threads first pack panels of both inputs, which is where strides and dtypes are resolved; then they take blocks of
// the result, tile by tile: a panel of a stays in the first-level cache while the panels of a block of b, which fills half of the
// second level, go past it. Bias and activation are applied to a strip of the result right after its last block of k.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  K_BLOCK = 256,
  BLOCK_COLUMNS = 512,      // of b, with K_BLOCK rows: 512 KiB of f32
  CHUNK = 2048,             // rows and columns of the result for which panels are kept at once
  NARROW_CHUNK_ROWS = 512,  // the same where sums need memory of their own
  MOST_TILE = 14 * 32,      // elements of the largest register tile
  PARTS_PER_THREAD = 4
};

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static int64_t chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

// A product at work on one chunk of the result and one block of k.
typedef struct chunk {
  const tsri_product *p;
  int64_t row, rows, column, columns, k, depth;
  char *a_panels, *b_panels;
  char *sums;  // of the chunk's first element
  int64_t sums_step;
  bool is_b_direct;  // whole panels of b are read where they lie
  bool is_first, is_last;
  int64_t a_panel_count, b_panel_count;
  int64_t block_panels,
      column_blocks;  // a block of the result: panels of a, and how many blocks there are side by side
  int parts;
} chunk;

static int64_t chunk_rows(const tsri_product *p) { return at_most(p->m, p->is_narrow ? NARROW_CHUNK_ROWS : CHUNK); }

static size_t panel_bytes(const tsri_product *p, int64_t lines, int width) {
  return (size_t)(chunks_of(lines, width) * width * at_most(p->k, K_BLOCK)) * p->sum_bytes;
}

size_t tsri_product_scratch_bytes(const tsri_product *p) {
  int64_t rows = chunk_rows(p), columns = at_most(p->n, CHUNK);
  size_t bytes = panel_bytes(p, rows, p->kernels->tile_rows) + panel_bytes(p, columns, p->kernels->tile_columns);
  return p->is_narrow ? bytes + (size_t)(rows * columns) * p->sum_bytes : bytes;
}

// --- Packing --------------------------------------------------------------------------------------------------------------

// As the kernels' pack, for elements that are not sums: `count` lines of `depth` elements.
static void pack_narrow(const chunk *c, float *panel, int width, int count, const char *from, int64_t line_step,
                        int64_t k_step) {
  const tsri_product *p = c->p;
  float line[K_BLOCK];
  memset(panel, 0, (size_t)(c->depth * width) * sizeof *panel);
  if (line_step == 1) {
    for (int64_t k = 0; k < c->depth; k++) {
      p->storage->load(panel + k * width, from + k * k_step * (int64_t)p->element, 1, (uint32_t)count);
    }
    return;
  }
  for (int i = 0; i < count; i++) {
    p->storage->load(line, from + i * line_step * (int64_t)p->element, k_step, (uint32_t)c->depth);
    for (int64_t k = 0; k < c->depth; k++) panel[k * width + i] = line[k];
  }
}

// Packs panel `index` of the lines from `first` on.
static void pack_panel(const chunk *c, char *panels, int width, int64_t index, int64_t lines, const char *from,
                       int64_t line_step, int64_t k_step) {
  const tsri_product *p = c->p;
  int64_t first = index * width;
  int count = (int)at_most(lines - first, width);
  char *panel = panels + (size_t)(first * c->depth) * p->sum_bytes;
  const char *source = from + first * line_step * (int64_t)p->element;
  if (p->is_narrow) pack_narrow(c, (float *)(void *)panel, width, count, source, line_step, k_step);
  else p->kernels->pack(panel, width, count, c->depth, source, line_step, k_step);
}

static const char *element_at(const tsri_product *p, const tsri_product_matrix *matrix, int64_t row, int64_t column) {
  return matrix->at + (row * matrix->row + column * matrix->column) * (int64_t)p->element;
}

static bool is_packed(const chunk *c, int64_t b_panel) {
  return !c->is_b_direct || (b_panel + 1) * c->p->kernels->tile_columns > c->columns;
}

static void pack_part(void *user, int part) {
  const chunk *c = user;
  const tsri_product *p = c->p;
  const char *a = element_at(p, &p->a, c->row, c->k), *b = element_at(p, &p->b, c->k, c->column);
  int64_t all = c->a_panel_count + c->b_panel_count, last = all * (part + 1) / c->parts;
  for (int64_t i = all * part / c->parts; i < last; i++) {
    int64_t in_b = i - c->a_panel_count;
    if (in_b < 0) pack_panel(c, c->a_panels, p->kernels->tile_rows, i, c->rows, a, p->a.row, p->a.column);
    else if (is_packed(c, in_b)) {
      pack_panel(c, c->b_panels, p->kernels->tile_columns, in_b, c->columns, b, p->b.column, p->b.row);
    }
  }
}

// --- Multiplying ------------------------------------------------------------------------------------------------------------

// Adds `rows` x `columns` of a tile in memory of its own to the sums, or puts them there.
static void take_tile(const chunk *c, const char *tile, char *sums, int64_t rows, int64_t columns) {
  const tsri_product *p = c->p;
  int64_t step = p->kernels->tile_columns;
  for (int64_t i = 0; i < rows; i++) {
    const char *from = tile + (size_t)(i * step) * p->sum_bytes;
    char *to = sums + (size_t)(i * c->sums_step) * p->sum_bytes;
    if (c->is_first) memcpy(to, from, (size_t)columns * p->sum_bytes);
    else if (p->sum_bytes == sizeof(double)) {
      for (int64_t j = 0; j < columns; j++) ((double *)(void *)to)[j] += ((const double *)(const void *)from)[j];
    } else {
      for (int64_t j = 0; j < columns; j++) ((float *)(void *)to)[j] += ((const float *)(const void *)from)[j];
    }
  }
}

static void multiply_tile(const chunk *c, int64_t a_panel, int64_t b_panel) {
  const tsri_product *p = c->p;
  const tsri_product_kernels *kernels = p->kernels;
  int64_t row = a_panel * kernels->tile_rows, column = b_panel * kernels->tile_columns;
  int64_t rows = at_most(c->rows - row, kernels->tile_rows),
          columns = at_most(c->columns - column, kernels->tile_columns);
  const char *a = c->a_panels + (size_t)(row * c->depth) * p->sum_bytes;
  const char *b = c->b_panels + (size_t)(column * c->depth) * p->sum_bytes;
  int64_t b_step = kernels->tile_columns;
  if (!is_packed(c, b_panel)) {
    b = element_at(p, &p->b, c->k, c->column + column);
    b_step = p->b.row;
  }
  char *sums = c->sums + (size_t)(row * c->sums_step + column) * p->sum_bytes;
  if (rows == kernels->tile_rows && columns == kernels->tile_columns) {
    kernels->tile(c->depth, a, b, b_step, sums, c->sums_step, !c->is_first);
  } else {
    double tile[MOST_TILE];
    kernels->tile(c->depth, a, b, b_step, tile, kernels->tile_columns, false);
    take_tile(c, (const char *)tile, sums, rows, columns);
  }
}

// The last block of k is in the sums: bias, activation, and the dtype of the result.
static void finish_rows(const chunk *c, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const tsri_product *p = c->p;
  if (!p->is_narrow && !p->bias && p->activation == TSRI_ACTIVATION_NONE) return;
  float wide_bias[BLOCK_COLUMNS];
  const char *bias = p->bias ? p->bias + (size_t)(c->column + column) * p->element : NULL;
  if (bias && p->is_narrow) {
    p->storage->load(wide_bias, bias, 1, (uint32_t)columns);
    bias = (const char *)wide_bias;
  }
  for (int64_t i = row; i < row + rows; i++) {
    char *sums = c->sums + (size_t)(i * c->sums_step + column) * p->sum_bytes;
    p->kernels->finish(sums, bias, columns, p->activation, p->math);
    char *to = p->c + (size_t)((c->row + i) * p->n + c->column + column) * p->element;
    if (p->is_narrow) p->storage->store(to, sums, 1, (uint32_t)columns);
  }
}

// A block of the result: some panels of a, and BLOCK_COLUMNS columns.
static void multiply_part(void *user, int part) {
  const chunk *c = user;
  const tsri_product_kernels *kernels = c->p->kernels;
  int64_t block_b = BLOCK_COLUMNS / kernels->tile_columns, first_b = part % c->column_blocks * block_b;
  int64_t last_b = at_most(first_b + block_b, c->b_panel_count), column = first_b * kernels->tile_columns;
  int64_t columns = at_most(c->columns - column, BLOCK_COLUMNS), first_a = part / c->column_blocks * c->block_panels;
  for (int64_t i = first_a; i < first_a + c->block_panels && i < c->a_panel_count; i++) {
    for (int64_t j = first_b; j < last_b; j++) multiply_tile(c, i, j);
    if (c->is_last) {
      int64_t row = i * kernels->tile_rows;
      finish_rows(c, row, at_most(c->rows - row, kernels->tile_rows), column, columns);
    }
  }
}

static int parts_for(const tsri_product *p, int64_t pieces) {
  return p->threads > 1 ? (int)at_most(pieces, (int64_t)p->threads * PARTS_PER_THREAD) : 1;
}

static void run_depth(chunk *c) {
  const tsri_product *p = c->p;
  c->parts = parts_for(p, c->a_panel_count + c->b_panel_count);
  tsri_parallel(p->threads, c->parts, pack_part, c);
  c->column_blocks = chunks_of(c->b_panel_count * p->kernels->tile_columns, BLOCK_COLUMNS);
  int64_t bands = chunks_of(parts_for(p, c->a_panel_count * c->column_blocks), c->column_blocks);
  c->block_panels = chunks_of(c->a_panel_count, bands);
  tsri_parallel(p->threads, (int)(chunks_of(c->a_panel_count, c->block_panels) * c->column_blocks), multiply_part, c);
}

static void run_chunk(const tsri_product *p, int64_t row, int64_t column) {
  const tsri_product_kernels *kernels = p->kernels;
  chunk c = {.p = p,
             .row = row,
             .column = column,
             .rows = at_most(p->m - row, chunk_rows(p)),
             .columns = at_most(p->n - column, CHUNK)};
  c.a_panels = p->scratch;
  c.b_panels = c.a_panels + panel_bytes(p, chunk_rows(p), kernels->tile_rows);
  char *own_sums = c.b_panels + panel_bytes(p, at_most(p->n, CHUNK), kernels->tile_columns);
  c.sums = p->is_narrow ? own_sums : p->c + (size_t)(row * p->n + column) * p->element;
  c.sums_step = p->is_narrow ? c.columns : p->n;
  c.a_panel_count = chunks_of(c.rows, kernels->tile_rows);
  c.b_panel_count = chunks_of(c.columns, kernels->tile_columns);
  c.is_b_direct = !p->is_narrow && p->b.column == 1 && p->m <= 3 * kernels->tile_rows;
  for (c.k = 0; c.k < p->k; c.k += K_BLOCK) {
    c.depth = at_most(p->k - c.k, K_BLOCK);
    c.is_first = c.k == 0;
    c.is_last = c.k + c.depth == p->k;
    run_depth(&c);
  }
}

void tsri_product_run(const tsri_product *p) {
  for (int64_t column = 0; column < p->n; column += CHUNK) {
    for (int64_t row = 0; row < p->m; row += chunk_rows(p)) run_chunk(p, row, column);
  }
}
