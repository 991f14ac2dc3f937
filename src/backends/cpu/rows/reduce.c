// SPDX-License-Identifier: MIT
// Reductions over any axes. A line is a sequence of elements along the last reduced axis or along the last kept axis, whichever has the smaller stride. Lines
// whose elements are not contiguous are gathered into the first-level cache, several at a time.
//
// Results are accumulated in blocks of the last kept axis. If there are few results for many elements, the first reduced axis is divided into parts, whose
// results are combined in order. Blocks and parts depend only on the shape, so results have the same bits on any number of threads.
#include "backends/cpu/rows/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cpu/rows/reduce_lines.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/lines.h"
#include "platform/parallel.h"

enum {
  WORTH_A_THREAD = 1 << 15,
  LEAST_PART = 1 << 15,
  PIECES = 64,
  LEAST_COLUMNS = 256,
  MOST_COLUMNS = 1 << 14,
  LEAST_BLOCK = 1 << 12
};

enum {
  GATHERED_BYTES = 1 << 13,
  LONG_LINE = 32,          // least elements of a line for a call of tsri_gather_line
  GATHERED_STRETCH = 256,  // lines of columns that are summed before their sum is added to the total
};

typedef struct reducing {
  const tsri_reduce_op *op;
  const tsri_reduce_lines *lines;
  const char *from;
  char *to;
  size_t element, result;  // bytes
  bool is_wide;            // results have the accumulators' dtype
  bool is_rows;            // lines are along the last reduced axis; else along the last kept axis
  bool is_few;             // few contiguous lines; with one part, these need no accumulators in memory
  int64_t line_step;       // stride of the elements of a line
  int64_t kept, width;     // number of results; size of the last kept axis
  int64_t block, blocks;   // results in a block, blocks of the last kept axis
  int64_t parts;           // parts of the first reduced axis
  char *sums;              // accumulators of all parts; NULL: there is one part
  int tasks;
} reducing;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static const int64_t no_axis = INT64_MAX;  // stride of an axis that does not exist

static int64_t last_stride(int rank, const int64_t *strides) { return rank ? strides[rank - 1] : no_axis; }

// Whether lines are along the last reduced axis, and the step of their elements.
static bool lines_are_rows(const tsri_reduce_op *op, int64_t *out_step) {
  int64_t reduced = last_stride(op->reduced_rank, op->reduced_strides),
          kept = last_stride(op->kept_rank, op->kept_strides);
  bool is_reduced_closer = reduced != 0 && (kept == 0 || llabs(reduced) <= llabs(kept));
  bool are_rows = reduced == 1 || (kept != 1 && is_reduced_closer);
  *out_step = are_rows ? reduced : kept;
  return are_rows;
}

// Copies `count` lines of `n` elements, which are `step` apart, to `to` without gaps.
static void gather_lines(const reducing *w, const char *x, int64_t step, int64_t count, int64_t n, char *to) {
  int64_t element = (int64_t)w->element, line_bytes = w->line_step * element;
  if (step == n * w->line_step) {
    tsri_gather_line(to, line_bytes, x, count * n, w->element);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    tsri_gather_line(to + i * n * element, line_bytes, x + i * step * element, n, w->element);
  }
}

// As lines->rows, for lines with any stride.
static void reduce_rows(const reducing *w, const char *x, int64_t step, int64_t count, int64_t n, char *sums) {
  if (w->line_step == 1) {
    w->lines->rows(x, step, count, n, sums);
    return;
  }
  _Alignas(64) char gathered[GATHERED_BYTES];
  int64_t element = (int64_t)w->element, room = GATHERED_BYTES / element, together = n < room ? room / n : 1;
  for (int64_t r = 0; r < count; r += together) {
    int64_t rows = at_most(count - r, together);
    for (int64_t i = 0; i < n; i += room) {
      int64_t now = at_most(n - i, room);
      gather_lines(w, x + (r * step + i * w->line_step) * element, step, rows, now, gathered);
      w->lines->rows(gathered, now, rows, now, sums + (size_t)r * w->lines->accumulator);
    }
  }
}

