// SPDX-License-Identifier: MIT
// Matrix-vector products, which read every element of the matrix once, at the speed of memory and without packing.
//
// If the matrix is contiguous along k, each output is a dot product. If it is contiguous along the outputs, rows of the matrix are added to a stretch of
// outputs that stays in the first-level cache. Otherwise elements are gathered, a stretch at a time, along the axis with the smaller stride. Each output is
// computed by one thread; a few long dot products are divided into blocks of k, which depend only on the shape.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "core/lines.h"
#include "platform/parallel.h"

enum {
  STRETCH = TSRI_PRODUCT_STRETCH,
  ROWS_AT_ONCE = 16
};  // elements of a row that are converted, or added to, at a time

enum { FEW_OUTPUTS = 16, BLOCK_K = 1 << 15 };

// Least elements of a row of bf16 that is multiplied without conversion; several shorter rows are converted together.
enum { LEAST_BF16 = 64 };

typedef struct vector_product {
  const tsri_product *p;
  const char *matrix;
  int64_t outputs, output_step, k_step;  // steps in the matrix
  bool is_dots;                          // outputs are dot products, not sums of rows
  int64_t blocks;                        // blocks of k
  const char *x;                         // the vector in the type of sums, contiguous
  char *sums;
  char *block_sums;  // sums of each block of each output, if there are several blocks
  int parts;
} vector_product;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// Describes the product; m or n is 1, and the matrix is the other input.
static vector_product look_at(const tsri_product *p) {
  vector_product v = {.p = p, .blocks = 1};
  bool is_column = p->n == 1;
  const tsri_product_matrix *matrix = is_column ? &p->a : &p->b;
  v.matrix = matrix->at;
  v.outputs = is_column ? p->m : p->n;
  v.output_step = is_column ? matrix->row : matrix->column;
  v.k_step = is_column ? matrix->column : matrix->row;
  bool is_scattered = v.k_step != 1 && v.output_step != 1;
  bool is_closer_along_k = p->k > 1 && magnitude(v.k_step) < magnitude(v.output_step);
  v.is_dots = (v.k_step == 1 && p->k > 1) || (is_scattered && (v.outputs == 1 || is_closer_along_k));
  if (v.is_dots && v.outputs <= FEW_OUTPUTS && p->k >= 2 * BLOCK_K) v.blocks = (p->k + BLOCK_K - 1) / BLOCK_K;
  return v;
}

bool tsri_product_has_vector(const tsri_product *p) { return p->m == 1 || p->n == 1; }

