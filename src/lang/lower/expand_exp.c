// SPDX-License-Identifier: MIT
// Expansions of exp and of functions built on it.
//
// All start from x = k ln2 + r with an integer k and |r| <= ln2 / 2.
#include "lang/lower/expand_build.h"

// Adding this constant leaves k + 2 * bias in the low bits of the float. Each half of that number contains the bias
// once, so the halves are exponents that only need to be shifted into place.
static node exp_rounder(tsri_expander *e) { return num(e, e->k->rounder + 2.0 * (double)e->k->bias); }

static exp_nodes exp_split(tsri_expander *e, node x) {
  node rounder = exp_rounder(e);
  node t = mad(e, x, num(e, e->k->log2_e), rounder);
  node k = sub(e, t, rounder);
  node r = mad(e, k, num(e, -e->k->ln2_lo), mad(e, k, num(e, -e->k->ln2_hi), x));
  return (exp_nodes){.k = k, .r = r, .biased_k = iand(e, bits_of(e, t), e->k->mantissa >> 1)};
}

// p * 2^k, as two factors, so that subnormal results are rounded once and too large ones become infinity.
node tsri_expand_scale(tsri_expander *e, node p, node biased_k) {
  int m = e->k->mantissa_bits;
  node half = shr(e, biased_k, 1);
  node rest = iop(e, TSRI_OP_SUB, biased_k, half);
  return mul(e, mul(e, p, float_of(e, shl(e, half, m))), float_of(e, shl(e, rest, m)));
}

// e^r - 1 = r + r^2 q(r)
static node exp_poly(tsri_expander *e, node r) { return mad(e, freely(e, mul(e, r, r)), horner(e, e->k->exp, r), r); }

// e^r. It is then multiplied by a power of 2, which is exact in any order.
static node exp_near(tsri_expander *e, node r) { return freely(e, add(e, num(e, 1), exp_poly(e, r))); }

// 2^(2 t) as the square of 2^t: if the square is subnormal, 2^t is not, which some devices would flush to 0. SwiftShader's exp2 of NaN is infinity.
static node narrow_power(tsri_expander *e, node t) {
  node root = freely(e, tsri_expand_float_op(e, TSRI_OP_EXP2, t, 0));
  return pick(e, ne(e, t, t), t, mul(e, root, root));
}

// --- By the device's own exp2 (option near_exp2) ----------------------------------------------------------------------

// 2^(x * scale) = 2^r * 2^k.
typedef struct power_nodes {
  node k, two_to_k;
} power_nodes;

// k is the integer nearest to x * scale, limited to -126 … 126. Beyond these limits r grows, and the product of 2^r and 2^k becomes subnormal, 0 or infinite by
// itself. If x is infinite or NaN, so is r.
static power_nodes bounded_power(tsri_expander *e, node x, double scale) {
  const double most = (double)e->k->bias - 1,
               rounder = e->k->rounder + 1;  // rounder + most leaves k + bias in the low bits
  node share = mad(e, x, num(e, scale / (2 * most)), num(e, 0.5));
  share = freely(e, tsri_expand_float_op(e, TSRI_OP_MAX, share, num(e, 0)));
  share = freely(e, tsri_expand_float_op(e, TSRI_OP_MIN, share, num(e, 1)));
  node t = mad(e, share, num(e, 2 * most), num(e, rounder));
  return (power_nodes){.k = sub(e, t, num(e, rounder + most)),
                       .two_to_k = float_of(e, shl(e, bits_of(e, t), e->k->mantissa_bits))};
}

static node own_exp2(tsri_expander *e, node r) { return freely(e, tsri_expand_float_op(e, TSRI_OP_EXP2, r, 0)); }

// e^x as 2^r and 2^k.
static pair exp_factors(tsri_expander *e, node x) {
  power_nodes power = bounded_power(e, x, e->k->log2_e);
  node r = mad(e, x, num(e, e->k->log2_e), freely(e, neg(e, power.k)));
  return (pair){own_exp2(e, mad(e, x, num(e, e->k->log2_e_lo), r)), power.two_to_k};
}

static node exp_by_exp2(tsri_expander *e, node x) {
  pair factors = exp_factors(e, x);
  return mul(e, factors.hi, factors.lo);
}

static node exp2_by_exp2(tsri_expander *e, node x) {
  power_nodes power = bounded_power(e, x, 1);
  return mul(e, own_exp2(e, sub(e, x, power.k)), power.two_to_k);
}

// --- The functions ----------------------------------------------------------------------------------------------------

node tsri_expand_exp(tsri_expander *e, node x) {
  if (e->is_narrow) return narrow_power(e, mul(e, x, num(e, 0.5 * e->k->log2_e)));
  if (e->has_exp2) return exp_by_exp2(e, x);
  x = at_most(e, e->k->exp_high, at_least(e, e->k->exp_low, x));
  exp_nodes parts = exp_split(e, x);
  return tsri_expand_scale(e, exp_near(e, parts.r), parts.biased_k);
}

