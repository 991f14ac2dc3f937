// SPDX-License-Identifier: MIT
// Products with few columns, of which a tile would compute a whole vector register. Where rows of a lie along k, each column is a product with a vector (vector.c). Where columns of a lie
// side by side, the transposed product has few rows (direct.c).
#include <string.h>

#include "backends/cpu/product/product.h"

enum { MOST_NARROW = 2, LEAST_K = 32 };  // narrow elements are converted once for each column

// Up to this many columns dot products are faster than tiles: the longer they are, the more, and fewer where a is read from memory for
// each of them. Measured on Zen 4.
static int64_t most_columns(const tsri_product *p) {
  enum { SHORT = 64, LONG = 512, CACHE_BYTES = 1 << 20 };
  if (p->is_narrow) return MOST_NARROW;
  if (p->m * p->k * (int64_t)p->element > CACHE_BYTES) return p->k < LONG ? 4 : 8;
  return p->k < SHORT ? 5 : p->k < LONG ? 7 : 8;
}

// Whether columns of a lie side by side, and there are so few in the result that the transposed product is faster.
static bool is_turned(const tsri_product *p) {
  const tsri_product_kernels *kernels = p->kernels;
  return p->a.row == 1 && p->a.column != 1 && p->n <= kernels->tile_rows && p->n <= kernels->tile_columns / 4 &&
         p->m >= kernels->tile_columns;
}

bool tsri_product_has_few_columns(const tsri_product *p) {
  if (!tsri_product_is_bare(p) || p->n < 2 || p->m < 2 || p->k < 2) return false;
  return is_turned(p) || (p->a.column == 1 && p->n <= most_columns(p) && p->k >= LEAST_K);
}

static size_t to_line(size_t bytes) { return (bytes + 63) / 64 * 64; }

static tsri_product column_of(const tsri_product *p, int64_t column) {
  tsri_product v = *p;
  v.n = 1;
  v.b.at += column * p->b.column * (int64_t)p->element;
  v.b.column = 0;
  v.c = p->scratch;
  v.scratch = p->scratch + to_line((size_t)p->m * p->element);
  return v;
}

// The transposed product, whose result goes to scratch memory.
static tsri_product turned(const tsri_product *p) {
  tsri_product t = *p;
  t.m = p->n;
  t.n = p->m;
  t.a = (tsri_product_matrix){.at = p->b.at, .row = p->b.column, .column = p->b.row};
  t.b = (tsri_product_matrix){.at = p->a.at, .row = p->a.column, .column = p->a.row};
  t.c = p->scratch;
  t.scratch = p->scratch + to_line((size_t)(p->m * p->n) * p->element);
  return t;
}

static size_t scratch_of_turned(const tsri_product *t) {
  return t->is_narrow ? tsri_product_scratch_bytes(t) : tsri_product_direct_scratch_bytes(t);
}

// The transposed result, or a column of it, and what its product needs.
size_t tsri_product_columns_scratch_bytes(const tsri_product *p) {
  tsri_product t = turned(p), v = column_of(p, 0);
  if (is_turned(p)) return to_line((size_t)(p->m * p->n) * p->element) + scratch_of_turned(&t);
  return to_line((size_t)p->m * p->element) + tsri_product_vector_scratch_bytes(&v);
}

#define SPREAD(bytes)                                                                   \
  case bytes:                                                                           \
    for (int64_t i = 0; i < count; i++) memcpy(to + i * step, from + i * bytes, bytes); \
    break;

// Copies elements that lie side by side to places `step` bytes apart.
static void spread(char *to, int64_t step, const char *from, int64_t count, size_t element) {
  switch (element) {
    SPREAD(2)
    SPREAD(4)
    SPREAD(8)
    default:
      break;  // products have no other elements
  }
}

void tsri_product_run_columns(const tsri_product *p) {
  tsri_product t = turned(p);
  if (is_turned(p)) (p->is_narrow ? tsri_product_run : tsri_product_run_direct)(&t);
  for (int64_t j = 0; j < p->n; j++) {
    tsri_product v = column_of(p, j);
    if (is_turned(p)) v.c = t.c + (size_t)(j * p->m) * p->element;
    else tsri_product_run_vector(&v);
    spread(p->c + (size_t)j * p->element, p->n * (int64_t)p->element, v.c, p->m, p->element);
  }
}
