// SPDX-License-Identifier: MIT
// exp and what is built on it, one f32 lane at a time. See f32_base.h for the rules.
//
// All start from x = k ln2 + r with k whole and |r| <= ln2 / 2. Coefficients: bench/math_fit.py.
#ifndef TSRI_CPU_MATH_F32_EXP_H
#define TSRI_CPU_MATH_F32_EXP_H

#include "backends/cpu/math/f32_base.h"

// 15 bits, so that its product with k (8 bits) is exact without fma.
#define LN2_HI 0x1.62e4p-1f
#define LN2_LO 0x1.7f7d1cp-20f
#define LOG2_E 0x1.715476p+0f

// k is stored, plus twice the exponent's bias, in the low bits of a float near ROUNDER. Halves of that, each with the bias once, can be shifted directly into
// exponents.
#define EXP_ROUNDER (ROUNDER + 254.0f)

typedef struct lane_exp_parts {
  float k, r;
  uint32_t biased_k;  // k + 254 in the low bits
} lane_exp_parts;

LANE lane_exp_parts exp_split(float x) {
  float t = mad(x, LOG2_E, EXP_ROUNDER);
  float k = t - EXP_ROUNDER;
  return (lane_exp_parts){.k = k, .r = mad(k, -LN2_LO, mad(k, -LN2_HI, x)), .biased_k = bits_of(t)};
}

// p * 2^k for k from -252 to 254. The factor is applied as two factors, so that subnormal results are rounded once and too large ones become infinity.
LANE float scale(float p, uint32_t biased_k) {
  uint32_t half = biased_k >> 1;
  return p * float_of(half << 23) * float_of((biased_k - half) << 23);
}

// e^r - 1
LANE float exp_poly(float r) {
  float q = mad(r, 0x1.6b9ce6p-10f, 0x1.12256cp-7f);
  q = mad(r, q, 0x1.5556f2p-5f);
  q = mad(r, q, 0x1.5554b4p-3f);
  q = mad(r, q, 0x1.fffffep-2f);
  return mad(r * r, q, r);
}

// x limited to -bound … bound; NaN stays. (A single selection: of a minimum and a maximum, gcc makes three.)
LANE float within(float bound, float x) { return magnitude(x) > bound ? with_sign(bound, x) : x; }

LANE float exp_f32(float x) {
  x = within(104.0f, x);  // beyond 104 the result is the same
  lane_exp_parts e = exp_split(x);
  return scale(1.0f + exp_poly(e.r), e.biased_k);
}

LANE float exp2_f32(float x) {
  x = within(151.0f, x);
  float t = x + EXP_ROUNDER;
  float r = x - (t - EXP_ROUNDER);
  float q = mad(r, 0x1.417be2p-13f, 0x1.5f093ap-10f);
  q = mad(r, q, 0x1.3b2ddp-7f);
  q = mad(r, q, 0x1.c6af7ap-5f);
  q = mad(r, q, 0x1.ebfbdcp-3f);
  q = mad(r, q, 0x1.62e43p-1f);
  return scale(mad(r, q, 1.0f), bits_of(t));
}

// 2 (h p + (h - 1/2)) with p = e^r - 1 and h = 2^k / 2, which does not overflow. For k = 0 that is p, exact near 0.
LANE float expm1_f32(float x) {
  lane_exp_parts e = exp_split(within(88.75f, x));
  float p = exp_poly(e.r);
  float h = float_of((e.biased_k - 128u) << 23);
  h = e.k < -64.0f ? 0.0f : h;
  float y = 2.0f * mad(h, p, h - 0.5f);
  y = e.k == 0.0f ? p : y;            // a subnormal cannot be halved
  return with_sign(magnitude(y), x);  // for -0
}

// e^x / 2 for x >= 0: does not overflow before sinh and cosh do.
LANE float half_exp(float x) {
  lane_exp_parts e = exp_split(at_most(90.0f, x));
  return scale(mad(0.5f, exp_poly(e.r), 0.5f), e.biased_k);
}

LANE float sinh_f32(float x) {
  float a = magnitude(x), z = a * a;
  float p = mad(z, 0x1.756c1ep-19f, 0x1.a022bcp-13f);
  p = mad(z, p, 0x1.1110ep-7f);
  p = mad(z, p, 0x1.555556p-3f);
  float near = mad(a * z, p, a);
  float half = half_exp(a);
  float far = half - 0.25f / half;
  return with_sign(a < 1.0f ? near : far, x);
}

LANE float cosh_f32(float x) {
  float half = half_exp(magnitude(x));
  return half + 0.25f / half;
}

// e^x for |x| < 87, without handling subnormal results and overflow.
LANE float exp_plain(float x) {
  lane_exp_parts e = exp_split(x);
  return float_of((e.biased_k - 127u) << 23) * (1.0f + exp_poly(e.r));
}

// Up to 0.6 a polynomial; beyond that 1 - 2 / (e^2a + 1), where the error of the quotient counts less than half.
LANE float tanh_f32(float x) {
  float a = magnitude(x), z = a * a;
  float p = mad(z, -0x1.828774p-8f, 0x1.54c3c2p-6f);
  p = mad(z, p, -0x1.b89abap-5f);
  p = mad(z, p, 0x1.1109bep-3f);
  p = mad(z, p, -0x1.55553ep-2f);
  float near = mad(a * z, p, a);
  float bounded = at_most(9.1f, a);  // from 9.1 on the result rounds to 1
  float far = 1.0f - 2.0f / (exp_plain(2.0f * bounded) + 1.0f);
  return with_sign(a < 0.6f ? near : far, x);
}

// Up to 1 a polynomial; beyond that 1 - e^-q(a) with a polynomial q near -log(1 - erf).
LANE float erf_f32(float x) {
  float a = magnitude(x), z = a * a;
  float p = mad(z, 0x1.4771fcp-14f, -0x1.a3515ep-11f);
  p = mad(z, p, 0x1.53f224p-8f);
  p = mad(z, p, -0x1.b7f71ap-6f);
  p = mad(z, p, 0x1.ce2ce6p-4f);
  p = mad(z, p, -0x1.81273ep-2f);
  p = mad(z, p, 0x1.06eba8p-3f);
  float near = mad(a, p, a);
  float t = at_most(2.0f, a - 2.0f);  // at 4 the result rounds to 1
  float q = mad(t, 0x1.1e9f72p-17f, -0x1.60b3e2p-13f);
  q = mad(t, q, 0x1.77d05cp-11f);
  q = mad(t, q, -0x1.d1fa4p-9f);
  q = mad(t, q, 0x1.0e01bp-6f);
  q = mad(t, q, 0x1.d8f624p-1f);
  q = mad(t, q, 0x1.1ac322p+2f);
  q = mad(t, q, 0x1.575b32p+2f);
  float far = 1.0f - exp_plain(-q);
  return with_sign(a < 1.0f ? near : far, x);
}

#endif