// Gathers `n` lines of `count` elements, which are `step` apart, and joins them to the sums of columns.
static void reduce_gathered_columns(const reducing *w, const char *x, int64_t step, int64_t n, int64_t count,
                                    char *sums) {
  _Alignas(64) char gathered[GATHERED_BYTES];
  double part[TSRI_REDUCE_BLOCK];
  int64_t element = (int64_t)w->element, together = at_most(GATHERED_BYTES / (count * element), GATHERED_STRETCH);
  for (int64_t i = 0; i < n; i += GATHERED_STRETCH) {
    int64_t end = at_most(n, i + GATHERED_STRETCH);
    w->lines->begin(part, count);
    for (int64_t k = i; k < end; k += together) {
      int64_t now = at_most(end - k, together);
      gather_lines(w, x + k * step * element, step, now, count, gathered);
      w->lines->columns(gathered, count, now, count, part);
    }
    w->lines->join(sums, part, count);
  }
}

// As lines->columns, for lines with any stride. A few lines are read at the same time, some columns at a time, so that their cache misses overlap.
static void reduce_columns(const reducing *w, const char *x, int64_t step, int64_t n, int64_t count, char *sums) {
  enum { FEW_LINES = 16, SOME_COLUMNS = 128 };
  if (w->line_step == 1) {
    w->lines->columns(x, step, n, count, sums);
    return;
  }
  int64_t columns = n <= FEW_LINES ? SOME_COLUMNS : count;
  for (int64_t j = 0; j < count; j += columns) {
    reduce_gathered_columns(w, x + j * w->line_step * (int64_t)w->element, step, n, at_most(count - j, columns),
                            sums + (size_t)j * w->lines->accumulator);
  }
}

