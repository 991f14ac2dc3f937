// SPDX-License-Identifier: MIT
// The f32 functions of math/f32_*.h, translated to operations in the same order, so that results have the same bits. Those files explain each step. Circular
// functions are in functions_trig.c, pow in functions_pow.c.
#include <math.h>

#include "backends/cpu/jit/target.h"

#include "backends/cpu/jit/functions_build.h"
#include "backends/cpu/math/math.h"

#define LN2_HI      0x1.62e4p-1f
#define LN2_LO      0x1.7f7d1cp-20f
#define LOG2_E      0x1.715476p+0f
#define EXP_ROUNDER (0x1.8p23f + 254.0f)

// --- exp --------------------------------------------------------------------------------------------------------------

typedef struct exp_parts {
  v k, r, biased_k;
} exp_parts;

static exp_parts exp_split(jit_ir *ir, v x) {
  v t = mad(ir, x, num(ir, LOG2_E), num(ir, EXP_ROUNDER));
  v k = sub(ir, t, num(ir, EXP_ROUNDER));
  return (exp_parts){.k = k, .r = mad(ir, k, num(ir, -LN2_LO), mad(ir, k, num(ir, -LN2_HI), x)), .biased_k = t};
}

// p * 2^k. JIT_SCALE_F rounds once, as the second multiplication of `scale` in f32_exp.h does.
static v scale(jit_ir *ir, v p, const exp_parts *e) {
  if (ir->target->scales_by_powers) return jit_binary(ir, JIT_SCALE_F, p, e->k);
  v half = jit_shift(ir, JIT_SHIFT_RIGHT, e->biased_k, 1);
  v scaled = mul(ir, p, shift_left(ir, half, 23));
  return mul(ir, scaled, shift_left(ir, sub_bits(ir, e->biased_k, half), 23));
}

static v exp_poly(jit_ir *ir, v r) {
  v q = POLY(ir, r, 0x1.6b9ce6p-10f, 0x1.12256cp-7f, 0x1.5556f2p-5f, 0x1.5554b4p-3f, 0x1.fffffep-2f);
  return mad(ir, mul(ir, r, r), q, r);
}

static v within(jit_ir *ir, float bound, v x) {
  return at_most(ir, bound,
                 jit_binary(ir, JIT_MAX_F, num(ir, -bound), x));  // returns x if it is NaN, in both operations
}

static v make_exp(jit_ir *ir, v x) {
  exp_parts e = exp_split(ir, within(ir, 104.0f, x));
  return scale(ir, add(ir, num(ir, 1.0f), exp_poly(ir, e.r)), &e);
}

static v make_exp2(jit_ir *ir, v x) {
  x = within(ir, 151.0f, x);
  v t = add(ir, x, num(ir, EXP_ROUNDER));
  exp_parts e = {.k = sub(ir, t, num(ir, EXP_ROUNDER)), .biased_k = t};
  v r = sub(ir, x, e.k);
  v q = POLY(ir, r, 0x1.417be2p-13f, 0x1.5f093ap-10f, 0x1.3b2ddp-7f, 0x1.c6af7ap-5f, 0x1.ebfbdcp-3f, 0x1.62e43p-1f);
  return scale(ir, mad(ir, r, q, num(ir, 1.0f)), &e);
}

static v make_expm1(jit_ir *ir, v x) {
  exp_parts e = exp_split(ir, within(ir, 88.75f, x));
  v p = exp_poly(ir, e.r);
  v h = shift_left(ir, sub_bits(ir, e.biased_k, jit_bits(ir, 128u)), 23);
  h = jit_select(ir, less(ir, e.k, num(ir, -64.0f)), num(ir, 0.0f), h);
  v y = mul(ir, num(ir, 2.0f), mad(ir, h, p, sub(ir, h, num(ir, 0.5f))));
  y = jit_select(ir, jit_compare(ir, JIT_EQ_F, e.k, num(ir, 0.0f)), p, y);
  return with_sign(ir, magnitude(ir, y), x);
}

static v half_exp(jit_ir *ir, v x) {
  exp_parts e = exp_split(ir, at_most(ir, 90.0f, x));
  return scale(ir, mad(ir, num(ir, 0.5f), exp_poly(ir, e.r), num(ir, 0.5f)), &e);
}

static v make_sinh(jit_ir *ir, v x) {
  v a = magnitude(ir, x), z = mul(ir, a, a);
  v p = POLY(ir, z, 0x1.756c1ep-19f, 0x1.a022bcp-13f, 0x1.1110ep-7f, 0x1.555556p-3f);
  v near = mad(ir, mul(ir, a, z), p, a);
  v half = half_exp(ir, a);
  v far = sub(ir, half, divide(ir, num(ir, 0.25f), half));
  return with_sign(ir, jit_select(ir, less(ir, a, num(ir, 1.0f)), near, far), x);
}

static v make_cosh(jit_ir *ir, v x) {
  v half = half_exp(ir, magnitude(ir, x));
  return add(ir, half, divide(ir, num(ir, 0.25f), half));
}

