// SPDX-License-Identifier: MIT
// Reductions on one thread, for one dtype and one kind: many rows, or many columns, at a time.
#ifndef TSRI_CPU_REDUCE_LINES_H
#define TSRI_CPU_REDUCE_LINES_H

#include "backends/cpu/cpu.h"

enum {
  TSRI_REDUCE_BLOCK = 1024,  // results that are accumulated at once
  TSRI_REDUCE_FEW = 16,      // lines that are read at the same time
};

// An accumulator is of the dtype that sums are kept in: f32 for f16 and bf16.
typedef struct tsri_reduce_lines {
  size_t accumulator;  // bytes of one
  void (*begin)(void *sums, int64_t count);
  // sums[r] = sums[r] and all of x[r * step] to x[r * step + n - 1], for r below `count`.
  void (*rows)(const void *x, int64_t step, int64_t count, int64_t n, void *sums);
  // sums[j] = sums[j] and all of x[j], x[step + j], … `n` of them, for j below `count`, which is at most TSRI_REDUCE_BLOCK.
  void (*columns)(const void *x, int64_t step, int64_t n, int64_t count, void *sums);
  // sums[j] = sums[j] and other[j].
  void (*join)(void *sums, const void *other, int64_t count);
  void (*finish)(const void *sums, int64_t count, void *to);
  // What begin, columns and finish give for at most TSRI_REDUCE_FEW lines, with no accumulators in memory. NULL: there is no such function.
  void (*few_lines)(const void *x, int64_t step, int64_t n, int64_t count, void *to);
} tsri_reduce_lines;

// NULL: there are none for this dtype. `simd` as tsri_cpu_simd_level has it.
const tsri_reduce_lines *tsri_reduce_lines_for(const char *simd, tsri_reduction kind, tsr_dtype dtype);

#endif
