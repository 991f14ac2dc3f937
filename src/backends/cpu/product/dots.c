// SPDX-License-Identifier: MIT
// Products of floats with few rows and a matrix b whose columns are contiguous, such as the weights of a linear layer with one line for each output. Each
// element of the result is a dot product with a line of b: b is read once, in the order of memory, and not packed. Which products are computed in this way does
// not depend on the number of threads.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  LINES = 4,  // lines of b in a tile
  LEAST_DEPTH = 64,
  DEPTH_PER_ROW = 16,  // for many rows and short lines, adding the lanes of all sums takes longer than packing
  LEAST_COLUMNS = 64,
  MOST_PASSES = 8  // of tiles over the same lines of b
};

typedef struct dots_product {
  const tsri_product *p;
  const char *a;  // rows of a, converted to the type of sums
  int64_t a_step;
  char *sums;  // m x n
  int parts;
} dots_product;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static tsri_product_dots *dots_for(const tsri_product *p) {
  if (!p->is_narrow) return p->kernels->few_dots;
  return p->is_bf16 ? p->kernels->few_dots_bf16 : p->kernels->few_dots_f16;
}

static int64_t most_rows(const tsri_product *p) {
  return p->groups ? p->groups->tile_rows / 2 : MOST_PASSES * p->kernels->dots_rows;
}

bool tsri_product_has_few_dots(const tsri_product *p) {
  return !p->quant && !p->has_integers && dots_for(p) && p->b.row == 1 && p->b.column != 1 && p->n >= LEAST_COLUMNS &&
         p->k >= LEAST_DEPTH && p->k >= DEPTH_PER_ROW * p->m && p->m > 1 && p->m <= most_rows(p);
}

static bool is_a_in_place(const tsri_product *p) { return !p->is_narrow && p->a.column == 1; }

static size_t a_bytes(const tsri_product *p) { return is_a_in_place(p) ? 0 : (size_t)(p->m * p->k) * p->sum_bytes; }

size_t tsri_product_dots_scratch_bytes(const tsri_product *p) {
  size_t bytes = a_bytes(p) + (p->is_narrow ? (size_t)(p->m * p->n) * p->sum_bytes : 0);
  return bytes > 0 ? bytes : 1;  // never 0
}

// Computes a tile: `lines` lines of b from `column` on, and all rows, in passes of about equally many rows.
static void multiply(const dots_product *d, int64_t column, int64_t lines) {
  const tsri_product *p = d->p;
  int64_t most = p->kernels->dots_rows, passes = (p->m + most - 1) / most;
  double tile[TSRI_PRODUCT_MOST_TILE];
  for (int64_t pass = 0; pass < passes; pass++) {
    int64_t row = p->m * pass / passes, rows = p->m * (pass + 1) / passes - row;
    char *sums = d->sums + (size_t)(row * p->n + column) * p->sum_bytes;
    const char *a = d->a + (size_t)(row * d->a_step) * p->sum_bytes;
    const char *b = p->b.at + column * p->b.column * (int64_t)p->element;
    if (lines == LINES) {
      dots_for(p)((int)rows, a, d->a_step, b, p->b.column, p->k, sums, p->n);
      continue;
    }
    for (int64_t j = 0; j < lines; j++) {  // the same line four times, since there are no others
      dots_for(p)((int)rows, a, d->a_step, b + j * p->b.column * (int64_t)p->element, 0, p->k, tile, LINES);
      for (int64_t i = 0; i < rows; i++) {
        memcpy(sums + (size_t)(i * p->n + j) * p->sum_bytes, (char *)tile + (size_t)(i * LINES) * p->sum_bytes,
               p->sum_bytes);
      }
    }
  }
}

static void run_part(void *user, int part) {
  const dots_product *d = user;
  const tsri_product *p = d->p;
  int64_t tiles = (p->n + LINES - 1) / LINES;
  int64_t first = tiles * part / d->parts * LINES, last = at_most(p->n, tiles * (part + 1) / d->parts * LINES);
  for (int64_t column = first; column < last; column += LINES) multiply(d, column, at_most(last - column, LINES));
  tsri_product_finish_columns(p, d->sums + (size_t)first * p->sum_bytes, p->n, first, last);
}

void tsri_product_run_dots(const tsri_product *p) {
  dots_product d = {.p = p, .a = p->a.at, .a_step = p->a.row, .sums = p->is_narrow ? p->scratch + a_bytes(p) : p->c};
  if (!is_a_in_place(p)) {
    d.a = p->scratch;
    d.a_step = p->k;
    for (int64_t i = 0; i < p->m; i++) {
      p->storage->load(p->scratch + (size_t)(i * p->k) * p->sum_bytes, p->a.at + i * p->a.row * (int64_t)p->element,
                       p->a.column, (uint32_t)p->k);
    }
  }
  d.parts = tsri_cpu_parts(p->threads, (uint64_t)((p->n + LINES - 1) / LINES));
  tsri_parallel(p->threads, d.parts, run_part, &d);
}
