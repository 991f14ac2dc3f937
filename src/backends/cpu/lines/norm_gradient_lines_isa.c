// SPDX-License-Identifier: MIT
// Gradients of norms of rows at one SIMD level. Compiled once per level (cmake/isa.cmake).
//
// With r = 1 / sqrt(mean of (x - mean)^2 + eps), n = (x - mean) r and d = g weight:  dx = r (d - mean(d) - n mean(d n)), dweight = g n, dbias = g.
// Without centring (rms_norm), the means of x and of d are replaced by 0.
#include <math.h>

#include "backends/cpu/lanes/vec_isa.h"
#include "backends/cpu/lines/norm_gradient_lines.h"

static float sum_of(const float *x, int64_t n) {
  vec sum = repeat(0);
  float rest = 0;
  int64_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) sum = plus(sum, load(x + i));
  for (; i < n; i++) rest += x[i];
  return sum_lanes(sum) + rest;
}

static float squares_of(const float *x, int64_t n, float mean) {
  vec sum = repeat(0), middle = repeat(mean);
  float rest = 0;
  int64_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) {
    vec apart = minus(load(x + i), middle);
    sum = plus(sum, times(apart, apart));
  }
  for (; i < n; i++) rest += (x[i] - mean) * (x[i] - mean);
  return sum_lanes(sum) + rest;
}

// Computes the sums of d and of d (x - mean).
static void sums_of(const tsri_norm_row *row, const float *x, const float *g, float mean, float *out_d, float *out_dx) {
  const float *weight = row->weight;
  vec d_sum = repeat(0), dx_sum = repeat(0), middle = repeat(mean);
  float d_rest = 0, dx_rest = 0;
  int64_t i = 0;
  for (; i + WIDTH <= row->n; i += WIDTH) {
    vec d = weight ? times(load(g + i), load(weight + i)) : load(g + i);
    d_sum = plus(d_sum, d);
    dx_sum = plus(dx_sum, times(d, minus(load(x + i), middle)));
  }
  for (; i < row->n; i++) {
    float d = weight ? g[i] * weight[i] : g[i];
    d_rest += d;
    dx_rest += d * (x[i] - mean);
  }
  *out_d = sum_lanes(d_sum) + d_rest;
  *out_dx = sum_lanes(dx_sum) + dx_rest;
}

// Numbers of a row from which its gradients are computed.
typedef struct row_numbers {
  float mean, r, d_mean, dn_mean;
} row_numbers;

static void spread(const tsri_norm_row *row, const float *x, const float *g, row_numbers *numbers) {
  float n = (float)row->n, d = 0, dx = 0;
  float r = 1 / sqrtf(squares_of(x, row->n, numbers->mean) / n + (float)row->eps);
  sums_of(row, x, g, numbers->mean, &d, &dx);
  numbers->r = r;
  numbers->d_mean = row->is_centred ? d / n : 0;
  numbers->dn_mean = dx * r / n;
}

static void one_row(const tsri_norm_row *row, const row_numbers *numbers, const float *x, const float *g,
                    const float *added, float *dx, float *dweight, float *dbias) {
  const float *weight = row->weight;
  float mean = numbers->mean, r = numbers->r;
  vec middle = repeat(mean), scale = repeat(r), d_middle = repeat(numbers->d_mean),
      dn_middle = repeat(numbers->dn_mean);
  int64_t i = 0;
  for (; i + WIDTH <= row->n; i += WIDTH) {
    vec cotangent = load(g + i), normed = times(minus(load(x + i), middle), scale);
    vec d = weight ? times(cotangent, load(weight + i)) : cotangent;
    vec by_x = times(scale, minus(minus(d, d_middle), times(normed, dn_middle)));
    store(dx + i, added ? plus(load(added + i), by_x) : by_x);
    store(dweight + i, plus(load(dweight + i), times(cotangent, normed)));
    store(dbias + i, plus(load(dbias + i), cotangent));
  }
  for (; i < row->n; i++) {
    float normed = (x[i] - mean) * r, d = weight ? g[i] * weight[i] : g[i];
    dx[i] = (added ? added[i] : 0) + r * (d - numbers->d_mean - normed * numbers->dn_mean);
    dweight[i] += g[i] * normed;
    dbias[i] += g[i];
  }
}

// Processes a few short rows at a time: each step waits for sums of the step before, and meanwhile the same step of the other rows is computed.
static void rows(const tsri_norm_row *row, const float *x, const float *g, const float *added, float *dx,
                 float *dweight, float *dbias, int64_t count) {
  enum { TOGETHER = 4, FEW = 512 };
  row_numbers numbers[TOGETHER];
  int64_t n = row->n, together = n <= FEW ? TOGETHER : 1;
  for (int64_t first = 0; first < count; first += together) {
    int64_t last = count - first < together ? count : first + together;
    for (int64_t i = first; i < last; i++) {
      numbers[i - first].mean = row->is_centred ? sum_of(x + i * n, n) / (float)n : 0;
    }
    for (int64_t i = first; i < last; i++) spread(row, x + i * n, g + i * n, &numbers[i - first]);
    for (int64_t i = first; i < last; i++) {
      one_row(row, &numbers[i - first], x + i * n, g + i * n, added ? added + i * n : NULL, dx + i * n, dweight, dbias);
    }
  }
}

const tsri_norm_gradient_lines ISA_NAME(tsri_norm_gradient_lines_) = rows;
