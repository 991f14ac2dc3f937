// SPDX-License-Identifier: MIT
// Types of lanes, and conversions of f16 and bf16, one lane at a time without branches.
//
// The same conversions as core/convert.h, written so that compilers vectorise a loop around them.
#ifndef TSRI_CPU_LANES_CONVERT_LANE_H
#define TSRI_CPU_LANES_CONVERT_LANE_H

#include <stdint.h>
#include <string.h>

#include "core/convert.h"

#if defined(__GNUC__)
#define LANE      static inline __attribute__((always_inline, unused))
#define MAY_ALIAS __attribute__((may_alias))
#else
#define LANE static inline
#define MAY_ALIAS
#endif

// Tells the compiler that loop iterations are independent: an output is the same array as an input or does not overlap it.
#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed"  // some lane functions are calls: those loops are not vectorised
#elif defined(__GNUC__)
#define LANES _Pragma("GCC ivdep")
#else
#define LANES
#endif

// Types that may alias, since a register holds values of different types in turn.
typedef uint32_t MAY_ALIAS u32;
typedef int32_t MAY_ALIAS i32;
typedef int64_t MAY_ALIAS i64;
typedef uint64_t MAY_ALIAS u64;
typedef float MAY_ALIAS f32;
typedef double MAY_ALIAS f64;
typedef uint16_t MAY_ALIAS u16;
typedef int16_t MAY_ALIAS i16;
typedef uint8_t MAY_ALIAS u8;
typedef int8_t MAY_ALIAS i8;

LANE uint32_t bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

LANE float f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

LANE float f32_of_bf16(uint16_t half) { return f32_of_bits((uint32_t)half << 16); }

// Adding half of what is cut off (less one unless the last kept bit is odd) rounds to nearest even.
LANE uint16_t bf16_of_f32(float x) {
  uint32_t bits = bits_of_f32(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t nan = (bits >> 16) | 0x40u;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

// The exponent is adjusted by a multiplication, which also normalises f16's subnormals.
LANE float f32_of_f16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = (uint32_t)(half & 0x7fffu) << 13;
  uint32_t number = bits_of_f32(f32_of_bits(rest) * 0x1p112f);
  uint32_t beyond = rest | 0x7f800000u;  // infinity and NaN
  return f32_of_bits(sign | (rest >= 0x0f800000u ? beyond : number));
}

// Normal results are rounded by adding to the bits; subnormal ones by adding a number whose last bit has the value of f16's last bit.
LANE uint16_t f16_of_f32(float x) {
  uint32_t bits = bits_of_f32(x), sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  uint32_t subnormal = bits_of_f32(f32_of_bits(bits) + 0.5f) - 0x3f000000u;
  uint32_t normal = (bits - 0x38000000u + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  uint32_t number = bits < 0x38800000u ? subnormal : normal;
  uint32_t beyond = bits > 0x7f800000u ? 0x7e00u | (bits >> 13 & 0x3ffu) : 0x7c00u;
  return (uint16_t)(sign | (bits >= 0x477ff000u ? beyond : number));
}

#endif
