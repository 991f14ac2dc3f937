// SPDX-License-Identifier: MIT
// Digits read back as the number, are as few as possible, and agree with libc where they are cut off.
#include "ops/digits.h"

#include <math.h>

#include "core/convert.h"
#include "support/test.h"

// Formats as "-1.25e-3", which libc can read.
static const char *text_of(const tsri_digits *d) {
  static char text[TSRI_DIGITS_MAX + 16];
  snprintf(text, sizeof text, "%s%c.%.*se%d", d->is_negative ? "-" : "", d->digits[0], d->count - 1, d->digits + 1,
           d->exponent);
  return text;
}

static const char *shortest(double value, tsr_dtype dtype) {
  tsri_digits d;
  tsri_digits_of(value, dtype, TSRI_SHORTEST, &d);
  return text_of(&d);
}

static bool reads_back(const char *text, double value, tsr_dtype dtype) {
  double read = strtod(text, NULL);
  if (dtype == TSR_F16) return tsri_f64_to_f16(read) == tsri_f64_to_f16(value);
  if (dtype == TSR_BF16) return tsri_f64_to_bf16(read) == tsri_f64_to_bf16(value);
  if (dtype == TSR_F32) return strtof(text, NULL) == (float)value;
  return read == value;
}

static void check_shortest(double value, tsr_dtype dtype) {
  tsri_digits d;
  char fewer[64];
  tsri_digits_of(value, dtype, TSRI_SHORTEST, &d);
  if (!reads_back(text_of(&d), value, dtype)) {
    test_fail(__FILE__, __LINE__, "%s %a has digits %s", tsr_dtype_name(dtype), value, text_of(&d));
  }
  if (d.count == 1) return;
  CHECK(d.digits[d.count - 1] != '0');
  snprintf(fewer, sizeof fewer, "%.*e", d.count - 2, value);
  if (reads_back(fewer, value, dtype)) {
    test_fail(__FILE__, __LINE__, "%s %a has digits %s, but %s is enough", tsr_dtype_name(dtype), value, text_of(&d),
              fewer);
  }
}

TEST(every_f16_and_bf16_has_its_shortest_digits) {
  for (int bits = 1; bits < 0x7C00; bits++) check_shortest((double)tsri_f16_to_f32((uint16_t)bits), TSR_F16);
  for (int bits = 1; bits < 0x7F80; bits++) check_shortest((double)tsri_bf16_to_f32((uint16_t)bits), TSR_BF16);
}

static uint64_t random_u64(void) {  // xorshift*: the same numbers in every run
  static uint64_t state = UINT64_C(0x853C49E6748FEA9B);
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * UINT64_C(0x2545F4914F6CDD1D);
}

TEST(random_f32_and_f64_have_their_shortest_digits) {
  for (int i = 0; i < 10000; i++) {
    uint64_t bits = random_u64();
    double wide;
    float narrow;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &bits, sizeof narrow);
    if (isfinite(wide)) check_shortest(wide, TSR_F64);
    if (isfinite(narrow)) check_shortest((double)narrow, TSR_F32);
  }
}

TEST(powers_of_two_have_their_shortest_digits) {
  for (int exponent = -1074; exponent < 1024; exponent++) check_shortest(ldexp(1, exponent), TSR_F64);
  for (int exponent = -149; exponent < 128; exponent++) check_shortest(ldexp(1, exponent), TSR_F32);
}

TEST(known_numbers_have_known_digits) {
  CHECK_STR(shortest(5e-324, TSR_F64), "5.e-324");
  CHECK_STR(shortest(1.7976931348623157e308, TSR_F64), "1.7976931348623157e308");
  CHECK_STR(shortest(1e23, TSR_F64), "1.e23");
  // The nearest number with 16 digits does not read back.
  CHECK_STR(shortest(0x1p-44, TSR_F64), "5.684341886080802e-14");
  CHECK_STR(shortest(2.2250738585072014e-308, TSR_F64), "2.2250738585072014e-308");
  CHECK_STR(shortest(0.1, TSR_F64), "1.e-1");
  CHECK_STR(shortest((double)0.1f, TSR_F32), "1.e-1");
  CHECK_STR(shortest((double)1e-45f, TSR_F32), "1.e-45");
  CHECK_STR(shortest(65504, TSR_F16), "6.55e4");
  CHECK_STR(shortest(0x1p-24, TSR_F16), "6.e-8");
  CHECK_STR(shortest(0x1.92p1, TSR_BF16), "3.14e0");
  CHECK_STR(shortest(-0.0, TSR_F64), "-0.e0");
  CHECK_STR(shortest(-1000, TSR_F32), "-1.e3");
}

// libc rounds the exact value, ties to even, as tsri_digits_of does.
TEST(cut_digits_agree_with_libc) {
  for (int i = 0; i < 10000; i++) {
    uint64_t bits = random_u64();
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    int most = 1 + i % 12;
    char wanted[64];
    tsri_digits d;
    tsri_digits_of(value, TSR_F64, (tsri_digit_bounds){false, most, most}, &d);
    snprintf(wanted, sizeof wanted, "%.*e", most - 1, value);
    CHECK(strtod(text_of(&d), NULL) == strtod(wanted, NULL));
    CHECK(d.count <= most);
  }
}

TEST(bounds_behind_the_point_cut_and_extend) {
  tsri_digits d;
  tsri_digits_of(2.0 / 3, TSR_F64, (tsri_digit_bounds){true, -1, 8}, &d);
  CHECK_STR(text_of(&d), "6.6666667e-1");
  tsri_digits_of(9.999999999, TSR_F64, (tsri_digit_bounds){true, -1, 8}, &d);
  CHECK_STR(text_of(&d), "1.e1");
  tsri_digits_of(0.125, TSR_F64, (tsri_digit_bounds){true, -1, 2}, &d);  // a tie: rounded to even
  CHECK_STR(text_of(&d), "1.2e-1");
  tsri_digits_of(65504, TSR_F16, (tsri_digit_bounds){true, 0, 8}, &d);  // all digits before the point
  CHECK_STR(text_of(&d), "6.5504e4");
}
