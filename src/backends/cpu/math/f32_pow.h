// SPDX-License-Identifier: MIT
// pow, one f32 lane at a time, computed in f64. See f32_base.h for the rules.
//
// y log2(x) can be 150 and must be accurate to 2^-25. f64 has that precision, is rounded once when converted to f32, and its wider exponent range makes special
// handling of overflow and subnormals unnecessary. Coefficients: bench/math_fit.py.
#ifndef TSRI_CPU_MATH_F32_POW_H
#define TSRI_CPU_MATH_F32_POW_H

#include "backends/cpu/math/f32_base.h"
#include "backends/cpu/math/f32_log.h"

// log2(a) for a >= 0: with s = f / (2 + f), log2(1 + f) = s P(s^2).
LANE double pow_log2(float a) {
  lane_log_parts l = log_split(a);
  double f = (double)l.f;
  double s = f / (2.0 + f), z = s * s;
  double p = mad64(z, 0x1.5cea8c05606bdp-2, 0x1.a58d667b4e9a3p-2);
  p = mad64(z, p, 0x1.2777803b5dcfcp-1);
  p = mad64(z, p, 0x1.ec709d124fa6ep-1);
  p = mad64(z, p, 0x1.71547652bee6dp+1);
  double y = mad64(s, p, (double)l.e);
  double wide = (double)a;  // comparing the type that is selected is easier to vectorise
  double edge = wide == 0.0 ? -(double)INFINITY : wide;
  return ((wide > 0.0) & (wide < (double)INFINITY)) ? y : edge;
}

// 2^x, rounded to f32.
LANE float pow_exp2(double x) {
  double bounded = 200.0 < x ? 200.0 : x;
  bounded = -200.0 > bounded ? -200.0 : bounded;
  double t = bounded + 0x1.8p52;
  double r = bounded - (t - 0x1.8p52);
  double p = mad64(r, 0x1.41d335bf79a2p-13, 0x1.5f456cc25a2a3p-10);
  p = mad64(r, p, 0x1.3b2dbbc408beap-7);
  p = mad64(r, p, 0x1.c6aed4b50891bp-5);
  p = mad64(r, p, 0x1.ebfbdadca2fe7p-3);
  p = mad64(r, p, 0x1.62e430c7ec483p-1);
  p = mad64(r, p, 0x1.00000002615a1p+0);
  return (float)(p * double_of((bits64_of(t) + 1023u) << 52));
}

// condition ? yes : no by bit operations. With ?:, gcc branches around the work for constant results, and then does not vectorise.
LANE float pick(int condition, float yes, float no) {
  uint32_t mask = 0u - (uint32_t)condition;
  return float_of((bits_of(yes) & mask) | (bits_of(no) & ~mask));
}

// The result of C's pow for x^y, where `power` is |x|^y as computed.
LANE float pow_special(float x, float y, float power) {
  float a = magnitude(x);
  power = pick(a == 1.0f, 1.0f, power);  // for an infinite y

  // Whether y is an integer, and odd. From 2^24 on every float is an even integer.
  float small = pick(magnitude(y) < 0x1p24f, y, 0.0f);
  int32_t whole = (int32_t)small;
  uint32_t fraction = 0u - (uint32_t)((float)whole != small);
  uint32_t flip = sign_of(x) & ~fraction & ((uint32_t)whole << 31);
  float signed_power = float_of(bits_of(power) ^ flip);
  float below = pick((x < 0.0f) & (a < INFINITY) & ((float)whole != small), NAN, signed_power);

  float result = pick((x != x) | (y != y), NAN, below);
  return pick((x == 1.0f) | (y == 0.0f), 1.0f, result);
}

#endif
