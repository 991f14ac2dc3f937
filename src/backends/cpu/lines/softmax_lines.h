// SPDX-License-Identifier: MIT
// softmax and log_softmax of rows and columns, on one thread and for one dtype.
#ifndef TSRI_CPU_SOFTMAX_LINES_H
#define TSRI_CPU_SOFTMAX_LINES_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/math/math.h"

enum { TSRI_SOFTMAX_COLUMNS = 256 };  // columns that are processed at a time

// f16 and bf16 are computed in f32 and rounded once.
typedef struct tsri_softmax_lines {
  // Processes `count` rows of `n` elements; all rows are contiguous. n is not 0.
  void (*rows)(const void *x, void *y, int64_t count, int64_t n, bool is_log, const tsri_lane_math *math);
  // Processes `count` columns, at most TSRI_SOFTMAX_COLUMNS, of n elements, which are `step` apart in x and in y.
  void (*columns)(const void *x, void *y, int64_t step, int64_t count, int64_t n, bool is_log,
                  const tsri_lane_math *math);
} tsri_softmax_lines;

// Returns the functions; `dtype` is a float, `simd` a result of tsri_cpu_simd_level.
const tsri_softmax_lines *tsri_softmax_lines_for(const char *simd, tsr_dtype dtype);

#endif
