// SPDX-License-Identifier: MIT
// Expansions of logarithms and pow.
//
// All start from x = 2^n (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
#include "lang/lower/expand_build.h"

typedef struct log_nodes {
  node n, f;  // n as a float
} log_nodes;

// Arithmetic right shift of an integer whose bits represent a signed one, giving the exponent.
static node signed_exponent(tsri_expander *e, node u) {
  tsri_ir_type ints = {e->ints.dtype == TSR_U32 ? TSR_I32 : TSR_I64, e->type.lanes};
  node as_signed = put(e, (tsri_ir_expr){.kind = TSRI_EXPR_BITCAST, .type = ints, .a = u});
  node count = constant(e, (tsri_ir_type){TSR_U32, e->type.lanes}, (uint64_t)e->k->mantissa_bits);
  return op(e, TSRI_OP_SHR, ints, as_signed, count, 0);
}

static node to_float(tsri_expander *e, node integer) {
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .type = e->type, .dtype = e->type.dtype, .a = integer});
}

// x is positive and finite, possibly subnormal. After subtracting the bits of sqrt(1/2), the exponent field is n.
static log_nodes log_split(tsri_expander *e, node x) {
  node is_small = lt(e, x, num(e, e->k->smallest_normal));
  node normal = pick(e, is_small, mul(e, x, num(e, e->k->lift)), x);
  node lift = pick(e, is_small, num(e, -(double)e->k->mantissa_bits), num(e, 0));
  node u = iop(e, TSRI_OP_SUB, bits_of(e, normal), whole(e, e->k->sqrt_half));
  node n = add(e, to_float(e, signed_exponent(e, u)), lift);
  node scaled = float_of(e, iop(e, TSRI_OP_ADD, iand(e, u, e->k->mantissa), whole(e, e->k->sqrt_half)));
  return (log_nodes){.n = n, .f = sub(e, scaled, num(e, 1))};
}

// log(1 + f) = f - f^2/2 + tail + more. The tail is f^3 P(f) or, where that polynomial would be long, s (f^2/2 + z
// R(z)).
static node log_tail(tsri_expander *e, node f, node square, node more) {
  if (!e->k->log_by_quotient) return mad(e, mul(e, square, f), horner(e, e->k->log, f), more);
  node s = divide(e, f, add(e, num(e, 2), f)), z = mul(e, s, s);
  node inner = mad(e, z, horner(e, e->k->log, z), mul(e, num(e, 0.5), square));
  return mad(e, s, inner, more);
}

static node log_of_parts(tsri_expander *e, node n, node f) {
  node square = mul(e, f, f);
  node tail = log_tail(e, f, square, mul(e, n, num(e, e->k->ln2_lo)));
  node part = sub(e, f, mad(e, num(e, 0.5), square, neg(e, tail)));
  return mad(e, n, num(e, e->k->ln2_hi), part);
}

// y if x is positive and finite; otherwise the logarithm of 0, infinity, NaN or a negative number.
static node log_special(tsri_expander *e, node x, node y) {
  node zero = num(e, 0), inf = infinity(e);
  node other = pick(e, eq(e, x, zero), neg(e, inf), x);
  other = pick(e, lt(e, x, zero), not_a_number(e), other);
  return pick(e, both(e, lt(e, zero, x), lt(e, x, inf)), y, other);
}

node tsri_expand_log(tsri_expander *e, node x) {
  log_nodes l = log_split(e, x);
  return log_special(e, x, log_of_parts(e, l.n, l.f));
}

