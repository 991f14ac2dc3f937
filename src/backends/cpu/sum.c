// SPDX-License-Identifier: MIT
// The native operator "sum": each row of a matrix, on all threads.
//
// The interpreter takes a third as long to begin a row of a few thousand elements as it takes to read it. Long rows are summed in
// blocks, and the blocks' sums then; where a block ends depends on the row's length alone, so that results are the same bit for bit
// on any number of threads and at every SIMD level.
#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/isa.h"

enum { LEAST_BLOCK = 1 << 16, MOST_BLOCKS = 256 };  // elements; a block is long enough to be worth a thread's while

typedef struct row_sums {
  const char *from;
  char *to;
  int64_t rows, row_bytes, step_bytes;  // step: from row to row
  int64_t block_bytes, blocks;          // of a row; the last block may be shorter
  size_t element;                       // bytes
  tsri_lane_sum_row sum;
} row_sums;

typedef union block_sums {
  float f32[MOST_BLOCKS];
  double f64[MOST_BLOCKS];
} block_sums;

bool tsri_cpu_has_sum(const tsri_native_op *op) {
  const tsri_operand *in = &op->inputs[0], *out = &op->output;
  bool is_real = in->dtype == TSR_F32 || in->dtype == TSR_F64;
  return is_real && out->dtype == in->dtype && in->strides[1] == 1 && out->strides[0] == 1;
}

static row_sums sums_of(const cpu_device *device, const tsri_native_op *op) {
  const tsri_operand *in = &op->inputs[0];
  const tsri_lanes_isa *isa = tsri_lanes_isa_for(device->simd);
  int64_t element = (int64_t)tsr_dtype_bytes(in->dtype), columns = in->shape.dims[1];
  int64_t block = (columns + MOST_BLOCKS - 1) / MOST_BLOCKS;
  block = (block + LEAST_BLOCK - 1) / LEAST_BLOCK * LEAST_BLOCK;
  return (row_sums){.from = tsri_cpu_operand_host(in),
                    .to = tsri_cpu_operand_host(&op->output),
                    .rows = in->shape.dims[0],
                    .row_bytes = columns * element,
                    .step_bytes = in->strides[0] * element,
                    .block_bytes = block * element,
                    .blocks = columns > block ? (columns + block - 1) / block : 1,
                    .element = (size_t)element,
                    .sum = in->dtype == TSR_F64 ? isa->sum_row_f64 : isa->sum_row_f32};
}

// Sums the blocks from `first` to before `last` of a row, each into its place in `sums`.
static void sum_blocks(const row_sums *s, int64_t row, int64_t first, int64_t last, char *sums) {
  for (int64_t i = first; i < last; i++) {
    int64_t at = i * s->block_bytes, bytes = s->row_bytes - at;
    if (bytes > s->block_bytes) bytes = s->block_bytes;
    s->sum(s->from + row * s->step_bytes + at, (size_t)bytes / s->element, sums + (size_t)i * s->element);
  }
}

static void sum_rows(const row_sums *s, int64_t first, int64_t last) {
  block_sums sums;
  for (int64_t row = first; row < last; row++) {
    char *to = s->to + (size_t)row * s->element;
    sum_blocks(s, row, 0, s->blocks, s->blocks > 1 ? (char *)&sums : to);
    if (s->blocks > 1) s->sum(&sums, (size_t)s->blocks, to);
  }
}

// One row after the other, each on `parts` threads.
static void sum_few_rows(const row_sums *s, int parts) {
  block_sums sums;
  for (int64_t row = 0; row < s->rows; row++) {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(parts) schedule(static)
#endif
    for (int part = 0; part < parts; part++) {
      sum_blocks(s, row, s->blocks * part / parts, s->blocks * (part + 1) / parts, (char *)&sums);
    }
    s->sum(&sums, (size_t)s->blocks, s->to + (size_t)row * s->element);
  }
}

void tsri_cpu_sum(const cpu_device *device, const tsri_native_op *op) {
  enum { WORTH_A_THREAD = 1 << 18, MANY_ROWS = 16 };  // bytes; of each thread
  const row_sums s = sums_of(device, op);
  int64_t parts = s.rows * s.row_bytes / WORTH_A_THREAD, most = s.rows * s.blocks;
  if (parts > device->threads) parts = device->threads;
  if (parts > most) parts = most;
  if (parts <= 1) {  // without OpenMP, which takes longer to start one thread than a small sum takes
    sum_rows(&s, 0, s.rows);
    return;
  }
  if (s.blocks >= parts && s.rows < MANY_ROWS * parts) {
    sum_few_rows(&s, (int)parts);
    return;
  }
  if (parts > s.rows) parts = s.rows;
#if defined(_OPENMP)
#pragma omp parallel for num_threads((int)parts) schedule(static)
#endif
  for (int64_t part = 0; part < parts; part++) sum_rows(&s, s.rows * part / parts, s.rows * (part + 1) / parts);
}
