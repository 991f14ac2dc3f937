// SPDX-License-Identifier: MIT
// Loops over one row of scores at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/attention/score_lines.h"
#include "backends/cpu/lanes/raise_isa.h"

// A vector with the lanes `from` to `to` - 1 of x (the range may exceed the vector), and `other` in the other lanes.
LANE vec only(vec x, int64_t from, int64_t to, float other) {
  int first = from < 0 ? 0 : (int)from, last = to > WIDTH ? WIDTH : (int)to;
#if defined(__AVX512F__)
  return choose((__mmask16)((0xffffU >> (WIDTH - last)) & (0xffffU << first)), x, repeat(other));
#else
  float lanes[WIDTH];
  store(lanes, x);
  ISA_UNROLL for (int k = 0; k < WIDTH; k++) lanes[k] = k >= first && k < last ? lanes[k] : other;
  return load(lanes);
#endif
}

// x, the vector of the row's elements from `i` on, with `other` in place of keys that are not attended to.
LANE vec seen(const tsri_score_row *row, int64_t i, vec x, float other) {
  bool is_whole = i >= row->from && i + WIDTH <= row->to;
  return is_whole ? x : only(x, row->from - i, row->to - i, other);
}

// first_vector: the start of the first vector with a key that is attended to. The other function: the end of the last such vector.
LANE int64_t first_vector(const tsri_score_row *row) { return row->from / WIDTH * WIDTH; }
LANE int64_t last_vector(const tsri_score_row *row) { return (row->to + WIDTH - 1) / WIDTH * WIDTH; }

// Sets the elements of `row` before the first and after the last vector with a key that is attended to to 0.
LANE void clear_unseen(const tsri_score_row *row, float *x) {
  for (int64_t i = 0; i < first_vector(row); i += WIDTH) store(x + i, repeat(0));
  for (int64_t i = last_vector(row); i < row->n; i += WIDTH) store(x + i, repeat(0));
}

static void scale(const tsri_score_row *row, float factor, const float *added) {
  float *x = row->x + row->from;
  int64_t n = row->to - row->from;
  if (added) {
    LANES for (int64_t i = 0; i < n; i++) x[i] = x[i] * factor + added[i];
  } else {
    LANES for (int64_t i = 0; i < n; i++) x[i] *= factor;
  }
}

// The largest lane, NaN if any lane is: folds the upper half onto the lower half until one lane is left.
LANE float greatest_lane(vec x) {
  float lanes[WIDTH];
#if defined(__AVX512F__)
  x = greater(x, _mm512_shuffle_f32x4(x, x, _MM_SHUFFLE(1, 0, 3, 2)));
  x = greater(x, _mm512_shuffle_f32x4(x, x, _MM_SHUFFLE(2, 3, 0, 1)));
  x = greater(x, _mm512_permute_ps(x, _MM_SHUFFLE(1, 0, 3, 2)));
  x = greater(x, _mm512_permute_ps(x, _MM_SHUFFLE(2, 3, 0, 1)));
  store(lanes, x);
#else
  store(lanes, x);
  ISA_UNROLL for (int half = WIDTH / 2; half > 0; half /= 2) {
    ISA_UNROLL for (int k = 0; k < half; k++) {
      float a = lanes[k], b = lanes[k + half];
      lanes[k] = a >= b || a != a ? a : b;
    }
  }
#endif
  return lanes[0];
}

static float top(const tsri_score_row *row, float most) {
  vec best = repeat(most);
  for (int64_t i = first_vector(row); i < row->to; i += WIDTH)
    best = greater(best, seen(row, i, load(row->x + i), -INFINITY));
  return greatest_lane(best);
}

#if HAS_RAISE
static float raise(const tsri_score_row *row, float top, float factor, const float *gradients, float *out_dot,
                   const tsri_lane_math *math) {
  (void)math;
  vec tops = repeat(top), factors = repeat(factor), sum = repeat(0), dot = sum;
  clear_unseen(row, row->x);
  for (int64_t i = first_vector(row); i < row->to; i += WIDTH) {
    vec power = raise_vec(times(minus(seen(row, i, load(row->x + i), -INFINITY), tops), factors));
    store(row->x + i, power);
    sum = plus(sum, power);
    if (gradients) dot = fused(power, seen(row, i, load(gradients + i), 0), dot);
  }
  if (gradients) *out_dot = sum_lanes(dot);
  return sum_lanes(sum);
}
#else
static float raise(const tsri_score_row *row, float top, float factor, const float *gradients, float *out_dot,
                   const tsri_lane_math *math) {
  vec sum = repeat(0), dot = sum;
  float *x = row->x + row->from;
  int64_t n = row->to - row->from;
  LANES for (int64_t i = 0; i < n; i++) x[i] = (x[i] - top) * factor;
  math->f32[TSRI_MATH_EXP](x, x, NULL, (uint32_t)n);
  clear_unseen(row, row->x);
  for (int64_t i = first_vector(row); i < row->to; i += WIDTH) {
    vec power = seen(row, i, load(row->x + i), 0);
    store(row->x + i, power);
    sum = plus(sum, power);
    if (gradients) dot = plus(dot, times(power, seen(row, i, load(gradients + i), 0)));
  }
  if (gradients) *out_dot = sum_lanes(dot);
  return sum_lanes(sum);
}
#endif

static void gradient(const tsri_score_row *weights, float *gradients, float share, float mean, float factor) {
  vec shares = repeat(share), means = repeat(mean), factors = repeat(factor);
  clear_unseen(weights, weights->x);
  clear_unseen(weights, gradients);
  for (int64_t i = first_vector(weights); i < weights->to; i += WIDTH) {
    vec weight = seen(weights, i, times(load(weights->x + i), shares), 0);
    vec g = times(times(weight, minus(load(gradients + i), means)), factors);
    store(weights->x + i, weight);
    store(gradients + i, seen(weights, i, g, 0));
  }
}

static void multiply(float *x, int64_t n, float factor) { LANES for (int64_t i = 0; i < n; i++) x[i] *= factor; }

static bool is_finite(const float *x, int64_t step, int64_t rows, int64_t n) {
  vec zero = repeat(0), sum = zero, other = zero;
  float rest = 0;
  for (int64_t row = 0; row < rows; row++, x += step) {
    int64_t i = 0;
    for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
      sum = plus(sum, times(load(x + i), zero));
      other = plus(other, times(load(x + i + WIDTH), zero));
    }
    for (; i + WIDTH <= n; i += WIDTH) sum = plus(sum, times(load(x + i), zero));
    for (; i < n; i++) rest += x[i] * 0;
  }
  return sum_lanes(plus(sum, other)) + rest == 0;
}

const tsri_score_lines ISA_NAME(tsri_score_lines_) = {scale, top, raise, gradient, multiply, is_finite};
