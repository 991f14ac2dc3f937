// SPDX-License-Identifier: MIT
// Loops over one row of scores, made by score_lines_isa.c for each SIMD level.
#ifndef TSRI_CPU_SCORE_LINES_H
#define TSRI_CPU_SCORE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/math/math.h"

typedef struct tsri_score_lines {
  // x = x * factor + added, and returns the largest of them and `most`, NaN if one is NaN. `added` may be NULL.
  float (*scale)(float *x, int64_t n, float factor, const float *added, float most);
  // x = exp(x - most), and returns their sum.
  float (*raise)(float *x, int64_t n, float most, const tsri_lane_math *math);
  void (*multiply)(float *x, int64_t n, float factor);
  float (*dot)(const float *a, const float *b, int64_t n);
  // x = weights * (x - mean) * factor
  void (*gradient)(float *x, const float *weights, int64_t n, float mean, float factor);
  bool (*is_finite)(const float *x, int64_t n);
} tsri_score_lines;

// `simd_level` as tsri_cpu_simd_level has it.
const tsri_score_lines *tsri_score_lines_for(const char *simd_level);

#endif
