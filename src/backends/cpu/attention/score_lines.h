// SPDX-License-Identifier: MIT
// Loops over one row of scores, made by score_lines_isa.c for each SIMD level.
#ifndef TSRI_CPU_SCORE_LINES_H
#define TSRI_CPU_SCORE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/math/math.h"

// The scores of one query. It sees the keys from `from` to before `to`; the other elements may be anything, and are not used. All loops go over whole vectors, so
// `n` is a multiple of a vector, and the rows that go with this one have as many elements.
typedef struct tsri_score_row {
  float *x;
  int64_t n, from, to;
} tsri_score_row;

typedef struct tsri_score_lines {
  // x = x * factor + added[0 …], for the seen elements. `added` begins with the first of them; it may be NULL.
  void (*scale)(const tsri_score_row *row, float factor, const float *added);
  // The largest of the seen elements and `most`, NaN if one of them is NaN.
  float (*top)(const tsri_score_row *row, float most);
  // x = exp((x - top) * factor) for the seen elements, which are not above `top`, and 0 for the others. Returns the sum of all. `factor` is above 0. *out_dot is the sum of all x * gradients; both
  // may be NULL.
  float (*raise)(const tsri_score_row *row, float top, float factor, const float *gradients, float *out_dot,
                 const tsri_lane_math *math);
  // weights = weights * share and gradients = weights * (gradients - mean) * factor for the seen elements; 0 for the others.
  void (*gradient)(const tsri_score_row *weights, float *gradients, float share, float mean, float factor);
  void (*multiply)(float *x, int64_t n, float factor);
  // Whether `rows` rows of `n` elements, `step` apart, are all finite.
  bool (*is_finite)(const float *x, int64_t step, int64_t rows, int64_t n);
} tsri_score_lines;

// `simd_level` as tsri_cpu_simd_level has it.
const tsri_score_lines *tsri_score_lines_for(const char *simd_level);

#endif
