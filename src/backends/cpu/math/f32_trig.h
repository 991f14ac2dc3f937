// SPDX-License-Identifier: MIT
// Circular functions and their inverses, one f32 lane at a time. See f32_base.h for the rules.
//
// Coefficients: bench/math_fit.py.
#ifndef TSRI_CPU_MATH_F32_TRIG_H
#define TSRI_CPU_MATH_F32_TRIG_H

#include "backends/cpu/math/f32_base.h"

// The functions named small_ are for arguments up to this limit (and infinities and NaN); math_isa.c handles the others.
#define TRIG_LIMIT 0x1p17f

// x = k pi/2 + hi + lo
typedef struct lane_trig_parts {
  float hi, lo;
  uint32_t k;  // k in its low bits
} lane_trig_parts;

LANE lane_trig_parts trig_split(float x) {
  float t = mad(x, 0x1.45f306p-1f, ROUNDER);
  float k = t - ROUNDER;
#if defined(HAS_FMA)
  // pi/2 in three parts. The first difference is exact, as all its bits are above 2^-24 and it is below 1. The product with the second part is kept with its
  // rounding error.
  float first = mad(k, -HALF_PI_HI, x);
  float product = k * HALF_PI_LO;
  float hi = first - product;
  float lo = ((first - hi) - product) - mad(k, -0x1.ee59dap-50f, mad(k, HALF_PI_LO, -product));
#else
  // In f64, with pi/2 in two parts; k times the first part is exact.
  double wide = (double)k;
  double r = ((double)x - wide * 0x1.921fb544p+0) - wide * 0x1.0b4611a626331p-34;
  float hi = (float)r;
  float lo = (float)(r - (double)hi);
#endif
  return (lane_trig_parts){.hi = hi, .lo = lo, .k = bits_of(t)};
}

LANE float sin_poly(float hi, float lo) {
  float z = hi * hi;
  float p = mad(z, -0x1.995404p-13f, 0x1.110778p-7f);
  p = mad(z, p, -0x1.555546p-3f);
  return hi + mad(hi * z, p, lo);
}

LANE float cos_poly(float hi, float lo) {
  float z = hi * hi;
  float p = mad(z, 0x1.99e80cp-16f, -0x1.6c0c28p-10f);
  p = mad(z, p, 0x1.55554ap-5f);
  return 1.0f - mad(0.5f, z, -mad(z * z, p, -(hi * lo)));
}

// sin(x + quarter * pi/2)
LANE float sin_turned(float x, uint32_t quarter) {
  lane_trig_parts r = trig_split(x);
  uint32_t k = r.k + quarter;
  float sine = sin_poly(r.hi, r.lo), cosine = cos_poly(r.hi, r.lo);
  float y = (k & 1u) != 0 ? cosine : sine;
  return float_of(bits_of(y) ^ ((k & 2u) << 30));
}

LANE float small_sin_f32(float x) {
  float y = sin_turned(x, 0);
  return x == 0.0f ? x : y;
}

LANE float small_cos_f32(float x) { return sin_turned(x, 1); }

LANE float small_tan_f32(float x) {
  lane_trig_parts r = trig_split(x);
  float z = r.hi * r.hi;
  float p = mad(z, 0x1.1e8a68p-8f, 0x1.9efbdp-14f);
  p = mad(z, p, 0x1.62c7dep-7f);
  p = mad(z, p, 0x1.5cc138p-6f);
  p = mad(z, p, 0x1.bad9bep-5f);
  p = mad(z, p, 0x1.110d9ep-3f);
  p = mad(z, p, 0x1.55556p-2f);
  float rest = mad(r.hi * z, p, mad(r.lo, z, r.lo));
  float t = r.hi + rest;
  // 1 / (t + lost) = q - q^2 lost: the quotient has a finer last bit than t, so the rounding error of t must be corrected.
  float lost = rest - (t - r.hi);
  float q = 1.0f / t;
  float inverse = q - q * (q * lost);
  float y = (r.k & 1u) != 0 ? -inverse : t;
  return x == 0.0f ? x : y;
}

