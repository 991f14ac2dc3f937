// SPDX-License-Identifier: MIT
// Products of few rows with quantised weights: each row of weights is read once, at the speed of memory. One row of a is multiplied as weights are decoded; for
// more rows, a stretch of decoded weights stays in the first-level cache. Each result is computed by one thread.
#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum { FEW_ROWS = 8, STRETCH = TSRI_PRODUCT_STRETCH };

typedef struct quant_product {
  const tsri_product *p;
  const float *a;  // rows of a as f32, a_step apart
  int64_t a_step;
  float *sums;  // m x n
  int parts;
} quant_product;

bool tsri_product_has_quant_rows(const tsri_product *p) { return p->m <= FEW_ROWS; }

size_t tsri_product_quant_scratch_bytes(const tsri_product *p) {
  return (size_t)(p->m * (p->k + p->n)) * sizeof(float);
}

// Computes column j of the result for all rows of a; its elements are n apart.
static void multiply_rows(const quant_product *q, const uint8_t *row, float *sums) {
  const tsri_product *p = q->p;
  float line[STRETCH], parts[FEW_ROWS];
  for (int64_t i = 0; i < p->m; i++) sums[i * p->n] = 0;
  for (int64_t k = 0; k < p->k; k += STRETCH) {
    int64_t count = p->k - k < STRETCH ? p->k - k : STRETCH;
    p->quant->decode(row, k, count, line);
    p->kernels->dots(q->a + k, q->a_step, p->m, line, count, parts);
    for (int64_t i = 0; i < p->m; i++) sums[i * p->n] += parts[i];
  }
}

static void finish_columns(const quant_product *q, int64_t first, int64_t last) {
  const tsri_product *p = q->p;
  if (tsri_product_is_plain(p)) return;
  float wide[STRETCH];
  for (int64_t j = first; j < last; j += STRETCH) {
    int64_t count = last - j < STRETCH ? last - j : STRETCH;
    const void *bias = tsri_product_widen(p, p->bias, j, count, wide);
    for (int64_t i = 0; i < p->m; i++) {
      tsri_product_finish(p, (char *)(q->sums + i * p->n + j), bias, i * p->n + j, count);
    }
  }
}

static void run_part(void *user, int part) {
  const quant_product *q = user;
  const tsri_product *p = q->p;
  int64_t first = p->n * part / q->parts, last = p->n * (part + 1) / q->parts, row_bytes = tsri_product_row_bytes(p);
  const uint8_t *rows = (const uint8_t *)p->b.at;
  for (int64_t j = first; j < last; j++) {
    const uint8_t *row = rows + j * row_bytes;
    if (p->m == 1) q->sums[j] = p->quant->dot(row, q->a, p->k);
    else multiply_rows(q, row, q->sums + j);
  }
  finish_columns(q, first, last);
}

void tsri_product_run_quant_rows(const tsri_product *p) {
  quant_product q = {.p = p, .a = (const float *)(const void *)p->a.at, .a_step = p->a.row};
  float *scratch = (float *)(void *)p->scratch;
  if (p->is_narrow) {
    for (int64_t i = 0; i < p->m; i++) {
      p->storage->load(scratch + i * p->k, p->a.at + i * p->a.row * (int64_t)p->element, p->a.column, (uint32_t)p->k);
    }
    q.a = scratch;
    q.a_step = p->k;
  }
  q.sums = p->is_narrow ? scratch + p->m * p->k : (float *)(void *)p->c;
  q.parts = tsri_cpu_parts(p->threads, (uint64_t)p->n);
  tsri_parallel(p->threads, q.parts, run_part, &q);
}
