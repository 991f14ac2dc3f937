// SPDX-License-Identifier: MIT
// Reductions on one thread, for one dtype and one kind: many rows, or many columns, at a time.
#ifndef TSRI_CPU_REDUCE_LINES_H
#define TSRI_CPU_REDUCE_LINES_H

#include "backends/cpu/cpu.h"

enum {
  TSRI_REDUCE_BLOCK = 1024,  // results that are accumulated at a time
  TSRI_REDUCE_FEW = 16,      // lines that are read at the same time
};

// The functions for one dtype and kind. Accumulators have the dtype in which sums are kept: f32 for f16 and bf16.
typedef struct tsri_reduce_lines {
  size_t accumulator;  // bytes of one
  void (*begin)(void *sums, int64_t count);
  // sums[r] = sums[r] joined with x[r * step] .. x[r * step + n - 1], for r < count.
  void (*rows)(const void *x, int64_t step, int64_t count, int64_t n, void *sums);
  // sums[j] = sums[j] joined with the `n` elements x[j], x[step + j], …, for j < count <= TSRI_REDUCE_BLOCK.
  void (*columns)(const void *x, int64_t step, int64_t n, int64_t count, void *sums);
  // sums[j] = sums[j] joined with other[j].
  void (*join)(void *sums, const void *other, int64_t count);
  void (*finish)(const void *sums, int64_t count, void *to);
  // The results of begin, columns and finish together, for at most TSRI_REDUCE_FEW lines, without accumulators in memory. NULL: there is no such function.
  void (*few_lines)(const void *x, int64_t step, int64_t n, int64_t count, void *to);
} tsri_reduce_lines;

// Returns the functions, or NULL if there are none for this dtype. `simd`: a result of tsri_cpu_simd_level.
const tsri_reduce_lines *tsri_reduce_lines_for(const char *simd, tsri_reduction kind, tsr_dtype dtype);

#endif
