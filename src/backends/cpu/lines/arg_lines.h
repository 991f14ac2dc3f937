// SPDX-License-Identifier: MIT
// The index of the first largest or smallest element of rows and columns, on one thread and for one dtype.
#ifndef TSRI_CPU_ARG_LINES_H
#define TSRI_CPU_ARG_LINES_H

#include "backends/cpu/cpu.h"

enum { TSRI_ARG_BLOCK = 1024 };  // columns that are processed at a time

// The functions for one dtype and direction. The first NaN counts as the best in both directions; -0 equals 0. Steps are in elements; `n` is not 0.
typedef struct tsri_arg_lines {
  // to[r] = index of the best of x[r * step] .. x[r * step + n - 1], for r < count.
  void (*rows)(const void *x, int64_t step, int64_t count, int64_t n, int32_t *to);
  // to[j] = index of the best of the `n` elements x[j], x[step + j], …, for j < count <= TSRI_ARG_BLOCK.
  void (*columns)(const void *x, int64_t step, int64_t n, int64_t count, int32_t *to);
  // Whether element x is better than element y, which has a lower index.
  bool (*beats)(const void *x, const void *y);
} tsri_arg_lines;

// Returns the functions, or NULL if there are none for this dtype. `simd`: a result of tsri_cpu_simd_level.
const tsri_arg_lines *tsri_arg_lines_for(const char *simd, tsri_reduction kind, tsr_dtype dtype);

#endif