static v exp_plain(jit_ir *ir, v x) {
  exp_parts e = exp_split(ir, x);
  v p = add(ir, num(ir, 1.0f), exp_poly(ir, e.r));
  if (ir->target->scales_by_powers) return scale(ir, p, &e);
  return mul(ir, shift_left(ir, sub_bits(ir, e.biased_k, jit_bits(ir, 127u)), 23), p);
}

static v make_tanh(jit_ir *ir, v x) {
  v a = magnitude(ir, x), z = mul(ir, a, a);
  v p = POLY(ir, z, -0x1.828774p-8f, 0x1.54c3c2p-6f, -0x1.b89abap-5f, 0x1.1109bep-3f, -0x1.55553ep-2f);
  v near = mad(ir, mul(ir, a, z), p, a);
  v bounded = at_most(ir, 9.1f, a);
  v power = exp_plain(ir, mul(ir, num(ir, 2.0f), bounded));
  v far = sub(ir, num(ir, 1.0f), divide(ir, num(ir, 2.0f), add(ir, power, num(ir, 1.0f))));
  return with_sign(ir, jit_select(ir, less(ir, a, num(ir, 0.6f)), near, far), x);
}

static v make_erf(jit_ir *ir, v x) {
  v a = magnitude(ir, x), z = mul(ir, a, a);
  v p = POLY(ir, z, 0x1.4771fcp-14f, -0x1.a3515ep-11f, 0x1.53f224p-8f, -0x1.b7f71ap-6f, 0x1.ce2ce6p-4f, -0x1.81273ep-2f,
             0x1.06eba8p-3f);
  v near = mad(ir, a, p, a);
  v t = at_most(ir, 2.0f, sub(ir, a, num(ir, 2.0f)));
  v q = POLY(ir, t, 0x1.1e9f72p-17f, -0x1.60b3e2p-13f, 0x1.77d05cp-11f, -0x1.d1fa4p-9f, 0x1.0e01bp-6f, 0x1.d8f624p-1f,
             0x1.1ac322p+2f, 0x1.575b32p+2f);
  v minus_q = jit_binary(ir, JIT_XOR, q, jit_bits(ir, 0x80000000u));
  v far = sub(ir, num(ir, 1.0f), exp_plain(ir, minus_q));
  return with_sign(ir, jit_select(ir, less(ir, a, num(ir, 1.0f)), near, far), x);
}

// --- log --------------------------------------------------------------------------------------------------------------

#define SQRT_HALF_BITS 0x3f3504f3u

static v whole_of(jit_ir *ir, v u) { return jit_unary(ir, JIT_FLOAT_OF_I, jit_shift(ir, JIT_SHIFT_ARITHMETIC, u, 23)); }

jit_log_parts tsri_jit_log_split(jit_ir *ir, v x) {
  v is_small = less(ir, x, num(ir, 0x1p-126f));
  v normal = jit_select(ir, is_small, mul(ir, x, num(ir, 0x1p23f)), x);
  v lift = jit_select(ir, is_small, num(ir, -23.0f), num(ir, 0.0f));
  v u = sub_bits(ir, normal, jit_bits(ir, SQRT_HALF_BITS));
  v fraction = add_bits(ir, jit_binary(ir, JIT_AND, u, jit_bits(ir, 0x7fffffu)), jit_bits(ir, SQRT_HALF_BITS));
  return (jit_log_parts){.e = add(ir, whole_of(ir, u), lift), .f = sub(ir, fraction, num(ir, 1.0f))};
}

static v log_poly(jit_ir *ir, v f) {
  return POLY(ir, f, -0x1.38c9d8p-4f, 0x1.055ecap-3f, -0x1.0d8244p-3f, 0x1.22d92ep-3f, -0x1.54728ap-3f, 0x1.99a01cp-3f,
              -0x1.000226p-2f, 0x1.555554p-2f);
}

static v log_of_parts(jit_ir *ir, v e, v f) {
  v square = mul(ir, f, f);
  v tail = mad(ir, mul(ir, square, f), log_poly(ir, f), mul(ir, e, num(ir, LN2_LO)));
  v minus_tail = jit_binary(ir, JIT_XOR, tail, jit_bits(ir, 0x80000000u));
  return mad(ir, e, num(ir, LN2_HI), sub(ir, f, mad(ir, num(ir, 0.5f), square, minus_tail)));
}

static v log_special(jit_ir *ir, v x, v y) {
  v zero = num(ir, 0.0f), infinity = num(ir, INFINITY);
  v other = jit_select(ir, jit_compare(ir, JIT_EQ_F, x, zero), num(ir, -INFINITY), mul(ir, x, infinity));
  other = jit_select(ir, less(ir, x, zero), num(ir, NAN), other);
  // Two selections instead of one with both conditions combined, because both conditions can then stay in mask registers.
  return jit_select(ir, less(ir, zero, x), jit_select(ir, less(ir, x, infinity), y, other), other);
}

static v make_log(jit_ir *ir, v x) {
  jit_log_parts l = tsri_jit_log_split(ir, x);
  return log_special(ir, x, log_of_parts(ir, l.e, l.f));
}

