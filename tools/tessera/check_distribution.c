// SPDX-License-Identifier: MIT
// Distributions and random choices: references and cases.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_move.h"
#include "check_random.h"

static const tsr_shape shapes[] = {{2, {7, 19}}, {1, {0}}, {0, {0}}, {1, {3}}, {1, {2051}}};
static const uint64_t seeds[] = {3, 0, UINT64_MAX, 42, UINT64_C(0x123456789ABCDEF)};
enum { CASES = 5 };

static uint32_t word_at(int64_t i, uint32_t kind, uint64_t seed) {
  return check_philox((uint32_t)(i / 4), 0, kind, seed).at[i % 4];
}

static bool begin_case(check_run *run, int i) { return check_begin(run, i == 0 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i); }

// --- Distributions ----------------------------------------------------------------------------------------------------

void check_rand_exponential(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const double scales[] = {1, 2, 0.25, 3, 100};
  for (int i = 0; i < CASES; i++) {
    if (!begin_case(run, i)) continue;
    tsr_tensor *result = tsr_rand_exponential(check_device(run), dtype, shapes[i], scales[i], seeds[i]);
    if (!(op->dtypes & CHECK_BIT(dtype))) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, shapes[i]);
    for (int64_t k = 0; k < wanted->count; k++)
      wanted->values[k].real = -log(check_fraction(word_at(k, 3, seeds[i]))) * scales[i];
    check_result(run, result, wanted);
  }
}

static double words_below(double x) { return floor(0.5 * erfc(-x / sqrt(2)) * 4294967296.0); }

static double truncated_at(uint32_t word, double low, double high) {
  double first = words_below(low), range = fmin(words_below(high) - first, 4294967295.0);
  uint64_t part = (uint64_t)word * (uint64_t)range >> 32;
  uint32_t share = (uint32_t)((uint64_t)first + part) | 1;
  double x =
      share < 0x80000000u ? -check_normal_above(check_fraction(share)) : check_normal_above(check_fraction(0u - share));
  return fmin(fmax(x, low), high);
}

// Errors are measured relative to 1 + |x|, not to x: near 0 a number is a difference of larger ones.
void check_rand_truncated_normal(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const double lows[] = {-2, 1, -INFINITY, 0.5, -INFINITY}, highs[] = {2, 3, 0, INFINITY, INFINITY};
  for (int i = 0; i < CASES; i++) {
    if (!begin_case(run, i)) continue;
    tsr_tensor *result = tsr_rand_truncated_normal(check_device(run), dtype, shapes[i], lows[i], highs[i], seeds[i]);
    if (!(op->dtypes & CHECK_BIT(dtype))) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, shapes[i]);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t k = 0; k < wanted->count; k++) {
      wanted->values[k].real = truncated_at(word_at(k, 4, seeds[i]), lows[i], highs[i]);
      wanted->magnitudes[k] = 1 + fabs(wanted->values[k].real);
    }
    check_result(run, result, wanted);
  }
}

// The reference in f64. It accepts and rejects the same draws as the device, unless they differ in the seventh digit.
static double gamma_at(int64_t i, double alpha, uint64_t seed, double *out_magnitude) {
  double d = alpha + (alpha < 1) - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (uint32_t attempt = 0;; attempt++) {
    check_words w = check_philox((uint32_t)i, attempt, 5, seed);
    double x = check_normal(w.at[0]), u = 1 + c * x, v = u * u * u;
    if (u <= 0 || -log(check_fraction(w.at[1])) <= d * (v - 1 - log(v)) - x * x / 2) continue;
    double boost = alpha < 1 ? -log(check_fraction(w.at[2])) / alpha : 0, value = d * v * exp(-boost);
    *out_magnitude = value * (1 + boost + (1 + fabs(c * x)) / u);
    return value;
  }
}

void check_rand_gamma(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const double alphas[] = {2.5, 1, 0.5, 0.125, 1000}, scales[] = {1, 2, 1, 3, 0.5};
  for (int i = 0; i < 2 * CASES; i++) {
    double alpha = alphas[i / 2], scale = scales[i / 2];
    tsr_shape shape = shapes[i % 2 ? i / 2 : 0];
    uint64_t seed = seeds[i % CASES];
    if (!begin_case(run, i)) continue;
    tsr_tensor *result = tsr_rand_gamma(check_device(run), dtype, shape, alpha, scale, seed);
    if (!(op->dtypes & CHECK_BIT(dtype))) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, shape);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t k = 0; k < wanted->count; k++) {
      wanted->values[k].real = gamma_at(k, alpha, seed, &wanted->magnitudes[k]) * scale;
      wanted->magnitudes[k] = wanted->magnitudes[k] * scale + 1e-37;  // f32 may flush smaller numbers to 0
    }
    check_result(run, result, wanted);
  }
}

