// SPDX-License-Identifier: MIT
// Products of f32 and f64 with few results and a long k, such as gradients by weights. Threads take blocks of k; each block is a separate product, which shares
// no packed panels with others. At the end the sums of all blocks are added, from the first to the last.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum { K_BLOCK = TSRI_PRODUCT_K_BLOCK, MOST_SUMS = 1 << 17, MOST_BYTES = 32 << 20 };

typedef struct deep_product {
  const tsri_product *p;
  int64_t blocks;
  int parts;
  size_t sums_bytes;  // bytes of the sums of one block
  size_t part_bytes;  // bytes of scratch memory of each part, after the sums of all blocks
} deep_product;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static size_t to_line(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Describes block `block` of k as a product whose result is the block's sums.
static tsri_product product_of_block(const deep_product *d, int64_t block) {
  tsri_product sub = *d->p;
  int64_t k = block * K_BLOCK, element = (int64_t)sub.element;
  sub.a.at += k * sub.a.column * element;
  sub.b.at += k * sub.b.row * element;
  sub.k = at_most(sub.k - k, K_BLOCK);
  sub.c = sub.scratch + d->sums_bytes * (size_t)block;
  sub.bias = sub.residual = NULL;
  sub.is_scaled = false;
  sub.activation = TSRI_ACTIVATION_NONE;
  sub.threads = 1;
  return sub;
}

static deep_product look_at(const tsri_product *p) {
  deep_product d = {
      .p = p, .blocks = (p->k + K_BLOCK - 1) / K_BLOCK, .sums_bytes = to_line((size_t)(p->m * p->n) * p->sum_bytes)};
  d.parts = (int)at_most(p->threads, d.blocks);
  tsri_product first = product_of_block(&d, 0);
  d.part_bytes = to_line(tsri_product_is_direct(&first) ? tsri_product_direct_scratch_bytes(&first)
                                                        : tsri_product_scratch_bytes(&first));
  return d;
}

bool tsri_product_is_deep(const tsri_product *p, int threads) {
  enum { COLUMNS_PER_THREAD = 64 };  // for few rows: otherwise threads divide the columns
  int64_t sums = p->m * p->n, blocks = (p->k + K_BLOCK - 1) / K_BLOCK;
  if (threads < 2 || p->is_narrow || p->quant) return false;
  bool has_few_rows = tsri_product_is_direct(p) || tsri_product_has_few_rows(p);
  if (has_few_rows && p->n >= (int64_t)threads * COLUMNS_PER_THREAD) return false;
  return sums <= MOST_SUMS && blocks >= 2 * (int64_t)threads && sums * blocks * (int64_t)p->sum_bytes <= MOST_BYTES;
}

size_t tsri_product_deep_scratch_bytes(const tsri_product *p) {
  deep_product d = look_at(p);
  return d.sums_bytes * (size_t)d.blocks + d.part_bytes * (size_t)d.parts;
}

static void multiply_part(void *user, int part) {
  const deep_product *d = user;
  int64_t last = d->blocks * (part + 1) / d->parts;
  for (int64_t block = d->blocks * part / d->parts; block < last; block++) {
    tsri_product sub = product_of_block(d, block);
    sub.scratch += d->sums_bytes * (size_t)d->blocks + d->part_bytes * (size_t)part;
    sub.k_ahead = at_most(d->p->k, last * K_BLOCK) - block * K_BLOCK - sub.k;
    if (tsri_product_is_direct(&sub)) tsri_product_run_direct(&sub);
    else tsri_product_run(&sub);
  }
}

// Adds up the sums of all blocks for one row, a stretch at a time.
static void add_row(const deep_product *d, int64_t row) {
  const tsri_product *p = d->p;
  for (int64_t column = 0; column < p->n; column += TSRI_PRODUCT_STRETCH) {
    int64_t at = row * p->n + column, count = at_most(p->n - column, TSRI_PRODUCT_STRETCH);
    size_t place = (size_t)at * p->sum_bytes;
    char *sums = p->c + place;
    memcpy(sums, p->scratch + place, (size_t)count * p->sum_bytes);
    for (int64_t block = 1; block < d->blocks; block++) {
      const char *more = p->scratch + d->sums_bytes * (size_t)block + place;
      p->kernels->finish(sums, more, count, TSRI_ACTIVATION_NONE, p->math);
    }
    if (tsri_product_is_plain(p)) continue;
    const char *bias = p->bias ? p->bias + (size_t)column * p->element : NULL;
    tsri_product_finish(p, sums, bias, at, count);
  }
}

static void add_part(void *user, int part) {
  const deep_product *d = user;
  int64_t last = d->p->m * (part + 1) / d->parts;
  for (int64_t row = d->p->m * part / d->parts; row < last; row++) add_row(d, row);
}

void tsri_product_run_deep(const tsri_product *p) {
  deep_product d = look_at(p);
  tsri_parallel(p->threads, d.parts, multiply_part, &d);
  d.parts = (int)at_most(d.parts, p->m);
  tsri_parallel(p->threads, d.parts, add_part, &d);
}
