// SPDX-License-Identifier: MIT
// Random numbers: references and cases.
#include "check_random.h"

#include <math.h>

#include "check.h"

// Philox4x32-10 (Salmon et al., 2011): counter (block, attempt, kind, 0), key = seed.
check_words check_philox(uint32_t block, uint32_t attempt, uint32_t kind, uint64_t seed) {
  uint32_t a = block, b = attempt, c = kind, d = 0, low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t x = UINT64_C(0xD2511F53) * a, y = UINT64_C(0xCD9E8D57) * c;
    a = (uint32_t)(y >> 32) ^ b ^ low;
    b = (uint32_t)y;
    c = (uint32_t)(x >> 32) ^ d ^ high;
    d = (uint32_t)x;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return (check_words){{a, b, c, d}};
}

// As many bits of a word as the dtype holds; for f64 of two words.
double check_uniform_at(tsr_dtype dtype, int64_t i, uint64_t seed) {
  if (dtype == TSR_F64) {
    check_words w = check_philox((uint32_t)(i / 2), 0, 0, seed);
    double high = w.at[i % 2 * 2] >> 5, low = w.at[i % 2 * 2 + 1] >> 6;
    return (high * 67108864 + low) / 9007199254740992.0;
  }
  int bits = (int)lround(-log2(check_roundoff(dtype)));  // its precision
  uint32_t word = check_philox((uint32_t)(i / 4), 0, 0, seed).at[i % 4];
  return ldexp(word >> (32 - bits), -bits);
}

// The point above which a share `p` of a normal distribution lies (Newton's method on erfc).
double check_normal_above(double p) {
  double x = sqrt(-2 * log(p)) * 0.9;
  for (int i = 0; i < 60; i++) {
    double density = exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
    double change = (0.5 * erfc(x / sqrt(2)) - p) / density;
    x += change > 0.5 ? 0.5 : change < -0.5 ? -0.5 : change;
    if (fabs(change) < 1e-15) break;
  }
  return x;
}

double check_fraction(uint32_t word) {
  uint32_t odd = word | 1;
  int shift = ilogb((double)odd) - 23;  // f32 has room for 24 bits
  return ldexp(shift > 0 ? odd >> shift << shift : odd, -32);
}

double check_normal(uint32_t word) {
  double x = check_normal_above(check_fraction(word) / 2);
  return word & 1 ? -x : x;
}

// Two words make two numbers, the coordinates of a point (Box-Muller): its distance is sqrt(-2 * log(u)), and its direction is given by 23 bits for the angle and
// three bits that exchange the coordinates and set their signs.
static double normal_at(int64_t i, uint64_t seed) {
  check_words w = check_philox((uint32_t)(i / 4), 0, 1, seed);
  uint32_t word = w.at[i % 4 / 2 * 2], direction = w.at[i % 4 / 2 * 2 + 1];
  double angle = ldexp(2.0 * (direction >> 9) + 1, -24) * (3.14159265358979323846 / 4);
  double distance = sqrt(-2 * log(check_fraction(word)));
  bool is_first = i % 2 == 0, is_turned = (direction & 4) != 0, is_negative = direction >> (is_first ? 0 : 1) & 1u;
  double x = distance * (is_first != is_turned ? sin(angle) : cos(angle));
  return is_negative ? -x : x;
}

static const tsr_shape random_shapes[] = {{1, {0}}, {0, {0}}, {1, {1}}, {2, {7, 19}}, {1, {4097}}, {1, {100003}}};
static const uint64_t seeds[] = {0, 1, 42, UINT64_MAX, UINT64_C(0x123456789ABCDEF), 7};

void check_rand(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (int i = 0; i < 6; i++) {
    if (!check_begin(run, i == 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) continue;
    tsr_tensor *result = tsr_rand(check_device(run), dtype, random_shapes[i], seeds[i]);
    if (!(op->dtypes & CHECK_BIT(dtype))) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, random_shapes[i]);
    for (int64_t k = 0; k < wanted->count; k++) wanted->values[k].real = check_uniform_at(dtype, k, seeds[i]);
    check_result(run, result, wanted);
  }
}