// The smallest number whose cumulative probability, times 2^32, exceeds the word.
static int64_t poisson_at(uint32_t word, double rate) {
  int64_t number = rate > 100 ? (int64_t)(rate - 12 * sqrt(rate)) : 0;
  double below = 0;
  for (;; number++) {
    below += exp((double)number * log(rate) - rate - lgamma((double)number + 1));
    if (word < below * 4294967296.0 || below > 1 - 1e-11) return number;
  }
}

void check_rand_poisson(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const double rates[] = {3, 0.5, 12, 30, 1000};
  for (int i = 0; i < CASES; i++) {
    double rate = dtype == TSR_I8 || dtype == TSR_U8 || dtype == TSR_BF16 ? fmin(rates[i], 30) : rates[i];
    if (!begin_case(run, i)) continue;
    tsr_tensor *result = tsr_rand_poisson(check_device(run), dtype, shapes[i], rate, seeds[i]);
    if (!(op->dtypes & CHECK_BIT(dtype))) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, shapes[i]);
    for (int64_t k = 0; k < wanted->count; k++) {
      uint32_t word = check_philox((uint32_t)(k / 2), 0, 2, seeds[i]).at[k % 2 * 2];
      wanted->values[k] = check_convert(dtype, TSR_I64, (check_value){.whole = poisson_at(word, rate)});
    }
    check_result(run, result, wanted);
  }
}

// --- Choices ----------------------------------------------------------------------------------------------------------

typedef struct keyed {
  uint64_t key;
  int64_t at;
} keyed;

static int compare_keys(const void *left, const void *right) {
  const keyed *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->at < b->at ? -1 : 1;
}

// The words i of the random sequence of randint: words 0 to count - 1 are the upper halves of the keys, the next `count` words the lower halves.
static uint32_t key_word(int64_t i, uint64_t seed) { return check_philox((uint32_t)(i / 2), 0, 2, seed).at[i % 2 * 2]; }

static keyed *permute(check_run *run, int64_t count, uint64_t seed) {
  keyed *list = check_alloc(run, (size_t)count + 1, sizeof *list);
  for (int64_t i = 0; i < count; i++)
    list[i] = (keyed){(uint64_t)key_word(i, seed) << 32 | key_word(count + i, seed), i};
  qsort(list, (size_t)count, sizeof *list, compare_keys);
  return list;
}

void check_permutation(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const int64_t counts[] = {13, 0, 1, 2, 5003};
  for (int i = 0; i < CASES && dtype == TSR_I32; i++) {
    if (!begin_case(run, i)) continue;
    keyed *list = permute(run, counts[i], seeds[i]);
    check_expected *wanted = check_expect(run, TSR_I32, TSR_SHAPE(counts[i]));
    for (int64_t k = 0; k < counts[i]; k++) wanted->values[k].whole = list[k].at;
    check_result(run, tsr_permutation(check_device(run), counts[i], seeds[i]), wanted);
  }
}

// Weights are small integers, so that their sums are exact and rounding cannot change an index. A quarter are 0, but never the last one of a row.
static check_tensor *whole_weights(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view) {
  int64_t count = check_count(shape), size = shape.dims[shape.rank - 1];
  check_value *values = check_alloc(run, (size_t)count + 1, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    int64_t weight = i % size == size - 1 ? 1 : (int64_t)check_random(run, 4);
    values[i] = check_convert(dtype, TSR_I64, (check_value){.whole = weight});
  }
  return check_input_of(run, dtype, shape, view, values);
}

static double weight_at(const check_tensor *weights, int64_t i) {
  return check_is_float(weights->dtype) ? weights->values[i].real : (double)weights->values[i].whole;
}

// One draw with replacement: the first index whose cumulative weight exceeds the uniform number times the sum of all weights.
static int64_t drawn_again(const check_tensor *weights, int64_t row, int64_t size, double uniform) {
  double total = 0, sum = 0;
  for (int64_t k = 0; k < size; k++) total += weight_at(weights, row * size + k);
  float point = (float)uniform * (float)total;
  for (int64_t k = 0; k < size; k++) {
    sum += weight_at(weights, row * size + k);
    if (sum > point) return k;
  }
  return size - 1;
}

