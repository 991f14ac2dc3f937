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
  K_BLOCK = TSRI_PRODUCT_K_BLOCK,
  BLOCK_COLUMNS = 512,      // of b, with K_BLOCK rows: 512 KiB of f32
  CHUNK = 2048,             // rows and columns of the result for which panels are kept at once
  NARROW_CHUNK_ROWS = 512,  // the same where sums need memory of their own
  PARTS_PER_THREAD = 4,
  FEW_PANELS = 4
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
  bool is_first, is_last;
  int64_t a_panel_count, b_panel_count;
  bool is_thin;  // few panels of a: the thread that multiplies by a panel of b packs it first, into its own cache
  int64_t block_a, block_b;  // panels in a block of the result
  int64_t column_blocks;     // blocks side by side
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

// As the kernels' pack, for elements that are not sums: one panel of `count` lines.
static void pack_narrow(const chunk *c, float *panel, int width, int64_t count, const char *from, int64_t line_step,
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
  for (int64_t i = 0; i < count; i++) {
    p->storage->load(line, from + i * line_step * (int64_t)p->element, k_step, (uint32_t)c->depth);
    for (int64_t k = 0; k < c->depth; k++) panel[k * width + i] = line[k];
  }
}

// One of the two inputs: `lines` lines along k, in panels of `width`.
typedef struct packing {
  char *panels;
  int width;
  int64_t lines, line_step, k_step;
  const char *from;
} packing;

// Packs panels `first` to before `last`.
static void pack_panels(const chunk *c, const packing *in, int64_t first, int64_t last) {
  const tsri_product *p = c->p;
  if (first >= last) return;
  int64_t line = first * in->width, lines = at_most(in->lines, last * in->width) - line;
  char *panels = in->panels + (size_t)(line * c->depth) * p->sum_bytes;
  const char *from = in->from + line * in->line_step * (int64_t)p->element;
  if (!p->is_narrow) {
    p->kernels->pack(panels, in->width, lines, c->depth, from, in->line_step, in->k_step);
    return;
  }
  for (int64_t i = 0; i < lines; i += in->width) {
    pack_narrow(c, (float *)(void *)panels + i * c->depth, in->width, at_most(lines - i, in->width),
                from + i * in->line_step * (int64_t)p->element, in->line_step, in->k_step);
  }
}

static const char *element_at(const tsri_product *p, const tsri_product_matrix *matrix, int64_t row, int64_t column) {
  return matrix->at + (row * matrix->row + column * matrix->column) * (int64_t)p->element;
}

static packing packing_of_a(const chunk *c) {
  const tsri_product *p = c->p;
  const char *from = element_at(p, &p->a, c->row, c->k);
  return (packing){c->a_panels, p->kernels->tile_rows, c->rows, p->a.row, p->a.column, from};
}

static packing packing_of_b(const chunk *c) {
  const tsri_product *p = c->p;
  const char *from = element_at(p, &p->b, c->k, c->column);
  return (packing){c->b_panels, p->kernels->tile_columns, c->columns, p->b.column, p->b.row, from};
}

// A share of the panels of a, and one of those of b.
static void pack_part(void *user, int part) {
  const chunk *c = user;
  packing a = packing_of_a(c), b = packing_of_b(c);
  pack_panels(c, &a, c->a_panel_count * part / c->parts, c->a_panel_count * (part + 1) / c->parts);
  pack_panels(c, &b, c->b_panel_count * part / c->parts, c->b_panel_count * (part + 1) / c->parts);
}

static int parts_for(const tsri_product *p, int64_t pieces) {
  return p->threads > 1 ? (int)at_most(pieces, (int64_t)p->threads * PARTS_PER_THREAD) : 1;
}

static void pack(chunk *c) {
  packing a = packing_of_a(c);
  c->parts = parts_for(c->p, c->a_panel_count + c->b_panel_count);
  if (c->is_thin) pack_panels(c, &a, 0, c->a_panel_count);
  else tsri_parallel(c->p->threads, c->parts, pack_part, c);
}

// --- Multiplying ------------------------------------------------------------------------------------------------------------

