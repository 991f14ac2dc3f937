// SPDX-License-Identifier: MIT
// Building blocks of the f32 functions. Included by math_isa.c only, once per SIMD level.
//
// All of this is straight-line code on one lane: no branches, no calls, selections by ?: between computed values, conditions joined by & and
// (gcc treats && and || as branches), bits by memcpy. So compilers vectorise a loop around it at every level.
#ifndef TSRI_CPU_MATH_F32_BASE_H
#define TSRI_CPU_MATH_F32_BASE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define LANE static inline __attribute__((always_inline))
#else
#define LANE static inline
#endif

LANE uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

LANE float float_of(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

LANE uint64_t bits64_of(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

LANE double double_of(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define HAS_FMA 1
#endif

// a * b + c, rounded once where the level has the instruction (HAS_FMA).
LANE float mad(float a, float b, float c) {
#if defined(HAS_FMA)
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

LANE double mad64(double a, double b, double c) {
#if defined(HAS_FMA)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

LANE float magnitude(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
LANE uint32_t sign_of(float x) { return bits_of(x) & 0x80000000u; }

// The magnitude `size` (not negative, or NaN) with the sign of x.
LANE float with_sign(float size, float x) { return float_of(bits_of(size) | sign_of(x)); }

// min(x, bound), or x if it is NaN; one instruction.
LANE float at_most(float bound, float x) { return bound < x ? bound : x; }
LANE float at_least(float bound, float x) { return bound > x ? bound : x; }

// Adding this to |x| < 2^22 leaves the nearest integer in the low bits; subtracting it again gives that integer as a float.
#define ROUNDER 0x1.8p23f

// pi/2 and pi as sums of an f32 and a remainder.
#define HALF_PI_HI 0x1.921fb6p+0f
#define HALF_PI_LO (-0x1.777a5cp-25f)
#define PI_HI      0x1.921fb6p+1f
#define PI_LO      (-0x1.777a5cp-24f)

#endif
