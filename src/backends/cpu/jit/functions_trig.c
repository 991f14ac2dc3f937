// SPDX-License-Identifier: MIT
// Circular functions and their inverses as in math/f32_trig.h, with the same constants and order of operations.
//
// For sin, cos and tan of numbers beyond TRIG_LIMIT (2^17), the interpreter calls the C library. Compiled code cannot: it marks such lanes (jit_ir.beyond), and
// the run is then interpreted.
#include <assert.h>
#include <math.h>

#include "backends/cpu/jit/functions_build.h"

#define ROUNDER    0x1.8p23f
#define HALF_PI_HI 0x1.921fb6p+0f
#define HALF_PI_LO (-0x1.777a5cp-25f)
#define PI_HI      0x1.921fb6p+1f
#define PI_LO      (-0x1.777a5cp-24f)

static v greater(jit_ir *ir, v a, v b) { return less(ir, b, a); }
static v equal(jit_ir *ir, v a, v b) { return jit_compare(ir, JIT_EQ_F, a, b); }
static v negate(jit_ir *ir, v x) { return jit_binary(ir, JIT_XOR, x, jit_bits(ir, 0x80000000u)); }

// --- sin, cos, tan ----------------------------------------------------------------------------------------------------

typedef struct trig_parts {
  v hi, lo, k;
} trig_parts;

// Bits of the first number beyond the limit. Subtracting it from a number's bits gives less than JIT_BEYOND (as unsigned numbers) for finite numbers beyond the
// limit, and more for all others.
#define FIRST_BEYOND 0x48000001u
static_assert(FIRST_BEYOND + JIT_BEYOND == 0x7f800000u, "up to infinity");

static void note_beyond(jit_ir *ir, v x) {
  v above = sub_bits(ir, magnitude(ir, x), jit_bits(ir, FIRST_BEYOND));
  ir->beyond = ir->has_beyond ? jit_binary(ir, JIT_MIN_U, ir->beyond, above) : above;
  ir->has_beyond = true;
}

// lo = (first - hi - product) - (k C + (k HALF_PI_LO - product)). The signs in the second difference are inverted, which gives the same bits, because adding a
// product needs no instruction for its sign.
static trig_parts trig_split(jit_ir *ir, v x) {
  note_beyond(ir, x);
  v t = mad(ir, x, num(ir, 0x1.45f306p-1f), num(ir, ROUNDER));
  v k = sub(ir, t, num(ir, ROUNDER));
  v first = mad(ir, k, num(ir, -HALF_PI_HI), x);
  v product = mul(ir, k, num(ir, HALF_PI_LO));
  v hi = sub(ir, first, product);
  v error = mad(ir, k, num(ir, -HALF_PI_LO), product);
  v rest = mad(ir, k, num(ir, 0x1.ee59dap-50f), error);
  return (trig_parts){.hi = hi, .lo = add(ir, sub(ir, sub(ir, first, hi), product), rest), .k = t};
}

static v sin_poly(jit_ir *ir, v hi, v lo) {
  v z = mul(ir, hi, hi);
  v p = POLY(ir, z, -0x1.995404p-13f, 0x1.110778p-7f, -0x1.555546p-3f);
  return add(ir, hi, mad(ir, mul(ir, hi, z), p, lo));
}

// The sign of the polynomial is inverted, for the same reason as in trig_split.
static v cos_poly(jit_ir *ir, v hi, v lo) {
  v z = mul(ir, hi, hi);
  v p = POLY(ir, z, -0x1.99e80cp-16f, 0x1.6c0c28p-10f, -0x1.55554ap-5f);
  v minus_tail = mad(ir, mul(ir, z, z), p, mul(ir, hi, lo));
  return sub(ir, num(ir, 1.0f), mad(ir, num(ir, 0.5f), z, minus_tail));
}

// Is bit 0 of k not set?
static v is_even(jit_ir *ir, v k) {
  return jit_compare(ir, JIT_EQ_I, jit_binary(ir, JIT_AND, k, jit_bits(ir, 1)), jit_bits(ir, 0));
}

static v sin_turned(jit_ir *ir, v x, uint32_t quarter) {
  trig_parts r = trig_split(ir, x);
  v k = quarter == 0 ? r.k : add_bits(ir, r.k, jit_bits(ir, quarter));
  v y = jit_select(ir, is_even(ir, k), sin_poly(ir, r.hi, r.lo), cos_poly(ir, r.hi, r.lo));
  return jit_binary(ir, JIT_XOR, y, shift_left(ir, jit_binary(ir, JIT_AND, k, jit_bits(ir, 2)), 30));
}

v tsri_jit_sin(jit_ir *ir, v x) {
  v y = sin_turned(ir, x, 0);
  return jit_select(ir, equal(ir, x, num(ir, 0.0f)), x, y);
}

v tsri_jit_cos(jit_ir *ir, v x) { return sin_turned(ir, x, 1); }

v tsri_jit_tan(jit_ir *ir, v x) {
  trig_parts r = trig_split(ir, x);
  v z = mul(ir, r.hi, r.hi);
  v p = POLY(ir, z, 0x1.1e8a68p-8f, 0x1.9efbdp-14f, 0x1.62c7dep-7f, 0x1.5cc138p-6f, 0x1.bad9bep-5f, 0x1.110d9ep-3f,
             0x1.55556p-2f);
  v rest = mad(ir, mul(ir, r.hi, z), p, mad(ir, r.lo, z, r.lo));
  v t = add(ir, r.hi, rest);
  v lost = sub(ir, rest, sub(ir, t, r.hi));
  v q = divide(ir, num(ir, 1.0f), t);
  v inverse = sub(ir, q, mul(ir, q, mul(ir, q, lost)));
  v y = jit_select(ir, is_even(ir, r.k), t, negate(ir, inverse));
  return jit_select(ir, equal(ir, x, num(ir, 0.0f)), x, y);
}

