// SPDX-License-Identifier: MIT
// layer_norm and rms_norm of rows. Every row is computed by one thread, so that results have the same bits on any number of threads.
#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/lines/lines.h"
#include "backends/cpu/lines/norm_lines.h"
#include "core/error.h"
#include "platform/parallel.h"

typedef struct norming {
  tsri_norm_row row;
  tsri_norm_lines lines;
  const char *from;
  char *to;
  int64_t rows;
  size_t row_bytes;
  int parts;
} norming;

static void run_rows(void *user, int part) {
  const norming *w = user;
  int64_t first = w->rows * part / w->parts, last = w->rows * (part + 1) / w->parts;
  size_t at = (size_t)first * w->row_bytes;
  w->lines(&w->row, w->from + at, w->to + at, last - first);
}

// The weight or the bias in the dtype of the computation: f16 and bf16 are converted into `wide`.
static const void *widen(cpu_device *device, tsr_dtype dtype, tsri_place place, int64_t n, float *wide) {
  const char *at = tsri_cpu_place(place);
  if (dtype == TSR_F32 || dtype == TSR_F64) return at;
  tsri_cpu_engine(device)->isa->storage[dtype].load(wide, at, 1, (uint32_t)n);
  return wide;
}

tsr_status tsri_cpu_norm(cpu_device *device, tsr_dtype dtype, const tsri_norm_op *op) {
  enum { WORTH_A_THREAD = 1 << 14 };  // elements
  float *wide = (float *)(void *)tsri_cpu_scratch(device, 2 * (size_t)op->n * sizeof(float));
  if (!wide) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "norm: no host memory for its weight");
  norming w = {.row = {.n = op->n, .eps = op->eps, .is_centred = op->is_centred},
               .lines = tsri_norm_lines_for(device->simd, dtype),
               .from = tsri_cpu_place(op->from),
               .to = tsri_cpu_place(op->to),
               .rows = op->rows,
               .row_bytes = (size_t)op->n * tsr_dtype_bytes(dtype)};
  if (op->has_weight) w.row.weight = widen(device, dtype, op->weight, op->n, wide);
  if (op->has_bias) w.row.bias = widen(device, dtype, op->bias, op->n, wide + op->n);
  int threads = tsri_cpu_threads(device, (uint64_t)(op->rows * op->n / WORTH_A_THREAD));
  w.parts = tsri_cpu_small_parts(threads, (uint64_t)op->rows);
  tsri_parallel(threads, w.parts, run_rows, &w);
  return TSR_OK;
}