// Accumulates one block of results over the indices `first` to `last` - 1 of the first reduced axis. `x`: address of its first element.
static void reduce_block(const reducing *w, const char *x, int64_t count, int64_t first, int64_t last, void *sums) {
  const tsri_reduce_op *op = w->op;
  int inner = op->reduced_rank - 1;
  int64_t dims[TSR_MAX_RANK], index[TSR_MAX_RANK] = {0}, at = 0,
                              step = op->kept_rank ? op->kept_strides[op->kept_rank - 1] : 0;
  for (int i = 0; i <= inner; i++) dims[i] = op->reduced_dims[i];
  if (inner >= 0) {
    dims[0] = last - first;
    at = first * op->reduced_strides[0];
  }
  for (int i = 0; i <= inner; i++) {
    if (dims[i] == 0) return;
  }
  int64_t n = inner >= 0 ? dims[inner] : 1, stride = inner >= 0 ? op->reduced_strides[inner] : 0;
  for (;;) {
    const char *line = x + at * (int64_t)w->element;
    if (w->is_rows) reduce_rows(w, line, step, count, n, sums);
    else reduce_columns(w, line, stride, n, count, sums);
    int axis = inner - 1;
    for (; axis >= 0; axis--) {
      at += op->reduced_strides[axis];
      if (++index[axis] < dims[axis]) break;
      at -= dims[axis] * op->reduced_strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// Address of the first element for result `row` * width + `column`.
static const char *block_start(const reducing *w, int64_t row, int64_t column) {
  const tsri_reduce_op *op = w->op;
  int64_t at = op->kept_rank ? column * op->kept_strides[op->kept_rank - 1] : 0;
  for (int axis = op->kept_rank - 2; axis >= 0; axis--) {
    at += row % op->kept_dims[axis] * op->kept_strides[axis];
    row /= op->kept_dims[axis];
  }
  return w->from + at * (int64_t)w->element;
}

static void finish(const reducing *w, const void *sums, int64_t count, char *to) {
  if (w->is_wide) memcpy(to, sums, (size_t)count * w->result);
  else w->lines->finish(sums, count, to);
}

// Task numbers: blocks of results; all blocks of one part come before those of the next part.
static void reduce_task(void *user, int task) {
  const reducing *w = user;
  double sums[TSRI_REDUCE_BLOCK];
  int64_t rows = w->kept / w->width, all = w->parts * rows * w->blocks;
  int64_t size = w->op->reduced_rank ? w->op->reduced_dims[0] : 1;
  for (int64_t i = all * task / w->tasks; i < all * (task + 1) / w->tasks; i++) {
    int64_t block = i % w->blocks, row = i / w->blocks % rows, part = i / w->blocks / rows;
    int64_t column = block * w->block, count = at_most(w->block, w->width - column);
    int64_t result = row * w->width + column;
    const char *x = block_start(w, row, column);
    if (w->is_few && !w->sums) {
      w->lines->few_lines(x, w->op->reduced_strides[0], size, count, w->to + (size_t)result * w->result);
      continue;
    }
    void *to = w->sums ? w->sums + (size_t)(part * w->kept + result) * w->lines->accumulator : (char *)sums;
    w->lines->begin(to, count);
    reduce_block(w, x, count, size * part / w->parts, size * (part + 1) / w->parts, to);
    if (!w->sums) finish(w, sums, count, w->to + (size_t)result * w->result);
  }
}

// Divides the work into enough tasks for many threads: into blocks of results and, if these are too few, also into parts of the reduced axis.
static void cut(reducing *w, int64_t count) {
  int64_t rows = w->kept / w->width, least = LEAST_COLUMNS, most = w->is_few ? MOST_COLUMNS : TSRI_REDUCE_BLOCK;
  if (w->is_rows) least = at_most(LEAST_BLOCK / (w->op->reduced_dims[w->op->reduced_rank - 1] + 1), TSRI_REDUCE_BLOCK);
  w->block = at_most(w->kept / PIECES, most);
  if (w->is_few) w->block -= w->block % 64;  // whole vectors
  if (least < 1) least = 1;
  if (w->block < least) w->block = least;
  w->blocks = (w->width + w->block - 1) / w->block;
  // If rows are divided into parts, each part is a line, which must not be short.
  int64_t least_line = w->is_rows && w->op->reduced_rank == 1 ? LEAST_COLUMNS : 1;
  w->parts = w->op->reduced_rank ? at_most(at_most(count / LEAST_PART, PIECES / (rows * w->blocks)),
                                           w->op->reduced_dims[0] / least_line)
                                 : 1;
  if (w->parts < 1) w->parts = 1;
}

// Strided lines must be long, or follow each other without gaps. Otherwise it is faster to make the whole tensor contiguous first.
bool tsri_cpu_has_reduce(const tsri_native_op *op) {
  const tsri_reduce_op *r = &op->is.reduce;
  int64_t step;
  bool are_rows = lines_are_rows(r, &step);
  if (step == 1) return true;
  if (step == 0 || step == no_axis) return false;
  int64_t next =
      are_rows ? last_stride(r->kept_rank, r->kept_strides) : last_stride(r->reduced_rank, r->reduced_strides);
  int64_t n = are_rows ? r->reduced_dims[r->reduced_rank - 1] : r->kept_dims[r->kept_rank - 1];
  return n >= LONG_LINE || (n > 0 && next == n * step);
}

static int64_t elements(int rank, const int64_t *dims) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  return count;
}

static tsr_status no_memory(int64_t sums) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for %lld sums", (long long)sums);
}

static tsr_status reduce(cpu_device *device, tsr_dtype dtype, tsr_dtype result, const tsri_reduce_op *op,
                         const char *from, char *to) {
  reducing w = {.op = op,
                .lines = tsri_reduce_lines_for(device->simd, op->kind, dtype),
                .from = from,
                .to = to,
                .element = tsr_dtype_bytes(dtype),
                .result = tsr_dtype_bytes(result),
                .is_wide = result != dtype,
                .kept = elements(op->kept_rank, op->kept_dims),
                .width = op->kept_rank ? op->kept_dims[op->kept_rank - 1] : 1};
  w.is_rows = lines_are_rows(op, &w.line_step);
  w.is_few = w.lines->few_lines && !w.is_rows && w.line_step == 1 && !w.is_wide && op->reduced_rank == 1 &&
             op->reduced_dims[0] <= TSRI_REDUCE_FEW;
  int64_t count = elements(op->reduced_rank, op->reduced_dims) * w.kept;
  if (w.kept == 0) return TSR_OK;
  cut(&w, count);
  if (w.parts > 1) {
    w.sums = tsri_cpu_scratch(device, (size_t)(w.parts * w.kept) * w.lines->accumulator);
    if (!w.sums) return no_memory(w.parts * w.kept);
  }
  int threads = tsri_cpu_threads(device, (uint64_t)count / WORTH_A_THREAD);
  w.tasks = tsri_cpu_parts(threads, (uint64_t)(w.parts * (w.kept / w.width) * w.blocks));
  tsri_parallel(threads, w.tasks, reduce_task, &w);
  for (int64_t i = 1; i < w.parts; i++) {
    w.lines->join(w.sums, w.sums + (size_t)(i * w.kept) * w.lines->accumulator, w.kept);
  }
  if (w.sums) finish(&w, w.sums, w.kept, w.to);
  return TSR_OK;
}

// Whether to reduce in two steps, because each result has many short rows: first over all reduced axes but the last, along columns, then over the last.
static bool takes_two_steps(const tsri_reduce_op *op) {
  enum { SHORT_ROW = 2048, MOST_SUMS = 1 << 16 };
  int last = op->reduced_rank - 1;
  int64_t step;
  return last > 0 && op->kept_rank < TSR_MAX_RANK && lines_are_rows(op, &step) && op->reduced_dims[last] < SHORT_ROW &&
         elements(op->kept_rank, op->kept_dims) * op->reduced_dims[last] <= MOST_SUMS;
}

static tsr_status reduce_in_two_steps(cpu_device *device, tsr_dtype dtype, tsr_dtype result, const tsri_reduce_op *op) {
  int last = op->reduced_rank - 1;
  int64_t n = op->reduced_dims[last], kept = elements(op->kept_rank, op->kept_dims);
  tsr_dtype wide = dtype == TSR_F16 || dtype == TSR_BF16 ? TSR_F32 : dtype;
  tsri_reduce_op columns = *op, rows = {.kind = op->kind, .kept_rank = 1, .reduced_rank = 1};
  columns.reduced_rank--;
  columns.kept_dims[columns.kept_rank] = n;
  columns.kept_strides[columns.kept_rank++] = op->reduced_strides[last];
  rows.kept_dims[0] = kept;
  rows.kept_strides[0] = rows.reduced_dims[0] = n;
  rows.reduced_strides[0] = 1;
  char *sums = tsri_aligned_alloc((size_t)(kept * n) * tsr_dtype_bytes(wide) + 1);
  char *rounded =
      wide == result ? tsri_cpu_place(op->to) : tsri_aligned_alloc((size_t)kept * tsr_dtype_bytes(wide) + 1);
  tsr_status status =
      sums && rounded ? reduce(device, dtype, wide, &columns, tsri_cpu_place(op->from), sums) : no_memory(kept * n);
  if (status == TSR_OK) status = reduce(device, wide, wide, &rows, sums, rounded);
  if (status == TSR_OK && wide != result) {
    tsri_reduce_lines_for(device->simd, op->kind, dtype)->finish(rounded, kept, tsri_cpu_place(op->to));
  }
  tsri_aligned_free(sums);
  if (wide != result) tsri_aligned_free(rounded);
  return status;
}

tsr_status tsri_cpu_reduce(cpu_device *device, tsr_dtype dtype, tsr_dtype result, const tsri_reduce_op *op) {
  if (takes_two_steps(op)) return reduce_in_two_steps(device, dtype, result, op);
  return reduce(device, dtype, result, op, tsri_cpu_place(op->from), tsri_cpu_place(op->to));
}
