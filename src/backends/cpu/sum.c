// SPDX-License-Identifier: MIT
// Sums of rows, on all threads.
//
// This is faster than a kernel: for a row of a few thousand elements, starting the interpreter takes a third of the time of reading the row. Long rows are summed
// in blocks, and then the sums of the blocks are added. The size of a block depends on the row's length alone, so results have the same bits on any number of
// threads and at every SIMD level. Elements that are not contiguous are gathered into contiguous memory, a block at a time.
#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/isa.h"
#include "core/error.h"
#include "core/lines.h"
#include "platform/parallel.h"

enum { LEAST_BLOCK = 1 << 16, MOST_BLOCKS = 256 };  // in elements; a block is long enough to be worth a thread

// Bytes of rows that are gathered together. The browser module gathers each row separately, as it must stay small.
#if defined(__wasm__)
enum { GATHERED_BYTES = 0 };
#else
enum { GATHERED_BYTES = 1 << 13 };
#endif

typedef struct row_sums {
  const char *from;
  char *to;
  int64_t rows, row_bytes, step_bytes;  // step: from one row to the next
  int64_t stride_bytes;                 // from one element to the next
  int64_t block_bytes, blocks;          // of a row; the last block may be shorter
  char *gathered;                       // for each part: a block, or `together` rows, gathered; NULL: not needed
  int64_t together;                     // rows that are gathered at once, 1 or more
  int threads, parts;                   // parts: of the rows, or of one row's blocks
  size_t element;                       // bytes
  tsri_lane_sum_row sum;
  tsri_lane_sum_rows sum_many;
  tsri_lane_sum_strided sum_strided;
} row_sums;

typedef union block_sums {
  float f32[MOST_BLOCKS];
  double f64[MOST_BLOCKS];
} block_sums;

static row_sums sums_of(cpu_device *device, tsr_dtype dtype, const tsri_sum_op *op) {
  const tsri_lanes_isa *isa = tsri_cpu_engine(device)->isa;
  int64_t element = (int64_t)tsr_dtype_bytes(dtype);
  int64_t block = (op->columns + MOST_BLOCKS - 1) / MOST_BLOCKS;
  block = (block + LEAST_BLOCK - 1) / LEAST_BLOCK * LEAST_BLOCK;
  return (row_sums){.from = tsri_cpu_place(op->from),
                    .to = tsri_cpu_place(op->to),
                    .rows = op->rows,
                    .row_bytes = op->columns * element,
                    .step_bytes = op->step * element,
                    .stride_bytes = op->stride * element,
                    .block_bytes = block * element,
                    .blocks = op->columns > block ? (op->columns + block - 1) / block : 1,
                    .element = (size_t)element,
                    .sum = dtype == TSR_F64 ? isa->sum_row_f64 : isa->sum_row_f32,
                    .sum_many = dtype == TSR_F64 ? isa->sum_rows_f64 : isa->sum_rows_f32,
                    .sum_strided = dtype == TSR_F64 ? isa->sum_strided_f64 : isa->sum_strided_f32};
}

// Bytes of gathered elements for one part.
static size_t gathered_bytes(const row_sums *s) {
  return (size_t)(s->row_bytes < s->block_bytes ? s->row_bytes * s->together : s->block_bytes);
}

// Sums the blocks `first` to `last` - 1 of a row, each into its place in `sums`.
static void sum_blocks(const row_sums *s, int part, int64_t row, int64_t first, int64_t last, char *sums) {
  for (int64_t i = first; i < last; i++) {
    int64_t at = i * s->block_bytes, bytes = s->row_bytes - at;
    if (bytes > s->block_bytes) bytes = s->block_bytes;
    size_t count = (size_t)bytes / s->element;
    const char *block = s->from + row * s->step_bytes + at / (int64_t)s->element * s->stride_bytes;
    if (GATHERED_BYTES > 0 && s->stride_bytes != (int64_t)s->element) {
      s->sum_strided(block, s->stride_bytes, count, sums + (size_t)i * s->element);
      continue;
    }
    if (s->gathered) {
      char *gathered = s->gathered + (size_t)part * gathered_bytes(s);
      tsri_gather_line(gathered, s->stride_bytes, block, (int64_t)count, s->element);
      block = gathered;
    }
    s->sum(block, count, sums + (size_t)i * s->element);
  }
}

