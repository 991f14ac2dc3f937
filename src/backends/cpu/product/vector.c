// SPDX-License-Identifier: MIT
// Products of a matrix and a vector, which read every element of the matrix once: at the memory's speed, without packing it.
//
// Where an output's elements lie side by side along k, each output is a dot product. Where outputs lie side by side, rows of the matrix
// are added to a stretch of outputs that stays in the first-level cache. Each output is made by one thread.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  STRETCH = TSRI_PRODUCT_STRETCH,
  ROWS_AT_ONCE = 16
};  // elements of a row that are converted, or added to, at once

typedef struct vector_product {
  const tsri_product *p;
  const char *matrix;
  int64_t outputs, output_step, k_step;  // steps in the matrix
  const char *x;                         // the vector as sums, contiguous
  char *sums;
  int parts;
} vector_product;

// m or n is 1; the matrix is the input that has the other.
static vector_product look_at(const tsri_product *p) {
  vector_product v = {.p = p};
  bool is_column = p->n == 1;
  const tsri_product_matrix *matrix = is_column ? &p->a : &p->b;
  v.matrix = matrix->at;
  v.outputs = is_column ? p->m : p->n;
  v.output_step = is_column ? matrix->row : matrix->column;
  v.k_step = is_column ? matrix->column : matrix->row;
  return v;
}

bool tsri_product_has_vector(const tsri_product *p) {
  if (p->m != 1 && p->n != 1) return false;
  vector_product v = look_at(p);
  return v.k_step == 1 || v.output_step == 1;
}

size_t tsri_product_vector_scratch_bytes(const tsri_product *p) {
  return (size_t)(p->k + (p->m > p->n ? p->m : p->n)) * p->sum_bytes;
}

static const char *matrix_at(const vector_product *v, int64_t output, int64_t k) {
  return v->matrix + (output * v->output_step + k * v->k_step) * (int64_t)v->p->element;
}

// The dot product of a row that is converted a stretch at a time. Sums of narrow elements are f32.
static float dot_long_row(const vector_product *v, int64_t output) {
  const tsri_product *p = v->p;
  float line[STRETCH], part = 0, total = 0;
  for (int64_t k = 0; k < p->k; k += STRETCH) {
    int64_t count = p->k - k < STRETCH ? p->k - k : STRETCH;
    p->storage->load(line, matrix_at(v, output, k), 1, (uint32_t)count);
    p->kernels->dots(line, 0, 1, v->x + (size_t)k * p->sum_bytes, count, &part);
    total += part;
  }
  return total;
}

// As many rows as fill a stretch are converted, then multiplied.
static void dot_narrow_rows(const vector_product *v, int64_t first, int64_t last) {
  const tsri_product *p = v->p;
  float lines[STRETCH], *sums = (float *)(void *)v->sums;
  int64_t at_once = STRETCH / p->k;
  for (int64_t i = first; i < last && at_once == 0; i++) sums[i] = dot_long_row(v, i);
  for (int64_t i = first; i < last && at_once > 0; i += at_once) {
    int64_t count = last - i < at_once ? last - i : at_once;
    for (int64_t k = 0; k < count; k++) p->storage->load(lines + k * p->k, matrix_at(v, i + k, 0), 1, (uint32_t)p->k);
    p->kernels->dots(lines, p->k, count, v->x, p->k, sums + i);
  }
}

// The outputs from `first` to before `last`.
static void dot_rows(const vector_product *v, int64_t first, int64_t last) {
  const tsri_product *p = v->p;
  char *sums = v->sums + (size_t)first * p->sum_bytes;
  if (p->is_narrow) dot_narrow_rows(v, first, last);
  else p->kernels->dots(matrix_at(v, first, 0), v->output_step, last - first, v->x, p->k, sums);
}

// Outputs `first` to `first` + `count`, a stretch.
static void add_rows(const vector_product *v, int64_t first, int64_t count) {
  const tsri_product *p = v->p;
  char *sums = v->sums + (size_t)first * p->sum_bytes;
  memset(sums, 0, (size_t)count * p->sum_bytes);
  if (!p->is_narrow) {
    p->kernels->add_rows(sums, count, v->x, matrix_at(v, first, 0), v->k_step, p->k);
    return;
  }
  float rows[ROWS_AT_ONCE][STRETCH];
  for (int64_t k = 0; k < p->k; k += ROWS_AT_ONCE) {
    int64_t row_count = p->k - k < ROWS_AT_ONCE ? p->k - k : ROWS_AT_ONCE;
    for (int64_t i = 0; i < row_count; i++) p->storage->load(rows[i], matrix_at(v, first, k + i), 1, (uint32_t)count);
    p->kernels->add_rows(sums, count, v->x + (size_t)k * p->sum_bytes, rows, STRETCH, row_count);
  }
}

static void finish_outputs(const vector_product *v, int64_t first, int64_t count) {
  const tsri_product *p = v->p;
  if (tsri_product_is_plain(p)) return;
  bool has_one_bias = p->bias && p->n == 1;
  float wide[STRETCH];
  for (int64_t i = first; i < first + count; i += has_one_bias ? 1 : STRETCH) {
    int64_t left = first + count - i, now = has_one_bias ? 1 : left < STRETCH ? left : STRETCH;
    const void *bias = tsri_product_widen(p, p->bias, has_one_bias ? 0 : i, now, wide);
    tsri_product_finish(p, v->sums + (size_t)i * p->sum_bytes, bias, i, now);
  }
}

static void run_part(void *user, int part) {
  const vector_product *v = user;
  int64_t first = v->outputs * part / v->parts, last = v->outputs * (part + 1) / v->parts;
  if (v->k_step == 1) {
    dot_rows(v, first, last);
  } else {
    for (int64_t i = first; i < last; i += STRETCH) add_rows(v, i, last - i < STRETCH ? last - i : STRETCH);
  }
  finish_outputs(v, first, last - first);
}

void tsri_product_run_vector(const tsri_product *p) {
  enum { LEAST_OUTPUTS = 2048 };  // side by side: whole lines, and enough of them to read ahead
  vector_product v = look_at(p);
  bool is_column = p->n == 1;
  const tsri_product_matrix *vector = is_column ? &p->b : &p->a;
  int64_t step = is_column ? vector->row : vector->column;
  bool lies_well = !p->is_narrow && (step == 1 || p->k == 1);
  v.x = lies_well ? vector->at : p->scratch;
  if (p->is_narrow) p->storage->load(p->scratch, vector->at, step, (uint32_t)p->k);
  else if (!lies_well) p->kernels->pack(p->scratch, 1, 1, p->k, vector->at, 0, step);
  v.sums = p->is_narrow ? p->scratch + (size_t)p->k * p->sum_bytes : p->c;
  int64_t pieces = v.k_step == 1 ? v.outputs : (v.outputs + LEAST_OUTPUTS - 1) / LEAST_OUTPUTS;
  v.parts = tsri_cpu_parts(p->threads, (uint64_t)pieces);
  tsri_parallel(p->threads, v.parts, run_part, &v);
}