// The part of asin(s) after s: asin(s) = s + s z P(z) with z = s^2, up to 1/4.
LANE float asin_rest(float s, float z) {
  float p = mad(z, 0x1.595c92p-5f, 0x1.8c3e28p-6f);
  p = mad(z, p, 0x1.747bbap-5f);
  p = mad(z, p, 0x1.330204p-4f);
  p = mad(z, p, 0x1.5555c8p-3f);
  return s * z * p;
}

// Above 1/2: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)), which is NaN for a > 1.
LANE float asin_f32(float x) {
  float a = magnitude(x);
  float far_z = mad(-0.5f, a, 0.5f);
  float z = a > 0.5f ? far_z : a * a;
  float s = a > 0.5f ? sqrtf(far_z) : a;
  float rest = asin_rest(s, z);
  float whole = HALF_PI_HI - 2.0f * s;
  float lost = (HALF_PI_HI - whole) - 2.0f * s;
  float far = whole - (mad(2.0f, rest, -HALF_PI_LO) - lost);
  return with_sign(a > 0.5f ? far : s + rest, x);
}

LANE float acos_f32(float x) {
  float a = magnitude(x);
  float far_z = mad(-0.5f, a, 0.5f);
  float z = a > 0.5f ? far_z : a * a;
  float s = a > 0.5f ? sqrtf(far_z) : x;
  float rest = asin_rest(s, z);
  float near = HALF_PI_HI - (s - (HALF_PI_LO - rest));
  float right = 2.0f * (s + rest);
  float left = (PI_HI - 2.0f * s) - mad(2.0f, rest, -PI_LO);
  float far = x > 0.0f ? right : left;
  return a > 0.5f ? far : near;
}

// For t from 0 to 1.
LANE float atan_poly(float t) {
  float z = t * t;
  float p = mad(z, -0x1.d35f54p-10f, 0x1.6426fp-7f);
  p = mad(z, p, -0x1.fd7f68p-6f);
  p = mad(z, p, 0x1.da2a76p-5f);
  p = mad(z, p, -0x1.58092cp-4f);
  p = mad(z, p, 0x1.c08c5p-4f);
  p = mad(z, p, -0x1.242086p-3f);
  p = mad(z, p, 0x1.9991e4p-3f);
  p = mad(z, p, -0x1.55553ep-2f);
  return mad(t * z, p, t);
}

LANE float atan_f32(float x) {
  float a = magnitude(x);
  float inner = atan_poly((a > 1.0f ? 1.0f : a) / (a > 1.0f ? a : 1.0f));
  float outer = HALF_PI_HI - (inner - HALF_PI_LO);
  return with_sign(a > 1.0f ? outer : inner, x);
}

// The angle is a multiple of pi/2 plus or minus atan(smaller / larger).
LANE float atan2_f32(float y, float x) {
  float ax = magnitude(x), ay = magnitude(y);
  float larger = ay > ax ? ay : ax, smaller = ay > ax ? ax : ay;
  float t = smaller / larger;
  t = larger == 0.0f ? 0.0f : t;       // 0 and 0
  t = smaller == INFINITY ? 1.0f : t;  // infinity and infinity
  t = atan_poly(t);
  uint32_t left = sign_of(x);
  float across_hi = left != 0 ? PI_HI : 0.0f, across_lo = left != 0 ? PI_LO : 0.0f;
  float base_hi = ay > ax ? HALF_PI_HI : across_hi, base_lo = ay > ax ? HALF_PI_LO : across_lo;
  uint32_t flip = ay > ax ? left ^ 0x80000000u : left;
  float angle = base_hi + (float_of(bits_of(t) ^ flip) + base_lo);
  angle = ((ax != ax) | (ay != ay)) ? NAN : angle;
  return with_sign(angle, y);
}

#endif