// s = 2^-n as two factors: 1 + f = s (1 + x) is computed without first rounding 1 + x.
node tsri_expand_log1p(tsri_expander *e, node x) {
  int m = e->k->mantissa_bits;
  node sum = add(e, num(e, 1), x);
  node u = iop(e, TSRI_OP_SUB, bits_of(e, sum), whole(e, e->k->sqrt_half));
  node n = signed_exponent(e, u);
  tsri_ir_type ints = e->out->nodes[n].type;
  node one = constant(e, (tsri_ir_type){TSR_U32, e->type.lanes}, 1);
  node half = op(e, TSRI_OP_SHR, ints, n, one, 0);
  node bias = constant(e, ints, (uint64_t)e->k->bias),
       count = constant(e, (tsri_ir_type){TSR_U32, e->type.lanes}, (uint64_t)m);
  node rest = op(e, TSRI_OP_SUB, ints, n, half, 0);
  node s1 = float_of(e, op(e, TSRI_OP_SHL, ints, op(e, TSRI_OP_SUB, ints, bias, half, 0), count, 0));
  node s2 = float_of(e, op(e, TSRI_OP_SHL, ints, op(e, TSRI_OP_SUB, ints, bias, rest, 0), count, 0));
  node f = add(e, mul(e, mul(e, x, s1), s2), sub(e, mul(e, s1, s2), num(e, 1)));
  node y = log_of_parts(e, to_float(e, n), f);
  node same_sign = with_sign(e, magnitude(e, y), x);  // keeps -0
  return log_special(e, sum, same_sign);
}

// log(1 + f) / log(base) as hi * c_hi + rest. The product is exact, since hi and c_hi have half of the bits each.
static pair log_times(tsri_expander *e, node f, const double c[2]) {
  node square = mul(e, f, f);
  node half_square = mul(e, num(e, 0.5), square);
  node hi = split(e, sub(e, f, half_square)).hi;
  node lo = log_tail(e, f, square, sub(e, sub(e, f, hi), half_square));
  node rest = mad(e, lo, num(e, c[0] + c[1]), mul(e, hi, num(e, c[1])));
  return (pair){.hi = mul(e, hi, num(e, c[0])), .lo = rest};
}

node tsri_expand_log2(tsri_expander *e, node x) {
  log_nodes l = log_split(e, x);
  pair p = log_times(e, l.f, e->k->log2_c);
  node sum = add(e, l.n, p.hi);
  node lost = sub(e, p.hi, sub(e, sum, l.n));
  return log_special(e, x, add(e, sum, add(e, p.lo, lost)));
}

node tsri_expand_log10(tsri_expander *e, node x) {
  log_nodes l = log_split(e, x);
  pair p = log_times(e, l.f, e->k->log10_c);
  node whole_part = mul(e, l.n, num(e, e->k->log10_2[0]));  // exact
  node sum = add(e, whole_part, p.hi);
  node lost = sub(e, p.hi, sub(e, sum, whole_part));
  node rest = add(e, mad(e, l.n, num(e, e->k->log10_2[1]), p.lo), lost);
  return log_special(e, x, add(e, sum, rest));
}

// --- pow ------------------------------------------------------------------------------------------------------------

// log2 of a positive number with almost twice the precision. With s = f / (2 + f) and z = s^2, log2(1 + f) = s (c0 +
// c1 z + z^2 R(z)). s, z, c0 and c1 are pairs; z^2 R is at most 2^-12 of the sum, so a single number is enough for it.
static pair pow_log2(tsri_expander *e, node a) {
  const tsri_expand_consts *k = e->k;
  log_nodes l = log_split(e, a);
  node two = num(e, 2), d = add(e, two, l.f), d_lo = sub(e, l.f, sub(e, d, two));
  node s = divide(e, l.f, d);
  pair product = two_product(e, s, d);
  node residue = sub(e, sub(e, sub(e, l.f, product.hi), product.lo), mul(e, s, d_lo));
  node s_lo = divide(e, residue, d);

  pair z = two_product(e, s, s);
  z.lo = add(e, z.lo, mul(e, mul(e, two, s), s_lo));
  pair t = two_product(e, num(e, k->pow_c1[0]), z.hi);
  node small = mul(e, mul(e, z.hi, z.hi), horner(e, k->pow_rest, z.hi));
  small = add(e, small, add(e, mul(e, num(e, k->pow_c1[0]), z.lo), mul(e, num(e, k->pow_c1[1]), z.hi)));
  t.lo = add(e, t.lo, small);
  pair b = two_sum(e, num(e, k->pow_c0[0]), t.hi);
  b.lo = add(e, b.lo, add(e, num(e, k->pow_c0[1]), t.lo));
  pair log = two_product(e, s, b.hi);
  log.lo = add(e, log.lo, add(e, mul(e, s, b.lo), mul(e, s_lo, b.hi)));
  pair sum = two_sum(e, l.n, log.hi);
  sum.lo = add(e, sum.lo, log.lo);
  // Normalise again, so that hi is the rounded sum.
  node hi = add(e, sum.hi, sum.lo);
  return (pair){hi, add(e, sub(e, sum.hi, hi), sum.lo)};
}

