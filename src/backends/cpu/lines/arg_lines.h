// SPDX-License-Identifier: MIT
// The index of the first largest or smallest element of rows and columns, on one thread and for one dtype.
#ifndef TSRI_CPU_ARG_LINES_H
#define TSRI_CPU_ARG_LINES_H

#include "backends/cpu/cpu.h"

enum { TSRI_ARG_BLOCK = 1024 };  // columns that are compared at once

// The first NaN counts as the largest and as the smallest; -0 equals 0. Steps are in elements, `n` is not 0.
typedef struct tsri_arg_lines {
  // to[r] = the index of the best among x[r * step] to x[r * step + n - 1], for r below `count`.
  void (*rows)(const void *x, int64_t step, int64_t count, int64_t n, int32_t *to);
  // to[j] = the index of the best among x[j], x[step + j], … `n` of them, for j below `count`, which is at most TSRI_ARG_BLOCK.
  void (*columns)(const void *x, int64_t step, int64_t n, int64_t count, int32_t *to);
  // Whether element x is better than element y, of a lower index.
  bool (*beats)(const void *x, const void *y);
} tsri_arg_lines;

// NULL: there are none for this dtype. `simd` as tsri_cpu_simd_level has it.
const tsri_arg_lines *tsri_arg_lines_for(const char *simd, tsri_reduction kind, tsr_dtype dtype);

#endif
