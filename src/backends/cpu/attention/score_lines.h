// SPDX-License-Identifier: MIT
// Loops over one row of scores. score_lines_isa.c implements them for each SIMD level.
#ifndef TSRI_CPU_SCORE_LINES_H
#define TSRI_CPU_SCORE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/math/math.h"

// The scores of one query, which attends to the keys from `from` to `to` - 1; other elements are undefined and not used. All loops work on whole vectors, so
// `n` is a multiple of a vector, and rows that are passed along with this one have as many elements.
typedef struct tsri_score_row {
  float *x;
  int64_t n, from, to;
} tsri_score_row;

typedef struct tsri_score_lines {
  // x = x * factor + added[…], for the keys attended to. added[0] belongs to the first of them; `added` may be NULL.
  void (*scale)(const tsri_score_row *row, float factor, const float *added);
  // The largest of `most` and the scores of the keys attended to; NaN if one of them is NaN.
  float (*top)(const tsri_score_row *row, float most);
  // x = exp((x - top) * factor) for the keys attended to, whose scores are at most `top`, and 0 for the others. Returns the sum of all x. `factor` is positive.
  // *out_dot is the sum of all x * gradients; `gradients` and `out_dot` may both be NULL.
  float (*raise)(const tsri_score_row *row, float top, float factor, const float *gradients, float *out_dot,
                 const tsri_lane_math *math);
  // weights = weights * share and gradients = weights * (gradients - mean) * factor for the keys attended to; 0 for the others.
  void (*gradient)(const tsri_score_row *weights, float *gradients, float share, float mean, float factor);
  void (*multiply)(float *x, int64_t n, float factor);
  // Whether `rows` rows of `n` elements, `step` elements apart, are all finite.
  bool (*is_finite)(const float *x, int64_t step, int64_t rows, int64_t n);
} tsri_score_lines;

// Returns the functions for a SIMD level that tsri_cpu_simd_level has returned.
const tsri_score_lines *tsri_score_lines_for(const char *simd_level);

#endif
