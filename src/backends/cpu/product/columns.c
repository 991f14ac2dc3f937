// SPDX-License-Identifier: MIT
// Products with few columns: each is a product with a vector (vector.c). A tile would compute a whole vector register of columns.
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

// Rows of a lie along k, so that each column is made of dot products; nothing but the products goes into the result.
bool tsri_product_has_few_columns(const tsri_product *p) {
  return tsri_product_is_bare(p) && p->n > 1 && p->n <= most_columns(p) && p->k >= LEAST_K && p->a.column == 1 &&
         p->m > 1;
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

// A column of the result, and what its product needs.
size_t tsri_product_columns_scratch_bytes(const tsri_product *p) {
  tsri_product v = column_of(p, 0);
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
  for (int64_t j = 0; j < p->n; j++) {
    tsri_product v = column_of(p, j);
    tsri_product_run_vector(&v);
    spread(p->c + (size_t)j * p->element, p->n * (int64_t)p->element, v.c, p->m, p->element);
  }
}
