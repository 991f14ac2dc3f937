// SPDX-License-Identifier: MIT
// softmax and log_softmax along any axis. Every line is computed by one thread, so results have the same bits on any number of threads.
#include "backends/cpu/lines/lines.h"
#include "backends/cpu/lines/softmax_lines.h"
#include "platform/parallel.h"

typedef struct softmaxing {
  const tsri_softmax_op *op;
  const tsri_softmax_lines *lines;
  const tsri_lane_math *math;
  const char *from;
  char *to;
  size_t element;  // bytes
  int64_t blocks;  // blocks of columns
  int parts;
} softmaxing;

static void run_rows(void *user, int part) {
  const softmaxing *w = user;
  const tsri_softmax_op *op = w->op;
  int64_t first = op->outer * part / w->parts, last = op->outer * (part + 1) / w->parts;
  size_t at = (size_t)(first * op->n) * w->element;
  w->lines->rows(w->from + at, w->to + at, last - first, op->n, op->is_log, w->math);
}

static void run_columns(void *user, int part) {
  const softmaxing *w = user;
  const tsri_softmax_op *op = w->op;
  int64_t all = op->outer * w->blocks;
  for (int64_t i = all * part / w->parts; i < all * (part + 1) / w->parts; i++) {
    int64_t outer = i / w->blocks, block = i % w->blocks;
    int64_t first = op->inner * block / w->blocks, last = op->inner * (block + 1) / w->blocks;
    size_t at = (size_t)(outer * op->n * op->inner + first) * w->element;
    w->lines->columns(w->from + at, w->to + at, op->inner, last - first, op->n, op->is_log, w->math);
  }
}

void tsri_cpu_softmax(cpu_device *device, tsr_dtype dtype, const tsri_softmax_op *op) {
  enum { WORTH_A_THREAD = 1 << 13 };  // elements
  softmaxing w = {.op = op,
                  .lines = tsri_softmax_lines_for(device->simd, dtype),
                  .math = tsri_cpu_engine(device)->math,
                  .from = tsri_cpu_place(op->from),
                  .to = tsri_cpu_place(op->to),
                  .element = tsr_dtype_bytes(dtype),
                  .blocks = (op->inner + TSRI_SOFTMAX_COLUMNS - 1) / TSRI_SOFTMAX_COLUMNS};
  bool are_rows = op->inner == 1;
  int threads = tsri_cpu_threads(device, (uint64_t)(op->outer * op->n * op->inner / WORTH_A_THREAD));
  w.parts = tsri_cpu_small_parts(threads, (uint64_t)(are_rows ? op->outer : op->outer * w.blocks));
  tsri_parallel(threads, w.parts, are_rows ? run_rows : run_columns, &w);
}