static size_t to_line(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Scratch memory: the vector, the sums, and the blocks' sums.
size_t tsri_product_vector_scratch_bytes(const tsri_product *p) {
  vector_product v = look_at(p);
  size_t blocks = v.blocks > 1 ? (size_t)(v.outputs * v.blocks) : 0;
  return to_line((size_t)p->k * p->sum_bytes) + to_line((size_t)v.outputs * p->sum_bytes) + blocks * p->sum_bytes;
}

static const char *matrix_at(const vector_product *v, int64_t output, int64_t k) {
  return v->matrix + (output * v->output_step + k * v->k_step) * (int64_t)v->p->element;
}

typedef union dot_lines {
  float f32[STRETCH];
  double f64[STRETCH];
} dot_lines;

// Copies `count` elements that are `step` apart (at most STRETCH elements, unless the step is 1) to `to`, which is contiguous. 16-bit elements are converted to
// the type of sums.
static void load_elements(const vector_product *v, const char *from, int64_t step, int64_t count, char *to) {
  const tsri_product *p = v->p;
  uint16_t narrow[STRETCH];
  if (step != 1) {
    char *line = p->is_narrow ? (char *)narrow : to;
    tsri_gather_line(line, step * (int64_t)p->element, from, count, p->element);
    from = line;
  }
  if (p->is_narrow) p->storage->load(to, from, 1, (uint32_t)count);
}

// Loads the elements k to k + count - 1 of a row.
static void load_line(const vector_product *v, int64_t output, int64_t k, int64_t count, char *to) {
  load_elements(v, matrix_at(v, output, k), v->k_step, count, to);
}

static void add_sum(const tsri_product *p, const dot_lines *part, char *sum) {
  if (p->sum_bytes == sizeof(double)) *(double *)(void *)sum += part->f64[0];
  else *(float *)(void *)sum += part->f32[0];
}

// The dot product of the elements k_first to k_last - 1 of a row, a stretch at a time.
static void dot_long_row(const vector_product *v, int64_t output, int64_t k_first, int64_t k_last, char *sum) {
  const tsri_product *p = v->p;
  dot_lines line, part;
  memset(sum, 0, p->sum_bytes);
  for (int64_t k = k_first; k < k_last; k += STRETCH) {
    int64_t count = k_last - k < STRETCH ? k_last - k : STRETCH;
    load_line(v, output, k, count, (char *)&line);
    p->kernels->dots(&line, 0, 1, v->x + (size_t)k * p->sum_bytes, count, &part);
    add_sum(p, &part, sum);
  }
}

// As many rows as fit in a stretch are converted or gathered, and then multiplied.
static void dot_loaded_rows(const vector_product *v, int64_t first, int64_t last, int64_t k_first, int64_t k_last,
                            char *sums) {
  const tsri_product *p = v->p;
  dot_lines lines;
  int64_t k_count = k_last - k_first, at_once = STRETCH / k_count;
  bool are_together = v->output_step == k_count * v->k_step;  // rows that are contiguous are loaded together
  for (int64_t i = first; i < last && at_once == 0; i++) {
    dot_long_row(v, i, k_first, k_last, sums + (size_t)(i - first) * p->sum_bytes);
  }
  for (int64_t i = first; i < last && at_once > 0; i += at_once) {
    int64_t count = last - i < at_once ? last - i : at_once;
    int64_t loads = are_together ? 1 : count, loaded = are_together ? count * k_count : k_count;
    for (int64_t r = 0; r < loads; r++) {
      load_line(v, i + r, k_first, loaded, (char *)&lines + (size_t)(r * k_count) * p->sum_bytes);
    }
    p->kernels->dots(&lines, k_count, count, v->x + (size_t)k_first * p->sum_bytes, k_count,
                     sums + (size_t)(i - first) * p->sum_bytes);
  }
}

static void dot_bf16_rows(const vector_product *v, int64_t first, int64_t last, int64_t k_first, int64_t k_last,
                          char *sums) {
  v->p->kernels->dots_bf16((const uint16_t *)(const void *)matrix_at(v, first, k_first), v->output_step, last - first,
                           (const float *)(const void *)v->x + k_first, k_last - k_first, (float *)(void *)sums);
}

// Dot products over the elements k_first to k_last - 1, for outputs `first` to `last` - 1.
static void dot_rows(const vector_product *v, int64_t first, int64_t last, int64_t k_first, int64_t k_last,
                     char *sums) {
  const tsri_product *p = v->p;
  if (k_first == k_last) memset(sums, 0, (size_t)(last - first) * p->sum_bytes);
  else if (p->is_bf16 && p->kernels->dots_bf16 && v->k_step == 1 && k_last - k_first >= LEAST_BF16)
    dot_bf16_rows(v, first, last, k_first, k_last, sums);
  else if (p->is_narrow || v->k_step != 1) dot_loaded_rows(v, first, last, k_first, k_last, sums);
  else
    p->kernels->dots(matrix_at(v, first, k_first), v->output_step, last - first, v->x + (size_t)k_first * p->sum_bytes,
                     k_last - k_first, sums);
}

// Adds rows to `count` sums. Whether rows count as short depends on all outputs, so that each sum has the same bits on any number of threads.
static void add_loaded_rows(const vector_product *v, char *sums, int64_t count, int64_t k, const void *rows,
                            int64_t step, int64_t row_count) {
  const tsri_product_kernels *kernels = v->p->kernels;
  const char *x = v->x + (size_t)k * v->p->sum_bytes;
  bool is_short = kernels->add_short_rows && v->outputs < kernels->tile_columns / 2 && step > 0;
  (is_short ? kernels->add_short_rows : kernels->add_rows)(sums, count, x, rows, step, row_count);
}

// Computes a stretch of outputs, `first` to `first` + `count` - 1.
static void add_rows(const vector_product *v, int64_t first, int64_t count) {
  const tsri_product *p = v->p;
  char *sums = v->sums + (size_t)first * p->sum_bytes;
  memset(sums, 0, (size_t)count * p->sum_bytes);
  if (!p->is_narrow && v->output_step == 1) {
    add_loaded_rows(v, sums, count, 0, matrix_at(v, first, 0), v->k_step, p->k);
    return;
  }
  if (p->is_bf16 && p->kernels->add_rows_bf16 && v->output_step == 1 && count >= LEAST_BF16) {
    p->kernels->add_rows_bf16((float *)(void *)sums, count, (const float *)(const void *)v->x,
                              (const uint16_t *)(const void *)matrix_at(v, first, 0), v->k_step, p->k);
    return;
  }
  dot_lines rows[ROWS_AT_ONCE / 2];
  // Rows that are contiguous are loaded together: a multiple of the four rows that are added at a time.
  bool are_together = v->k_step == count * v->output_step && count <= STRETCH / 4;
  int64_t step = are_together ? count : STRETCH, room = (int64_t)(sizeof rows / p->sum_bytes);
  if (are_together && v->output_step != 1) room = STRETCH;
  int64_t at_once = room / step / 4 * 4;
  for (int64_t k = 0; k < p->k; k += at_once) {
    int64_t row_count = p->k - k < at_once ? p->k - k : at_once, loads = are_together ? 1 : row_count;
    for (int64_t i = 0; i < loads; i++) {
      load_elements(v, matrix_at(v, first, k + i), v->output_step, are_together ? row_count * count : count,
                    (char *)rows + (size_t)(i * step) * p->sum_bytes);
    }
    add_loaded_rows(v, sums, count, k, rows, step, row_count);
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

// The first output of a part. For sums of rows it is a multiple of a vector's lanes: outputs that do not fill a vector are rounded differently, so only the
// last outputs of all may be such, however the work is divided.
static int64_t part_start(const vector_product *v, int part) {
  enum { WHOLE_VECTORS = 64 };
  int64_t first = v->outputs * part / v->parts;
  return v->is_dots || part == v->parts ? first : first / WHOLE_VECTORS * WHOLE_VECTORS;
}

static void run_part(void *user, int part) {
  const vector_product *v = user;
  int64_t first = part_start(v, part), last = part_start(v, part + 1);
  if (v->is_dots) {
    dot_rows(v, first, last, 0, v->p->k, v->sums + (size_t)first * v->p->sum_bytes);
  } else {
    for (int64_t i = first; i < last; i += STRETCH) add_rows(v, i, last - i < STRETCH ? last - i : STRETCH);
  }
  finish_outputs(v, first, last - first);
}

// Computes all outputs of a block, then those of the next block: the part of the vector that they share stays in the cache.
static void run_block_part(void *user, int part) {
  const vector_product *v = user;
  int64_t all = v->outputs * v->blocks, last = all * (part + 1) / v->parts;
  for (int64_t i = all * part / v->parts, count = 0; i < last; i += count) {
    int64_t k = i / v->outputs * BLOCK_K, end = k + BLOCK_K < v->p->k ? k + BLOCK_K : v->p->k, first = i % v->outputs;
    count = v->outputs - first < last - i ? v->outputs - first : last - i;
    dot_rows(v, first, first + count, k, end, v->block_sums + (size_t)i * v->p->sum_bytes);
  }
}

static void run_blocks(vector_product *v) {
  const tsri_product *p = v->p;
  v->parts = tsri_cpu_parts(p->threads, (uint64_t)(v->outputs * v->blocks));
  tsri_parallel(p->threads, v->parts, run_block_part, v);
  memset(v->sums, 0, (size_t)v->outputs * p->sum_bytes);
  for (int64_t i = 0; i < v->outputs * v->blocks; i++) {
    dot_lines sum;
    memcpy(&sum, v->block_sums + (size_t)i * p->sum_bytes, p->sum_bytes);
    add_sum(p, &sum, v->sums + (size_t)(i % v->outputs) * p->sum_bytes);
  }
  finish_outputs(v, 0, v->outputs);
}

void tsri_product_run_vector(const tsri_product *p) {
  enum { LEAST_OUTPUTS = 256 };  // contiguous: whole cache lines, and enough of them for prefetching
  vector_product v = look_at(p);
  bool is_column = p->n == 1;
  const tsri_product_matrix *vector = is_column ? &p->b : &p->a;
  int64_t step = is_column ? vector->row : vector->column;
  bool lies_well = !p->is_narrow && (step == 1 || p->k == 1);
  v.x = lies_well ? vector->at : p->scratch;
  if (p->is_narrow) p->storage->load(p->scratch, vector->at, step, (uint32_t)p->k);
  else if (!lies_well) p->kernels->pack(p->scratch, 1, 1, p->k, vector->at, 0, step);
  char *sums = p->scratch + to_line((size_t)p->k * p->sum_bytes);
  v.sums = p->is_narrow ? sums : p->c;
  v.block_sums = sums + to_line((size_t)v.outputs * p->sum_bytes);
  if (v.blocks > 1) {
    run_blocks(&v);
    return;
  }
  int64_t pieces = v.is_dots ? v.outputs : (v.outputs + LEAST_OUTPUTS - 1) / LEAST_OUTPUTS;
  v.parts = tsri_cpu_parts(p->threads, (uint64_t)pieces);
  tsri_parallel(p->threads, v.parts, run_part, &v);
}
