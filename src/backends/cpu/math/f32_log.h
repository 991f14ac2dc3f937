// SPDX-License-Identifier: MIT
// Logarithms, one f32 lane at a time. See f32_base.h for the rules.
//
// All start from x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). Coefficients: bench/math_fit.py.
#ifndef TSRI_CPU_MATH_F32_LOG_H
#define TSRI_CPU_MATH_F32_LOG_H

#include "backends/cpu/math/f32_base.h"
#include "backends/cpu/math/f32_exp.h"

typedef struct lane_log_parts {
  float e, f;
} lane_log_parts;

// Subtracting the bits of sqrt(1/2) turns the exponent field into e, if 1 + f is between sqrt(1/2) and sqrt(2).
#define SQRT_HALF_BITS 0x3f3504f3u

// x is positive and finite; it may be subnormal.
LANE lane_log_parts log_split(float x) {
  float lifted = x * 0x1p23f;
  float normal = x < 0x1p-126f ? lifted : x;
  float lift = x < 0x1p-126f ? -23.0f : 0.0f;
  uint32_t u = bits_of(normal) - SQRT_HALF_BITS;
  float e = (float)((int32_t)u >> 23) + lift;
  return (lane_log_parts){.e = e, .f = float_of((u & 0x7fffffu) + SQRT_HALF_BITS) - 1.0f};
}

// P in log(1 + f) = f - f^2/2 + f^3 P(f)
LANE float log_poly(float f) {
  float p = mad(f, -0x1.38c9d8p-4f, 0x1.055ecap-3f);
  p = mad(f, p, -0x1.0d8244p-3f);
  p = mad(f, p, 0x1.22d92ep-3f);
  p = mad(f, p, -0x1.54728ap-3f);
  p = mad(f, p, 0x1.99a01cp-3f);
  p = mad(f, p, -0x1.000226p-2f);
  return mad(f, p, 0x1.555554p-2f);
}

LANE float log_of_parts(float e, float f) {
  float square = f * f;
  float tail = mad(square * f, log_poly(f), e * LN2_LO);
  return mad(e, LN2_HI, f - mad(0.5f, square, -tail));
}

// y if x is positive and finite; otherwise the value of log at x = 0, infinity, NaN or a negative number.
LANE float log_special(float x, float y) {
  float other = x == 0.0f ? -INFINITY : x * INFINITY;  // for a negative number -infinity, which becomes NaN next
  other = x < 0.0f ? NAN : other;
  return ((x > 0.0f) & (x < INFINITY)) ? y : other;
}

LANE float log_f32(float x) {
  lane_log_parts l = log_split(x);
  return log_special(x, log_of_parts(l.e, l.f));
}

// With s = 2^-e, 1 + f = s (1 + x) is computed without rounding 1 + x.
LANE float log1p_f32(float x) {
  uint32_t u = bits_of(1.0f + x) - SQRT_HALF_BITS;
  int32_t e = (int32_t)u >> 23;
  int32_t half = e >> 1;
  float s1 = float_of((uint32_t)(127 - half) << 23), s2 = float_of((uint32_t)(127 - (e - half)) << 23);
  float f = x * s1 * s2 + (s1 * s2 - 1.0f);
  float y = log_of_parts((float)e, f);
  float same_sign = with_sign(magnitude(y), x);  // for -0
  return log_special(1.0f + x, same_sign);
}

// log(1 + f) / log(base) as hi * c_hi + rest. The product is exact, since hi and c_hi have 12 bits each.
typedef struct lane_split_product {
  float exact, rest;
} lane_split_product;

LANE lane_split_product log_times(float f, float c_hi, float c_lo) {
  float square = f * f;
  float half_square = 0.5f * square;
  float hi = float_of(bits_of(f - half_square) & 0xfffff000u);
  float lo = mad(square * f, log_poly(f), (f - hi) - half_square);
  return (lane_split_product){.exact = hi * c_hi, .rest = mad(lo, c_hi + c_lo, hi * c_lo)};
}

LANE float log2_f32(float x) {
  lane_log_parts l = log_split(x);
  lane_split_product p = log_times(l.f, 0x1.716p+0f, -0x1.7135a8p-13f);
  float sum = l.e + p.exact;
  float lost = p.exact - (sum - l.e);
  return log_special(x, sum + (p.rest + lost));
}

LANE float log10_f32(float x) {
  lane_log_parts l = log_split(x);
  lane_split_product p = log_times(l.f, 0x1.bccp-2f, -0x1.09d5b2p-15f);
  float whole = l.e * 0x1.344p-2f;  // log10(2), 12 bits: exact
  float sum = whole + p.exact;
  float lost = p.exact - (sum - whole);
  return log_special(x, sum + (mad(l.e, 0x1.3509f8p-18f, p.rest) + lost));
}

#endif