// 2^r = 1 + r q(r)
node tsri_expand_exp2(tsri_expander *e, node x) {
  if (e->is_narrow) return narrow_power(e, mul(e, x, num(e, 0.5)));
  if (e->has_exp2) return exp2_by_exp2(e, x);
  x = at_most(e, e->k->exp2_high, at_least(e, e->k->exp2_low, x));
  node rounder = exp_rounder(e);
  node t = add(e, x, rounder);
  node r = sub(e, x, sub(e, t, rounder));
  node biased_k = iand(e, bits_of(e, t), e->k->mantissa >> 1);
  return tsri_expand_scale(e, mad(e, r, horner(e, e->k->exp2, r), num(e, 1)), biased_k);
}

// 2^k (e^r - 1 + (1 - 2^-k)). For k = 0 this is the polynomial, which is accurate near 0.
node tsri_expand_expm1(tsri_expander *e, node x) {
  node bounded = at_most(e, e->k->exp_high, at_least(e, e->k->expm1_low, x));
  exp_nodes parts = exp_split(e, bounded);
  node exponent = iop(e, TSRI_OP_SUB, whole(e, 3 * e->k->bias), parts.biased_k);
  node inverse = float_of(e, shl(e, exponent, e->k->mantissa_bits));
  inverse = pick(e, lt(e, num(e, e->k->expm1_far), parts.k), num(e, 0), inverse);
  node sum = add(e, exp_poly(e, parts.r), sub(e, num(e, 1), inverse));
  node y = tsri_expand_scale(e, sum, parts.biased_k);
  return with_sign(e, magnitude(e, y), x);  // keeps -0
}

// e^x / 2 for x >= 0. Overflows only where sinh and cosh do.
static node half_exp(tsri_expander *e, node x) {
  if (e->has_exp2) {
    pair factors = exp_factors(e, x);
    return mul(e, mul(e, factors.hi, num(e, 0.5)), factors.lo);
  }
  exp_nodes parts = exp_split(e, at_most(e, e->k->half_exp_high, x));
  return tsri_expand_scale(e, mad(e, num(e, 0.5), exp_poly(e, parts.r), num(e, 0.5)), parts.biased_k);
}

node tsri_expand_sinh(tsri_expander *e, node x) {
  node a = magnitude(e, x), z = mul(e, a, a);
  node near = mad(e, mul(e, a, z), horner(e, e->k->sinh, z), a);
  node half = half_exp(e, a);
  node far = sub(e, half, divide(e, num(e, 0.25), half));
  return with_sign(e, pick(e, lt(e, a, num(e, 1)), near, far), x);
}

node tsri_expand_cosh(tsri_expander *e, node x) {
  node half = half_exp(e, magnitude(e, x));
  return add(e, half, divide(e, num(e, 0.25), half));
}

// e^x, if neither it nor 2^k is subnormal or infinite.
static node exp_plain(tsri_expander *e, node x) {
  if (e->is_narrow) return narrow_power(e, mul(e, x, num(e, 0.5 * e->k->log2_e)));
  if (e->has_exp2) return exp_by_exp2(e, x);
  exp_nodes parts = exp_split(e, x);
  node exponent = iop(e, TSRI_OP_SUB, parts.biased_k, whole(e, e->k->bias));
  return freely(e, mul(e, float_of(e, shl(e, exponent, e->k->mantissa_bits)), exp_near(e, parts.r)));
}

// A polynomial near 0, otherwise 1 - 2 / (e^2a + 1), where the error of the quotient counts less than half.
node tsri_expand_tanh(tsri_expander *e, node x) {
  node a = magnitude(e, x), z = mul(e, a, a);
  node near = mad(e, mul(e, a, z), horner(e, e->k->tanh, z), a);
  node bounded = at_most(e, e->k->tanh_one, a);  // tanh rounds to 1 from here on
  node quotient = divide(e, num(e, 2), add(e, exp_plain(e, mul(e, num(e, 2), bounded)), num(e, 1)));
  node far = sub(e, num(e, 1), quotient);
  return with_sign(e, pick(e, lt(e, a, num(e, e->k->tanh_limit)), near, far), x);
}

// A polynomial up to 1, otherwise 1 - e^-q(a) with polynomials q that approximate -log(1 - erf).
node tsri_expand_erf(tsri_expander *e, node x) {
  const tsri_expand_consts *k = e->k;
  node a = magnitude(e, x), z = freely(e, mul(e, a, a));
  node near = freely(e, mul(e, a, add(e, horner(e, k->erf_near, z), num(e, 1))));  // a * 0.13 could be subnormal
  node bounded = at_most(e, k->erf_last, a);
  node q = 0;
  for (uint32_t i = 0; i < k->erf_far_count; i++) {
    node part = horner(e, k->erf_far[i], sub(e, bounded, num(e, k->erf_centre[i])));
    q = i == 0 ? part : pick(e, lt(e, bounded, num(e, k->erf_split[i - 1])), q, part);
  }
  node far = freely(e, sub(e, num(e, 1), exp_plain(e, freely(e, neg(e, q)))));
  return with_sign(e, pick(e, lt(e, a, num(e, 1)), near, far), x);
}