// Contiguous rows are treated as one line, which is gathered in stretches that stay in the first-level cache: a call for each short row would take longer.
static void sum_gathered_rows(const row_sums *s, int part, int64_t first, int64_t last) {
  char *gathered = s->gathered + (size_t)part * gathered_bytes(s);
  int64_t columns = s->row_bytes / (int64_t)s->element;
  for (int64_t row = first; row < last; row += s->together) {
    int64_t rows = last - row < s->together ? last - row : s->together;
    tsri_gather_line(gathered, s->stride_bytes, s->from + row * s->step_bytes, rows * columns, s->element);
    s->sum_many(gathered, (size_t)s->row_bytes, (size_t)rows, (size_t)columns, s->to + (size_t)row * s->element);
  }
}

static void sum_rows(const row_sums *s, int part, int64_t first, int64_t last) {
  block_sums sums;
  if (GATHERED_BYTES > 0 && s->together > 1) {
    sum_gathered_rows(s, part, first, last);
    return;
  }
  bool is_contiguous = s->stride_bytes == (int64_t)s->element;
  if (GATHERED_BYTES > 0 && s->blocks == 1 && is_contiguous) {
    s->sum_many(s->from + first * s->step_bytes, (size_t)s->step_bytes, (size_t)(last - first),
                (size_t)s->row_bytes / s->element, s->to + (size_t)first * s->element);
    return;
  }
  for (int64_t row = first; row < last; row++) {
    char *to = s->to + (size_t)row * s->element;
    sum_blocks(s, part, row, 0, s->blocks, s->blocks > 1 ? (char *)&sums : to);
    if (s->blocks > 1) s->sum(&sums, (size_t)s->blocks, to);
  }
}

static void sum_rows_of_part(void *user, int part) {
  const row_sums *s = user;
  sum_rows(s, part, s->rows * part / s->parts, s->rows * (part + 1) / s->parts);
}

typedef struct one_row {
  const row_sums *all;
  int64_t row;
  block_sums sums;
} one_row;

static void sum_blocks_of_part(void *user, int part) {
  one_row *r = user;
  const row_sums *s = r->all;
  sum_blocks(s, part, r->row, s->blocks * part / s->parts, s->blocks * (part + 1) / s->parts, (char *)&r->sums);
}

// Sums one row after the other, each on all threads.
static void sum_few_rows(const row_sums *s) {
  one_row r = {.all = s};
  for (; r.row < s->rows; r.row++) {
    tsri_parallel(s->threads, s->parts, sum_blocks_of_part, &r);
    s->sum(&r.sums, (size_t)s->blocks, s->to + (size_t)r.row * s->element);
  }
}

static int64_t rows_together(const row_sums *s) {
  bool is_one_line = s->step_bytes == s->row_bytes / (int64_t)s->element * s->stride_bytes;
  bool is_gathered = s->stride_bytes != (int64_t)s->element && s->row_bytes > (int64_t)s->element;
  return is_gathered && is_one_line && s->row_bytes < GATHERED_BYTES ? GATHERED_BYTES / s->row_bytes : 1;
}

tsr_status tsri_cpu_sum(cpu_device *device, tsr_dtype dtype, const tsri_sum_op *op) {
  enum { WORTH_A_THREAD = 1 << 18, MANY_ROWS = 16 };  // bytes; of each thread
  row_sums s = sums_of(device, dtype, op);
  s.threads = tsri_cpu_threads(device, (uint64_t)(s.rows * s.row_bytes) / WORTH_A_THREAD);
  bool are_rows_cut = s.threads > 1 && s.blocks >= s.threads && s.rows < MANY_ROWS * s.threads;
  s.parts = tsri_cpu_parts(s.threads, (uint64_t)(are_rows_cut ? s.blocks : s.rows));
  s.together = rows_together(&s);
  if (op->stride != 1 && op->columns > 1 && (GATHERED_BYTES == 0 || s.together > 1)) {
    s.gathered = tsri_cpu_scratch(device, gathered_bytes(&s) * (size_t)s.parts);
    if (!s.gathered) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "sum: no host memory to gather %d blocks", s.parts);
  }
  if (are_rows_cut) sum_few_rows(&s);
  else tsri_parallel(s.threads, s.parts, sum_rows_of_part, &s);
  return TSR_OK;
}