void tsri_product_take_tile(const tsri_product *p, const void *tile, char *sums, int64_t sums_step, int64_t rows,
                            int64_t columns, bool adds) {
  int64_t step = p->kernels->tile_columns;
  for (int64_t i = 0; i < rows; i++) {
    const char *from = (const char *)tile + (size_t)(i * step) * p->sum_bytes;
    char *to = sums + (size_t)(i * sums_step) * p->sum_bytes;
    if (!adds) memcpy(to, from, (size_t)columns * p->sum_bytes);
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
  char *sums = c->sums + (size_t)(row * c->sums_step + column) * p->sum_bytes;
  if (rows == kernels->tile_rows && columns == kernels->tile_columns) {
    kernels->tile((int)rows, c->depth, a, b, sums, c->sums_step, !c->is_first);
  } else {
    double tile[TSRI_PRODUCT_MOST_TILE];
    kernels->tile((int)rows, c->depth, a, b, tile, kernels->tile_columns, false);
    tsri_product_take_tile(p, tile, sums, c->sums_step, rows, columns, !c->is_first);
  }
}

// The last block of k is in the sums.
static void finish_rows(const chunk *c, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const tsri_product *p = c->p;
  if (tsri_product_is_plain(p)) return;
  float wide[BLOCK_COLUMNS];
  const void *bias = tsri_product_widen(p, p->bias, c->column + column, columns, wide);
  for (int64_t i = row; i < row + rows; i++) {
    char *sums = c->sums + (size_t)(i * c->sums_step + column) * p->sum_bytes;
    tsri_product_finish(p, sums, bias, (c->row + i) * p->n + c->column + column, columns);
  }
}

// A block of the result: some panels of a, and some of b.
static void multiply_part(void *user, int part) {
  const chunk *c = user;
  const tsri_product_kernels *kernels = c->p->kernels;
  int64_t first_b = part % c->column_blocks * c->block_b, last_b = at_most(first_b + c->block_b, c->b_panel_count);
  int64_t first_a = part / c->column_blocks * c->block_a, last_a = at_most(first_a + c->block_a, c->a_panel_count);
  int64_t column = first_b * kernels->tile_columns;
  int64_t columns = at_most(c->columns, last_b * kernels->tile_columns) - column;
  packing b = packing_of_b(c);
  if (c->is_thin) pack_panels(c, &b, first_b, last_b);
  for (int64_t i = first_a; i < last_a; i++) {
    for (int64_t j = first_b; j < last_b; j++) multiply_tile(c, i, j);
    int64_t row = i * kernels->tile_rows;
    if (c->is_last) finish_rows(c, row, at_most(c->rows - row, kernels->tile_rows), column, columns);
  }
}

static void multiply(chunk *c) {
  const tsri_product *p = c->p;
  int64_t bands = 1, most_b = BLOCK_COLUMNS / p->kernels->tile_columns;
  c->block_b = c->is_thin ? at_most(chunks_of(c->b_panel_count, parts_for(p, c->b_panel_count)), most_b) : most_b;
  c->column_blocks = chunks_of(c->b_panel_count, c->block_b);
  if (!c->is_thin) bands = chunks_of(parts_for(p, c->a_panel_count * c->column_blocks), c->column_blocks);
  c->block_a = chunks_of(c->a_panel_count, bands);
  tsri_parallel(p->threads, (int)(chunks_of(c->a_panel_count, c->block_a) * c->column_blocks), multiply_part, c);
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
  c.is_thin = c.a_panel_count <= FEW_PANELS;
  for (c.k = 0; c.k < p->k; c.k += K_BLOCK) {
    c.depth = at_most(p->k - c.k, K_BLOCK);
    c.is_first = c.k == 0;
    c.is_last = c.k + c.depth == p->k;
    pack(&c);
    multiply(&c);
  }
}

void tsri_product_run(const tsri_product *p) {
  for (int64_t column = 0; column < p->n; column += CHUNK) {
    for (int64_t row = 0; row < p->m; row += chunk_rows(p)) run_chunk(p, row, column);
  }
}
