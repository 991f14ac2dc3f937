// SPDX-License-Identifier: MIT
// Gradients of layer_norm and rms_norm. Rows are divided into chunks, whose size depends only on the number of rows. Each chunk sums the gradients of weight
// and bias; then the sums of all chunks are added in order. So results have the same bits on any number of threads.
#include <string.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/lines/norm_gradient_lines.h"
#include "core/error.h"
#include "platform/parallel.h"

typedef struct norm_gradient {
  tsri_norm_row row;
  tsri_norm_gradient_lines lines;
  const float *x, *g, *plus;  // `plus` may be NULL
  float *dx, *sums;           // sums: dweight and dbias of each chunk
  int64_t rows, chunk_rows, chunks;
  int parts;
} norm_gradient;

static void run_chunks(void *user, int part) {
  const norm_gradient *w = user;
  int64_t n = w->row.n;
  for (int64_t i = w->chunks * part / w->parts; i < w->chunks * (part + 1) / w->parts; i++) {
    int64_t first = i * w->chunk_rows, count = w->rows - first < w->chunk_rows ? w->rows - first : w->chunk_rows;
    float *sums = w->sums + i * 2 * n;
    memset(sums, 0, (size_t)(2 * n) * sizeof *sums);
    w->lines(&w->row, w->x + first * n, w->g + first * n, w->plus ? w->plus + first * n : NULL, w->dx + first * n, sums,
             sums + n, count);
  }
}

static void add_up(const norm_gradient *w, float *dweight, float *dbias) {
  int64_t n = w->row.n;
  memcpy(dweight, w->sums, (size_t)n * sizeof *dweight);
  memcpy(dbias, w->sums + n, (size_t)n * sizeof *dbias);
  for (int64_t i = 1; i < w->chunks; i++) {
    const float *sums = w->sums + i * 2 * n;
    for (int64_t j = 0; j < n; j++) dweight[j] += sums[j];
    for (int64_t j = 0; j < n; j++) dbias[j] += sums[n + j];
  }
}

tsr_status tsri_cpu_norm_gradient(cpu_device *device, const tsri_norm_op *op) {
  enum { WORTH_A_THREAD = 1 << 14, MOST_CHUNKS = 64, LEAST_ROWS = 16 };
  int64_t each = (op->rows + MOST_CHUNKS - 1) / MOST_CHUNKS;
  norm_gradient w = {.row = {.n = op->n, .eps = op->eps, .is_centred = op->is_centred},
                     .lines = tsri_norm_gradient_lines_for(device->simd),
                     .x = (const float *)(const void *)tsri_cpu_place(op->from),
                     .g = (const float *)(const void *)tsri_cpu_place(op->g),
                     .dx = (float *)(void *)tsri_cpu_place(op->to),
                     .rows = op->rows,
                     .chunk_rows = each < LEAST_ROWS ? LEAST_ROWS : each};
  if (op->has_bias) w.plus = (const float *)(const void *)tsri_cpu_place(op->bias);
  if (op->has_weight) w.row.weight = tsri_cpu_place(op->weight);
  w.chunks = (op->rows + w.chunk_rows - 1) / w.chunk_rows;
  w.sums = (float *)(void *)tsri_cpu_scratch(device, (size_t)(w.chunks * 2 * op->n) * sizeof *w.sums);
  if (!w.sums) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "norm: no host memory for the gradient of its weight");
  int threads = tsri_cpu_threads(device, (uint64_t)(op->rows * op->n / WORTH_A_THREAD));
  w.parts = tsri_cpu_parts(threads, (uint64_t)w.chunks);
  tsri_parallel(threads, w.parts, run_chunks, &w);
  add_up(&w, (float *)(void *)tsri_cpu_place(op->dweight), (float *)(void *)tsri_cpu_place(op->dbias));
  return TSR_OK;
}
