// SPDX-License-Identifier: MIT
// Digits by long division of large integers, after Steele and White ("How to print floating-point numbers accurately",
// 1990) and Burger and Dybvig (1996).
//
// The number is value / scale; low / scale and high / scale are half the distances to its neighbours. Each step takes
// off one digit and multiplies by ten. When the remainder is less than half the distance to a neighbour, the digits so
// far (perhaps with the last one incremented) read back as the number.
#include "ops/digits.h"

#include <math.h>
#include <string.h>

// --- Large integers: little-endian words without leading zero words --------------------------------------------------

// Enough for 2^1076 (the scale of the smallest f64) times ten, with room to spare.
#define WORD_COUNT 40

typedef struct large {
  int count;
  uint32_t words[WORD_COUNT];
} large;

static void large_set(large *a, uint64_t value) {
  a->words[0] = (uint32_t)value;
  a->words[1] = (uint32_t)(value >> 32);
  a->count = a->words[1] ? 2 : a->words[0] ? 1 : 0;
}

static void large_multiply(large *a, uint32_t factor) {
  uint64_t carry = 0;
  for (int i = 0; i < a->count; i++) {
    carry += (uint64_t)a->words[i] * factor;
    a->words[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) a->words[a->count++] = (uint32_t)carry;
}

static void large_multiply_pow10(large *a, int exponent) {
  for (; exponent >= 9; exponent -= 9) large_multiply(a, 1000000000u);
  for (; exponent > 0; exponent--) large_multiply(a, 10);
}

static void large_shift_left(large *a, int bits) {
  if (a->count == 0) return;
  int words = bits / 32;
  if (words > 0) {
    memmove(a->words + words, a->words, (size_t)a->count * sizeof a->words[0]);
    memset(a->words, 0, (size_t)words * sizeof a->words[0]);
    a->count += words;
  }
  large_multiply(a, UINT32_C(1) << bits % 32);
}

static int large_compare(const large *a, const large *b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (int i = a->count - 1; i >= 0; i--) {
    if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
  }
  return 0;
}

static void large_add(large *a, const large *b) {
  uint64_t carry = 0;
  for (int i = 0; i < a->count || i < b->count || carry; i++) {
    if (i >= a->count) a->words[a->count++] = 0;
    carry += (uint64_t)a->words[i] + (i < b->count ? b->words[i] : 0);
    a->words[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

// a -= b, where a >= b.
static void large_subtract(large *a, const large *b) {
  uint64_t borrow = 0;
  for (int i = 0; i < a->count; i++) {
    uint64_t taken = (i < b->count ? b->words[i] : 0) + borrow;
    borrow = a->words[i] < taken;
    a->words[i] = (uint32_t)(a->words[i] - taken);
  }
  while (a->count > 0 && a->words[a->count - 1] == 0) a->count--;
}

// --- Taking a number apart -------------------------------------------------------------------------------------------

typedef struct binary {
  uint64_t significand;  // value = significand x 2^exponent
  int exponent;
  bool is_narrow_below;  // the neighbour below is half as far away as the one above
} binary;

static int precision_of(tsr_dtype dtype) {
  static const signed char bits[TSR_DTYPE_COUNT] = {
      [TSR_F16] = 11, [TSR_BF16] = 8, [TSR_F32] = 24, [TSR_F64] = 53, [TSR_F8_E4M3] = 4, [TSR_F8_E5M2] = 3};
  return bits[dtype];
}

// Exponent of the smallest number above 0.
static int least_exponent_of(tsr_dtype dtype) {
  static const short exponents[TSR_DTYPE_COUNT] = {
      [TSR_F16] = -24, [TSR_BF16] = -133, [TSR_F32] = -149, [TSR_F64] = -1074, [TSR_F8_E4M3] = -9, [TSR_F8_E5M2] = -16};
  return exponents[dtype];
}

static binary take_apart(double magnitude, tsr_dtype dtype) {
  int precision = precision_of(dtype), least = least_exponent_of(dtype), exponent = 0;
  frexp(magnitude, &exponent);
  exponent -= precision;
  if (exponent < least) exponent = least;
  binary b = {.significand = (uint64_t)ldexp(magnitude, -exponent), .exponent = exponent};
  b.is_narrow_below = exponent > least && b.significand == UINT64_C(1) << (precision - 1);
  return b;
}

// --- The division ----------------------------------------------------------------------------------------------------

typedef struct digit_division {
  large value, scale, low, high;
  // If the significand is even, the midpoints to its neighbours also read back as it, because readers round ties to even.
  bool is_even;
  int exponent;  // of the next digit
} digit_division;

// Sets value, scale, low and high. All have an additional factor of 2 (4 if the distances to the neighbours differ), so that half a unit is an integer.
static void set_up(digit_division *d, const binary *b) {
  int up = b->exponent > 0 ? b->exponent : 0, down = b->exponent < 0 ? -b->exponent : 0;
  int halves = b->is_narrow_below ? 2 : 1;
  large_set(&d->value, b->significand);
  large_shift_left(&d->value, up + halves);
  large_set(&d->scale, 1);
  large_shift_left(&d->scale, down + halves);
  large_set(&d->low, 1);
  large_shift_left(&d->low, up);
  d->high = d->low;
  if (b->is_narrow_below) large_shift_left(&d->high, 1);
  d->is_even = b->significand % 2 == 0;
}

static void times_ten(digit_division *d) {
  large_multiply(&d->value, 10);
  large_multiply(&d->low, 10);
  large_multiply(&d->high, 10);
}

// Scales so that 1 <= value / scale < 10. The exponent estimated by log10 may be off by one in either direction, due to rounding; comparing corrects it.
static void normalise(digit_division *d, double magnitude) {
  int exponent = (int)floor(log10(magnitude));
  if (exponent > 0) large_multiply_pow10(&d->scale, exponent);
  if (exponent < 0) {
    large_multiply_pow10(&d->value, -exponent);
    large_multiply_pow10(&d->low, -exponent);
    large_multiply_pow10(&d->high, -exponent);
  }
  if (large_compare(&d->value, &d->scale) < 0) {
    times_ten(d);
    exponent--;
  } else {
    large ten = d->scale;
    large_multiply(&ten, 10);
    if (large_compare(&d->value, &ten) >= 0) {
      d->scale = ten;
      exponent++;
    }
  }
  d->exponent = exponent;
}

static int take_digit(digit_division *d) {
  int digit = 0;
  while (large_compare(&d->value, &d->scale) >= 0) {
    large_subtract(&d->value, &d->scale);
    digit++;
  }
  return digit;
}

// Whether the number still reads back if the remainder is dropped (may_drop), or if the last digit is incremented
// instead (may_put_up).
static bool may_drop(const digit_division *d) {
  int order = large_compare(&d->value, &d->low);
  return d->is_even ? order <= 0 : order < 0;
}

static bool may_put_up(const digit_division *d) {
  large above = d->value;
  large_add(&above, &d->high);
  int order = large_compare(&above, &d->scale);
  return d->is_even ? order >= 0 : order > 0;
}

static bool rounds_up(const digit_division *d, int last_digit) {
  large doubled = d->value;
  large_multiply(&doubled, 2);
  int order = large_compare(&doubled, &d->scale);
  return order > 0 || (order == 0 && last_digit % 2 == 1);
}

// Increments the last digit. Trailing 9s are removed; if all digits are 9, the result is 1 with the exponent increased by one.
static void put_up(tsri_digits *out) {
  while (out->count > 0 && out->digits[out->count - 1] == '9') out->count--;
  if (out->count > 0) {
    out->digits[out->count - 1]++;
    return;
  }
  out->digits[out->count++] = '1';
  out->exponent++;
}

static void trim_zeros(tsri_digits *out) {
  while (out->count > 1 && out->digits[out->count - 1] == '0') out->count--;
}

// Whether the digit just taken (the `count`-th, at 10^exponent) reaches the bound.
static bool is_past(tsri_digit_bounds bounds, int bound, int count, int exponent) {
  return bounds.behind_point ? -exponent >= bound : count >= bound;
}

static void divide(digit_division *d, tsri_digit_bounds bounds, tsri_digits *out) {
  for (;;) {
    int digit = take_digit(d);
    out->digits[out->count++] = (char)('0' + digit);
    bool low = may_drop(d), high = may_put_up(d);
    bool is_enough = bounds.least < 0 || is_past(bounds, bounds.least, out->count, d->exponent);
    bool is_cut =
        out->count == TSRI_DIGITS_MAX || (bounds.most >= 0 && is_past(bounds, bounds.most, out->count, d->exponent));
    if (((low || high) && is_enough) || is_cut) {
      if (low == high ? rounds_up(d, digit) : high) put_up(out);
      return;
    }
    times_ten(d);
    d->exponent--;
  }
}

void tsri_digits_of(double value, tsr_dtype dtype, tsri_digit_bounds bounds, tsri_digits *out_digits) {
  out_digits->is_negative = signbit(value) != 0;
  out_digits->exponent = 0;
  out_digits->count = 0;
  if (value == 0) {
    out_digits->digits[out_digits->count++] = '0';
    return;
  }
  double magnitude = fabs(value);
  binary parts = take_apart(magnitude, dtype);
  digit_division d;
  set_up(&d, &parts);
  normalise(&d, magnitude);
  out_digits->exponent = d.exponent;
  divide(&d, bounds, out_digits);
  trim_zeros(out_digits);
}