// --- Inverses ---------------------------------------------------------------------------------------------------------

static v asin_rest(jit_ir *ir, v s, v z) {
  v p = POLY(ir, z, 0x1.595c92p-5f, 0x1.8c3e28p-6f, 0x1.747bbap-5f, 0x1.330204p-4f, 0x1.5555c8p-3f);
  return mul(ir, mul(ir, s, z), p);
}

v tsri_jit_asin(jit_ir *ir, v x) {
  v a = magnitude(ir, x), is_far = greater(ir, a, num(ir, 0.5f));
  v far_z = mad(ir, num(ir, -0.5f), a, num(ir, 0.5f));
  v z = jit_select(ir, is_far, far_z, mul(ir, a, a));
  v s = jit_select(ir, is_far, jit_unary(ir, JIT_SQRT_F, far_z), a);
  v rest = asin_rest(ir, s, z), twice = mul(ir, num(ir, 2.0f), s);
  v whole = sub(ir, num(ir, HALF_PI_HI), twice);
  v lost = sub(ir, sub(ir, num(ir, HALF_PI_HI), whole), twice);
  v far = sub(ir, whole, sub(ir, mad(ir, num(ir, 2.0f), rest, num(ir, -HALF_PI_LO)), lost));
  return with_sign(ir, jit_select(ir, is_far, far, add(ir, s, rest)), x);
}

v tsri_jit_acos(jit_ir *ir, v x) {
  v a = magnitude(ir, x), is_far = greater(ir, a, num(ir, 0.5f));
  v far_z = mad(ir, num(ir, -0.5f), a, num(ir, 0.5f));
  v z = jit_select(ir, is_far, far_z, mul(ir, a, a));
  v s = jit_select(ir, is_far, jit_unary(ir, JIT_SQRT_F, far_z), x);
  v rest = asin_rest(ir, s, z);
  v near = sub(ir, num(ir, HALF_PI_HI), sub(ir, s, sub(ir, num(ir, HALF_PI_LO), rest)));
  v right = mul(ir, num(ir, 2.0f), add(ir, s, rest));
  v left = sub(ir, sub(ir, num(ir, PI_HI), mul(ir, num(ir, 2.0f), s)), mad(ir, num(ir, 2.0f), rest, num(ir, -PI_LO)));
  v far = jit_select(ir, greater(ir, x, num(ir, 0.0f)), right, left);
  return jit_select(ir, is_far, far, near);
}

static v atan_poly(jit_ir *ir, v t) {
  v z = mul(ir, t, t);
  v p = POLY(ir, z, -0x1.d35f54p-10f, 0x1.6426fp-7f, -0x1.fd7f68p-6f, 0x1.da2a76p-5f, -0x1.58092cp-4f, 0x1.c08c5p-4f,
             -0x1.242086p-3f, 0x1.9991e4p-3f, -0x1.55553ep-2f);
  return mad(ir, mul(ir, t, z), p, t);
}

v tsri_jit_atan(jit_ir *ir, v x) {
  v a = magnitude(ir, x), one = num(ir, 1.0f), is_far = greater(ir, a, one);
  v inner = atan_poly(ir, divide(ir, jit_select(ir, is_far, one, a), jit_select(ir, is_far, a, one)));
  v outer = sub(ir, num(ir, HALF_PI_HI), sub(ir, inner, num(ir, HALF_PI_LO)));
  return with_sign(ir, jit_select(ir, is_far, outer, inner), x);
}

v tsri_jit_atan2(jit_ir *ir, v y, v x) {
  v zero = num(ir, 0.0f), sign = jit_bits(ir, 0x80000000u);
  v ax = magnitude(ir, x), ay = magnitude(ir, y), is_steep = greater(ir, ay, ax);
  v larger = jit_select(ir, is_steep, ay, ax), smaller = jit_select(ir, is_steep, ax, ay);
  v t = divide(ir, smaller, larger);
  t = jit_select(ir, equal(ir, larger, zero), zero, t);
  t = jit_select(ir, equal(ir, smaller, num(ir, INFINITY)), num(ir, 1.0f), t);
  t = atan_poly(ir, t);
  v left = jit_binary(ir, JIT_AND, x, sign);
  v is_right = jit_compare(ir, JIT_EQ_I, left, jit_bits(ir, 0));
  v across_hi = jit_select(ir, is_right, zero, num(ir, PI_HI));
  v across_lo = jit_select(ir, is_right, zero, num(ir, PI_LO));
  v base_hi = jit_select(ir, is_steep, num(ir, HALF_PI_HI), across_hi);
  v base_lo = jit_select(ir, is_steep, num(ir, HALF_PI_LO), across_lo);
  v flip = jit_select(ir, is_steep, jit_binary(ir, JIT_XOR, left, sign), left);
  v angle = add(ir, base_hi, add(ir, jit_binary(ir, JIT_XOR, t, flip), base_lo));
  angle = jit_select(ir, jit_compare(ir, JIT_UNORDERED, ax, ay), num(ir, NAN), angle);
  return with_sign(ir, angle, y);
}