// Draws without replacement: indices in ascending order of exponential random times divided by the weights.
static keyed *drawn_once(check_run *run, const check_tensor *weights, int64_t row, int64_t size, uint64_t seed) {
  keyed *list = check_alloc(run, (size_t)size, sizeof *list);
  for (int64_t k = 0; k < size; k++) {
    int64_t at = row * size + k;
    double wait = -log(check_fraction(word_at(at, 3, seed))) / weight_at(weights, at);
    memcpy(&list[k].key, &wait, sizeof wait);  // the bits of positive floats have the same order as the floats
    list[k].at = k;
  }
  qsort(list, (size_t)size, sizeof *list, compare_keys);
  return list;
}

static void draw_rows(check_run *run, const check_tensor *weights, int64_t count, bool replace, uint64_t seed,
                      int64_t *out_indices) {
  int64_t size = weights->shape.dims[weights->shape.rank - 1], rows = weights->count / size;
  for (int64_t row = 0; row < rows; row++) {
    keyed *list = replace ? NULL : drawn_once(run, weights, row, size, seed);
    for (int64_t k = 0; k < count; k++) {
      int64_t at = row * count + k;
      out_indices[at] = replace ? drawn_again(weights, row, size, check_uniform_at(TSR_F32, at, seed)) : list[k].at;
    }
  }
}

void check_multinomial(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape weights_shapes[] = {{1, {7}}, {2, {5, 11}}, {3, {2, 3, 4}}, {1, {1}}, {1, {301}}};
  static const int64_t counts[] = {5, 3, 4, 1, 50};
  for (int i = 0; i < 2 * CASES; i++) {
    if (!begin_case(run, i)) continue;
    tsr_shape shape = weights_shapes[i / 2];
    check_tensor *weights = whole_weights(run, dtype, shape, (check_view)(i % CHECK_VIEW_COUNT));
    int64_t count = counts[i / 2];
    shape.dims[shape.rank - 1] = count;
    check_expected *wanted = check_expect(run, TSR_I32, shape);
    int64_t *indices = check_alloc(run, (size_t)wanted->count + 1, sizeof *indices);
    draw_rows(run, weights, count, i % 2, seeds[i / 2], indices);
    for (int64_t k = 0; k < wanted->count; k++) wanted->values[k].whole = indices[k];
    check_result(run, tsr_multinomial(weights->tensor, count, i % 2, seeds[i / 2]), wanted);
  }
}

typedef struct chosen {
  const check_tensor *x;
  const int64_t *indices;
  int axis;
} chosen;

static check_value chosen_element(const void *context, const int64_t *index) {
  const chosen *c = context;
  int64_t place[TSR_MAX_RANK];
  memcpy(place, index, sizeof place);
  place[c->axis] = c->indices[index[c->axis]];
  return c->x->values[check_ravel(c->x->shape, place)];
}

static void choose(check_run *run, int64_t size, int64_t count, bool replace, uint64_t seed, int64_t *out_indices) {
  keyed *list = replace ? NULL : permute(run, size, seed);
  for (int64_t k = 0; k < count; k++) {
    check_words w = check_philox((uint32_t)(k / 2), 0, 2, seed);
    uint64_t upper = w.at[k % 2 * 2], lower = w.at[k % 2 * 2 + 1];
    uint64_t number = (upper * (uint64_t)size + (lower * (uint64_t)size >> 32)) >> 32;
    out_indices[k] = replace ? (int64_t)number : list[k].at;
  }
}

void check_choice(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < check_axis_case_count * 4; i++) {
    const check_axis_case *c = &check_axis_cases[i / 4];
    bool replace = i % 2, has_weights = i % 4 >= 2;
    int64_t size = c->shape.dims[check_axis(c)], count = size / 2;
    uint64_t seed = seeds[i % CASES];
    if (size == 0 || !check_begin(run, i % 4 ? CHECK_OFTEN : c->weight, "%s-%d", c->name, i % 4)) continue;
    chosen made = {.x = check_input(run, dtype, c->shape, c->view, CHECK_ANY), .axis = check_axis(c)};
    check_tensor *weights = has_weights ? whole_weights(run, TSR_F32, TSR_SHAPE(size), CHECK_PLAIN) : NULL;
    int64_t *indices = check_alloc(run, (size_t)count + 1, sizeof *indices);
    if (has_weights) draw_rows(run, weights, count, replace, seed, indices);
    else choose(run, size, count, replace, seed, indices);
    made.indices = indices;
    tsr_shape shape = c->shape;
    shape.dims[made.axis] = count;
    check_result(run, tsr_choice(made.x->tensor, c->axis, count, has_weights ? weights->tensor : NULL, replace, seed),
                 check_expect_each(run, dtype, shape, chosen_element, &made));
  }
}
