// SPDX-License-Identifier: MIT
// argmax and argmin along one axis, if elements are contiguous along that axis or along the last axis that is kept.
//
// Threads take blocks of results. If there are few results, the axis is divided into parts, and the parts' best elements are compared in order. The result does
// not depend on the division, because it is always the first of equal elements; so a single thread does not divide the axis.
#include "backends/cpu/lines/arg_lines.h"
#include "backends/cpu/lines/lines.h"
#include "core/error.h"
#include "platform/parallel.h"

enum { WORTH_A_THREAD = 1 << 15, LEAST_PART = 1 << 15, PIECES = 64, LEAST_COLUMNS = 256, LEAST_IN_ROWS = 1 << 12 };

typedef struct searching {
  const tsri_reduce_op *op;
  const tsri_arg_lines *lines;
  const char *from;
  int32_t *to;                // results; with several parts, those of all parts
  int64_t element;            // bytes of an element
  bool is_rows;               // elements of the axis are contiguous; otherwise those of the last kept axis are
  int64_t n, stride;          // size and stride of the axis
  int64_t kept, width, step;  // number of results; size and stride of the last kept axis
  int64_t block, blocks;      // results in a block, blocks of the last kept axis
  int64_t parts;              // parts of the axis
  int tasks;
} searching;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

// Address of the first element along the axis for result `index`.
static const char *line_of(const searching *w, int64_t index) {
  int64_t at = 0;
  for (int axis = w->op->kept_rank - 1; axis >= 0; axis--) {
    at += index % w->op->kept_dims[axis] * w->op->kept_strides[axis];
    index /= w->op->kept_dims[axis];
  }
  return w->from + at * w->element;
}

static int64_t part_start(const searching *w, int64_t part) { return w->n * part / w->parts; }

// Task numbers: blocks of results; all blocks of one part come before those of the next part.
static void search_task(void *user, int task) {
  const searching *w = user;
  int64_t rows = w->kept / w->width, all = w->parts * rows * w->blocks;
  for (int64_t i = all * task / w->tasks; i < all * (task + 1) / w->tasks; i++) {
    int64_t block = i % w->blocks, row = i / w->blocks % rows, part = i / w->blocks / rows;
    int64_t column = block * w->block, count = at_most(w->block, w->width - column);
    int64_t first = part_start(w, part), n = part_start(w, part + 1) - first;
    const char *x = line_of(w, row * w->width + column) + first * w->stride * w->element;
    int32_t *to = w->to + part * w->kept + row * w->width + column;
    if (w->is_rows) w->lines->rows(x, w->step, count, n, to);
    else w->lines->columns(x, w->stride, n, count, to);
  }
}

static void join_parts(const searching *w, int32_t *to) {
  for (int64_t i = 0; i < w->kept; i++) {
    const char *line = line_of(w, i);
    int64_t best = w->to[i];
    for (int64_t part = 1; part < w->parts; part++) {
      int64_t other = part_start(w, part) + w->to[part * w->kept + i];
      const char *x = line + other * w->stride * w->element, *y = line + best * w->stride * w->element;
      if (w->lines->beats(x, y)) best = other;
    }
    to[i] = (int32_t)best;
  }
}

// Divides the work into enough tasks for all threads: into blocks of results and, if these are too few, also into parts of the axis.
static void cut(searching *w, int threads) {
  int64_t rows = w->kept / w->width, least = w->is_rows ? LEAST_IN_ROWS / w->n : LEAST_COLUMNS;
  w->block = at_most(w->kept / PIECES, TSRI_ARG_BLOCK);
  if (w->block < least) w->block = at_most(least, w->width);
  if (w->block < 1) w->block = 1;
  w->blocks = (w->width + w->block - 1) / w->block;
  w->parts = at_most(at_most(w->kept * w->n / LEAST_PART, PIECES / (rows * w->blocks)), w->n);
  if (w->parts < 1 || threads == 1) w->parts = 1;
}

static int64_t elements(int rank, const int64_t *dims) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  return count;
}

bool tsri_cpu_has_arg(const tsri_reduce_op *op) {
  if (op->reduced_rank > 1) return false;
  bool is_rows = op->reduced_rank > 0 && op->reduced_strides[0] == 1;
  bool is_columns = op->kept_rank > 0 && op->kept_strides[op->kept_rank - 1] == 1;
  return is_rows || is_columns;
}

tsr_status tsri_cpu_arg(cpu_device *device, tsr_dtype dtype, const tsri_reduce_op *op) {
  int last = op->kept_rank - 1;
  int32_t *to = (int32_t *)(void *)tsri_cpu_place(op->to);
  searching w = {.op = op,
                 .lines = tsri_arg_lines_for(device->simd, op->kind, dtype),
                 .from = tsri_cpu_place(op->from),
                 .to = to,
                 .element = (int64_t)tsr_dtype_bytes(dtype),
                 .is_rows = op->reduced_rank > 0 && op->reduced_strides[0] == 1,
                 .n = op->reduced_rank > 0 ? op->reduced_dims[0] : 1,
                 .stride = op->reduced_rank > 0 ? op->reduced_strides[0] : 0,
                 .kept = elements(op->kept_rank, op->kept_dims),
                 .width = last >= 0 ? op->kept_dims[last] : 1,
                 .step = last >= 0 ? op->kept_strides[last] : 0};
  if (w.kept == 0) return TSR_OK;
  int threads = tsri_cpu_threads(device, (uint64_t)(w.kept * w.n / WORTH_A_THREAD));
  cut(&w, threads);
  if (w.parts > 1) {
    w.to = (int32_t *)(void *)tsri_cpu_scratch(device, (size_t)(w.parts * w.kept) * sizeof *w.to);
    if (!w.to)
      return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for %lld indices", (long long)(w.parts * w.kept));
  }
  w.tasks = tsri_cpu_parts(threads, (uint64_t)(w.parts * (w.kept / w.width) * w.blocks));
  tsri_parallel(threads, w.tasks, search_task, &w);
  if (w.parts > 1) join_parts(&w, to);
  return TSR_OK;
}
