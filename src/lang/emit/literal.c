// SPDX-License-Identifier: MIT
#include "lang/emit/literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Writes a decimal with enough digits to read back as the same number. Not hexadecimal, which C++14 lacks.
static void put_decimal(tsri_builder *out, double value, int digits, const char *suffix) {
  char text[48];
  snprintf(text, sizeof text, "%.*e", digits - 1, value);
  size_t point = strcspn(text, "0123456789") + 1, rest = point + strcspn(text + point, "0123456789");
  tsri_builder_add(out, "%.*s.%s%s", (int)point, text, text + rest, suffix);
}

// Writes a finite float. The text is short and exact if `significand` * 2^exponent is an integer or has few binary places.
static void put_float(tsri_builder *out, double value, uint64_t significand, int exponent, bool is_f32) {
  const char *suffix = is_f32 ? "f" : "", *open = signbit(value) ? "(-" : "", *close = signbit(value) ? ")" : "";
  while (significand && !(significand & 1)) {
    significand >>= 1;
    exponent++;
  }
  tsri_builder_string(out, open);
  if (exponent >= -10 && exponent <= 0 && significand >> 40 == 0) {
    uint64_t whole = significand >> -exponent, rest = significand & ((UINT64_C(1) << -exponent) - 1);
    tsri_builder_add(out, "%" PRIu64 ".", whole);
    do {
      rest *= 10;
      tsri_builder_add(out, "%u", (unsigned)(rest >> -exponent));
      rest &= (UINT64_C(1) << -exponent) - 1;
    } while (rest);
    tsri_builder_string(out, suffix);
  } else if (exponent > 0 && exponent < 40 && significand >> (53 - exponent) == 0) {
    tsri_builder_add(out, "%" PRIu64 ".0%s", significand << exponent, suffix);
  } else {
    put_decimal(out, fabs(value), is_f32 ? 9 : 17, suffix);
  }
  tsri_builder_string(out, close);
}

void tsri_literal_f32(tsri_builder *out, uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  uint32_t exponent = (bits >> 23) & 255, fraction = bits & 0x7FFFFFu;
  bool is_small = exponent == 0;  // zero or denormal
  put_float(out, value, is_small ? fraction : fraction | 0x800000u,
            is_small ? (fraction ? -149 : 0) : (int)exponent - 150, true);
}

void tsri_literal_f64(tsri_builder *out, uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  uint64_t exponent = (bits >> 52) & 2047, fraction = bits & ((UINT64_C(1) << 52) - 1);
  bool is_small = exponent == 0;
  put_float(out, value, is_small ? fraction : fraction | UINT64_C(1) << 52,
            is_small ? (fraction ? -1074 : 0) : (int)exponent - 1075, false);
}

void tsri_literal_shortest_f32(tsri_builder *out, float value) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", (double)value);
  size_t point = strspn(text, "+-0123456789e");
  tsri_builder_add(out, text[point] ? "%.*s.%s" : "%.*s%s", (int)point, text, text + point + (text[point] != 0));
}