// |x|^y for the ordinary case: x and y finite, x not 0.
static node pow_core(tsri_expander *e, node a, node y) {
  pair log = pow_log2(e, a);
  pair product = two_product(e, log.hi, y);
  node rest = mad(e, log.lo, y, product.lo);
  node bounded = at_most(e, e->k->pow_limit, at_least(e, -e->k->pow_limit, product.hi));
  rest = pick(e, eq(e, bounded, product.hi), rest, num(e, 0));  // otherwise it overflows or becomes 0, and rest may be
                                                                // NaN

  node rounder = num(e, e->k->rounder + 2.0 * (double)e->k->bias);
  node t = add(e, bounded, rounder);
  node r = sub(e, bounded, sub(e, t, rounder));
  node biased_k = iand(e, bits_of(e, t), e->k->mantissa >> 1);
  node tail = mul(e, num(e, e->k->ln2), rest);  // 2^(r + rest) is approximately 2^r + 2^r ln2 rest
  node q = mul(e, r, horner(e, e->k->exp2, r));
  node p = add(e, num(e, 1), add(e, q, mad(e, q, tail, tail)));
  return tsri_expand_scale(e, p, biased_k);
}

// The special cases of C's pow: |x|^y at 0, infinity and NaN, then the sign and the rules for x < 0.
node tsri_expand_pow(tsri_expander *e, node x, node y) {
  node zero = num(e, 0), one = num(e, 1), inf = infinity(e);
  node a = magnitude(e, x), size_y = magnitude(e, y), y_is_negative = lt(e, y, zero);
  node power = pow_core(e, a, y);
  node big = pick(e, y_is_negative, zero, inf), small = pick(e, y_is_negative, inf, zero);
  power = pick(e, eq(e, a, inf), big, power);
  power = pick(e, eq(e, a, zero), small, power);
  node at_infinite_y = pick(e, lt(e, one, a), big, small);
  power = pick(e, eq(e, size_y, inf), at_infinite_y, power);
  power = pick(e, eq(e, a, one), one, power);

  // Whether y is an integer, and odd. Half of an odd integer is not an integer. Large floats are even integers.
  node half_y = mul(e, y, num(e, 0.5));
  node is_whole = eq(e, op(e, TSRI_OP_TRUNC, e->type, y, 0, 0), y);
  node is_odd = both(e, is_whole, ne(e, op(e, TSRI_OP_TRUNC, e->type, half_y, 0, 0), half_y));
  node sign = iand(e, bits_of(e, x), e->k->sign);
  node flip = pick(e, is_odd, sign, whole(e, 0));
  node signed_power = float_of(e, iop(e, TSRI_OP_XOR, bits_of(e, power), flip));
  node is_bad = both(e, both(e, lt(e, x, zero), lt(e, a, inf)), op(e, TSRI_OP_NOT, e->bools, is_whole, 0, 0));
  node result = pick(e, is_bad, not_a_number(e), signed_power);
  result = pick(e, either(e, is_nan(e, x), is_nan(e, y)), not_a_number(e), result);
  return pick(e, either(e, eq(e, x, one), eq(e, y, zero)), one, result);
}