void check_bernoulli(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const double chances[] = {0.5, 0.25, 1, 0.625, 0, 0.125};
  for (int i = 0; i < 6; i++) {
    if (!check_begin(run, i == 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) continue;
    check_expected *wanted = check_expect(run, dtype, random_shapes[i]);
    for (int64_t k = 0; k < wanted->count; k++) {
      check_value is_one = {.whole = check_uniform_at(TSR_F32, k, seeds[i]) < chances[i]};
      wanted->values[k] = check_convert(dtype, TSR_BOOL, is_one);
    }
    check_result(run, tsr_bernoulli(check_device(run), dtype, random_shapes[i], chances[i], seeds[i]), wanted);
  }
}

// Factors 1 / (1 - p) are powers of 2, so that only x decides how a product is rounded.
void check_dropout(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const double chances[] = {0.5, 0.75, 0, 0.5, 0.875, 0.75};
  static const check_view views[] = {CHECK_PLAIN,      CHECK_PLAIN,  CHECK_PLAIN,
                                     CHECK_TRANSPOSED, CHECK_SLICED, CHECK_REVERSED};
  tsr_dtype computed = check_float(dtype);
  for (int i = 0; i < 6; i++) {
    if (!check_begin(run, i == 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) continue;
    check_tensor *x = check_input(run, dtype, random_shapes[i], views[i], CHECK_MODERATE);
    check_expected *wanted = check_expect(run, computed, random_shapes[i]);
    for (int64_t k = 0; k < wanted->count; k++) {
      bool is_dropped = check_uniform_at(TSR_F32, k, seeds[i]) < chances[i];
      double value = check_convert(computed, dtype, x->values[k]).real;
      wanted->values[k].real = is_dropped ? 0 : value / (1 - chances[i]);
    }
    check_result(run, tsr_dropout(x->tensor, chances[i], seeds[i]), wanted);
  }
}

void check_randn(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (int i = 0; i < 6; i++) {
    if (!check_begin(run, i == 3 ? CHECK_ALWAYS : CHECK_HEAVY, "%d", i)) continue;
    tsr_tensor *result = tsr_randn(check_device(run), dtype, random_shapes[i], seeds[i]);
    if (!(op->dtypes & CHECK_BIT(dtype))) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, random_shapes[i]);
    for (int64_t k = 0; k < wanted->count; k++) wanted->values[k].real = normal_at(k, seeds[i]);
    check_result(run, result, wanted);
  }
}

// The upper 64 bits of a product, from 32-bit parts.
static uint64_t upper_product(uint64_t a, uint64_t b) {
  uint64_t a_low = a & UINT32_MAX, a_high = a >> 32, b_low = b & UINT32_MAX, b_high = b >> 32;
  uint64_t middle = a_high * b_low + (a_low * b_low >> 32), other = a_low * b_high + (middle & UINT32_MAX);
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

void check_randint(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (int i = 0; i < 6; i++) {
    if (!check_begin(run, i == 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", i)) continue;
    bool is_taken = op->dtypes & CHECK_BIT(dtype);
    int64_t low = is_taken ? check_least(dtype) / (i + 1) : 0, high = is_taken ? check_most(dtype) / (i + 1) : 2;
    tsr_tensor *result = tsr_randint(check_device(run), dtype, random_shapes[i], low, high, seeds[i]);
    check_note(run, "%lld to %lld", (long long)low, (long long)high);
    if (!is_taken) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, random_shapes[i]);
    uint64_t range = (uint64_t)high - (uint64_t)low;
    for (int64_t k = 0; k < wanted->count; k++) {
      check_words w = check_philox((uint32_t)(k / 2), 0, 2, seeds[i]);
      uint64_t bits = (uint64_t)w.at[k % 2 * 2] << 32 | w.at[k % 2 * 2 + 1];
      wanted->values[k].whole = (int64_t)((uint64_t)low + upper_product(bits, range));
    }
    check_result(run, result, wanted);
  }
}
