// SPDX-License-Identifier: MIT
// softmax and log_softmax of rows and columns, on one thread and for one dtype.
#ifndef TSRI_CPU_SOFTMAX_LINES_H
#define TSRI_CPU_SOFTMAX_LINES_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/math/math.h"

enum { TSRI_SOFTMAX_COLUMNS = 256 };  // that are treated at once

// f16 and bf16 are computed in f32 and rounded once.
typedef struct tsri_softmax_lines {
  // Each of `count` rows of `n` elements side by side; the rows lie one after the other. n is not 0.
  void (*rows)(const void *x, void *y, int64_t count, int64_t n, bool is_log, const tsri_lane_math *math);
  // Each of `count` columns, at most TSRI_SOFTMAX_COLUMNS: n elements, `step` apart in x and in y.
  void (*columns)(const void *x, void *y, int64_t step, int64_t count, int64_t n, bool is_log,
                  const tsri_lane_math *math);
} tsri_softmax_lines;

// `dtype` is a float. `simd` as tsri_cpu_simd_level has it.
const tsri_softmax_lines *tsri_softmax_lines_for(const char *simd, tsr_dtype dtype);

#endif
