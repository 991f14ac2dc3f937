// SPDX-License-Identifier: MIT
// Outer products (k is 1): each row of the result is a row of b times a number. Tiles would write a few cache lines of many rows at a time; here each row is
// written from beginning to end. Several short rows, or rows of f16 and bf16, are computed together in a small buffer, and then copied, or converted, to the
// result.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "core/lines.h"
#include "platform/parallel.h"

enum {
  STRETCH = TSRI_PRODUCT_STRETCH,
  WIDE = 64,       // columns; a multiple of every vector's lanes
  MOST_LANES = 16  // of a vector: the kernel writes up to that many elements beyond a row
};

typedef struct outer_product {
  const tsri_product *p;
  const char *b;   // b in the type of sums, contiguous
  int64_t pieces;  // pieces of each row
  int64_t tasks;   // pieces of wide rows, otherwise rows
  int parts;
} outer_product;

// A buffer for products before they are copied to the result.
typedef union stretch {
  float f32[STRETCH + MOST_LANES];
  double f64[STRETCH + MOST_LANES];
} stretch;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

// Whether rows are computed one by one. Rows that must be converted need to be long enough to fill a good part of a stretch.
static bool has_wide_rows(const tsri_product *p) { return p->n >= (p->is_narrow ? STRETCH / 2 : WIDE); }

bool tsri_product_is_outer(const tsri_product *p) { return p->k == 1 && tsri_product_is_bare(p); }

// Scratch memory: a copy of b, and the elements that the kernel reads beyond it.
size_t tsri_product_outer_scratch_bytes(const tsri_product *p) { return (size_t)(p->n + MOST_LANES) * p->sum_bytes; }

// Copies or converts `count` products to the result, from element `at` on.
static void put(const tsri_product *p, int64_t at, const stretch *from, int64_t count) {
  char *to = p->c + (size_t)at * p->element;
  if (p->is_narrow) p->storage->store(to, from, 1, (uint32_t)count);
  else memcpy(to, from, (size_t)count * p->element);
}

// Loads `count` elements of a from `row` on, in the type of sums; *out_step is their stride.
static const void *load_a(const tsri_product *p, int64_t row, int64_t count, float *wide, int64_t *out_step) {
  const char *from = p->a.at + row * p->a.row * (int64_t)p->element;
  *out_step = p->is_narrow ? 1 : p->a.row;
  if (!p->is_narrow) return from;
  p->storage->load(wide, from, p->a.row, (uint32_t)count);
  return wide;
}

static void fill_short_rows(const outer_product *o, int64_t first, int64_t last) {
  const tsri_product *p = o->p;
  stretch products;
  float wide[STRETCH];
  int64_t at_once = STRETCH / p->n, step = 0;
  for (int64_t row = first; row < last; row += at_once) {
    int64_t rows = at_most(last - row, at_once);
    const void *a = load_a(p, row, rows, wide, &step);
    p->kernels->outer(&products, rows, p->n, a, step, o->b);
    put(p, row * p->n, &products, rows * p->n);
  }
}

// Computes the columns `first` to `last` - 1 of a row; `first` is a multiple of WIDE. Whole vectors are written in place if no conversion is needed.
static void fill_wide_row(const outer_product *o, int64_t row, int64_t first, int64_t last) {
  const tsri_product *p = o->p;
  stretch products;
  float wide;
  int64_t step = 0, in_place = p->is_narrow ? 0 : (last - first) / WIDE * WIDE;
  const void *a = load_a(p, row, 1, &wide, &step);
  if (in_place > 0) {
    p->kernels->outer(p->c + (size_t)(row * p->n + first) * p->element, 1, in_place, a, 0,
                      o->b + (size_t)first * p->sum_bytes);
  }
  for (int64_t column = first + in_place; column < last; column += STRETCH) {
    int64_t count = at_most(last - column, STRETCH);
    p->kernels->outer(&products, 1, count, a, 0, o->b + (size_t)column * p->sum_bytes);
    put(p, row * p->n + column, &products, count);
  }
}

static void run_part(void *user, int part) {
  const outer_product *o = user;
  const tsri_product *p = o->p;
  int64_t first = o->tasks * part / o->parts, last = o->tasks * (part + 1) / o->parts, units = p->n / WIDE;
  if (!has_wide_rows(p)) {
    fill_short_rows(o, first, last);
    return;
  }
  for (int64_t i = first; i < last; i++) {
    int64_t piece = i % o->pieces;
    int64_t end = piece + 1 == o->pieces ? p->n : units * (piece + 1) / o->pieces * WIDE;
    fill_wide_row(o, i / o->pieces, units * piece / o->pieces * WIDE, end);
  }
}

void tsri_product_run_outer(const tsri_product *p) {
  enum { TASKS_PER_THREAD = 4 };
  outer_product o = {.p = p, .b = p->scratch, .pieces = 1};
  if (p->is_narrow) p->storage->load(p->scratch, p->b.at, p->b.column, (uint32_t)p->n);
  else if (p->b.column == 1) memcpy(p->scratch, p->b.at, (size_t)p->n * p->element);
  else tsri_gather_line(p->scratch, p->b.column * (int64_t)p->element, p->b.at, p->n, p->element);
  // The kernel also reads and multiplies the elements after b. Clear them: denormal numbers there would take some processors 50 ns each.
  memset(p->scratch + (size_t)p->n * p->sum_bytes, 0, MOST_LANES * p->sum_bytes);
  if (has_wide_rows(p) && p->m < (int64_t)p->threads * TASKS_PER_THREAD) {
    o.pieces = at_most(p->n / WIDE, (int64_t)p->threads * TASKS_PER_THREAD);
  }
  o.tasks = p->m * o.pieces;
  o.parts = tsri_cpu_parts(p->threads, (uint64_t)o.tasks);
  tsri_parallel(p->threads, o.parts, run_part, &o);
}