static v make_log1p(jit_ir *ir, v x) {
  v above = add(ir, num(ir, 1.0f), x);
  v u = sub_bits(ir, above, jit_bits(ir, SQRT_HALF_BITS));
  v e = jit_shift(ir, JIT_SHIFT_ARITHMETIC, u, 23);
  v half = jit_shift(ir, JIT_SHIFT_ARITHMETIC, e, 1);
  v s1 = shift_left(ir, sub_bits(ir, jit_bits(ir, 127u), half), 23);
  v s2 = shift_left(ir, sub_bits(ir, jit_bits(ir, 127u), sub_bits(ir, e, half)), 23);
  v moved = mul(ir, mul(ir, x, s1), s2);
  v f = add(ir, moved, sub(ir, mul(ir, s1, s2), num(ir, 1.0f)));
  v y = log_of_parts(ir, whole_of(ir, u), f);
  return log_special(ir, above, with_sign(ir, magnitude(ir, y), x));
}

typedef struct split_product {
  v exact, rest;
} split_product;

static split_product log_times(jit_ir *ir, v f, float c_hi, float c_lo) {
  v square = mul(ir, f, f);
  v half_square = mul(ir, num(ir, 0.5f), square);
  v hi = jit_binary(ir, JIT_AND, sub(ir, f, half_square), jit_bits(ir, 0xfffff000u));
  v lo = mad(ir, mul(ir, square, f), log_poly(ir, f), sub(ir, sub(ir, f, hi), half_square));
  return (split_product){.exact = mul(ir, hi, num(ir, c_hi)),
                         .rest = mad(ir, lo, num(ir, c_hi + c_lo), mul(ir, hi, num(ir, c_lo)))};
}

static v make_log2(jit_ir *ir, v x) {
  jit_log_parts l = tsri_jit_log_split(ir, x);
  split_product p = log_times(ir, l.f, 0x1.716p+0f, -0x1.7135a8p-13f);
  v sum = add(ir, l.e, p.exact);
  v lost = sub(ir, p.exact, sub(ir, sum, l.e));
  return log_special(ir, x, add(ir, sum, add(ir, p.rest, lost)));
}

static v make_log10(jit_ir *ir, v x) {
  jit_log_parts l = tsri_jit_log_split(ir, x);
  split_product p = log_times(ir, l.f, 0x1.bccp-2f, -0x1.09d5b2p-15f);
  v whole = mul(ir, l.e, num(ir, 0x1.344p-2f));
  v sum = add(ir, whole, p.exact);
  v lost = sub(ir, p.exact, sub(ir, sum, whole));
  return log_special(ir, x, add(ir, sum, add(ir, mad(ir, l.e, num(ir, 0x1.3509f8p-18f), p.rest), lost)));
}

// --- The table --------------------------------------------------------------------------------------------------------

static v make_sqrt(jit_ir *ir, v x) { return jit_unary(ir, JIT_SQRT_F, x); }
static v make_rsqrt(jit_ir *ir, v x) { return divide(ir, num(ir, 1.0f), make_sqrt(ir, x)); }

static v (*const makers[TSRI_MATH_COUNT])(jit_ir *ir, v x) = {
    [TSRI_MATH_SQRT] = make_sqrt,     [TSRI_MATH_RSQRT] = make_rsqrt,   [TSRI_MATH_EXP] = make_exp,
    [TSRI_MATH_EXP2] = make_exp2,     [TSRI_MATH_EXPM1] = make_expm1,   [TSRI_MATH_LOG] = make_log,
    [TSRI_MATH_LOG2] = make_log2,     [TSRI_MATH_LOG10] = make_log10,   [TSRI_MATH_LOG1P] = make_log1p,
    [TSRI_MATH_SINH] = make_sinh,     [TSRI_MATH_COSH] = make_cosh,     [TSRI_MATH_TANH] = make_tanh,
    [TSRI_MATH_ERF] = make_erf,       [TSRI_MATH_SIN] = tsri_jit_sin,   [TSRI_MATH_COS] = tsri_jit_cos,
    [TSRI_MATH_TAN] = tsri_jit_tan,   [TSRI_MATH_ASIN] = tsri_jit_asin, [TSRI_MATH_ACOS] = tsri_jit_acos,
    [TSRI_MATH_ATAN] = tsri_jit_atan,
};

bool tsri_jit_has_limit(uint32_t function) {
  return function == TSRI_MATH_SIN || function == TSRI_MATH_COS || function == TSRI_MATH_TAN;
}

bool tsri_jit_has_math(const jit_target *target, uint32_t function) {
  if (function == TSRI_MATH_POW) return target->has_64_bits;
  bool has_limit = tsri_jit_has_limit(function);
  if (has_limit && !target->has_fixed_streams) return false;
  return function == TSRI_MATH_ATAN2 || makers[function];
}

jit_value tsri_jit_math(jit_ir *ir, uint32_t function, jit_value x, jit_value y) {
  if (function == TSRI_MATH_POW) return tsri_jit_pow(ir, x, y);
  if (function == TSRI_MATH_ATAN2) return tsri_jit_atan2(ir, x, y);
  return makers[function](ir, x);
}
