// SPDX-License-Identifier: MIT
// Expansions of trigonometric functions and their inverses.
#include "lang/lower/expand_build.h"

// For arguments up to tsri_expand_limit: pi/2 in three parts. x minus k times the first part is exact, since that part
// has few bits and the result is below 1. The product with the second part is kept together with its rounding error.
static trig_nodes near_split(tsri_expander *e, node x) {
  const double *half_pi = e->k->half_pi;
  node rounder = num(e, e->k->rounder);
  node t = mad(e, x, num(e, e->k->two_over_pi), rounder);
  node k = sub(e, t, rounder);
  node first;
  if (e->fma) {
    first = op(e, TSRI_OP_FMA, e->type, k, num(e, -half_pi[0]), x);
  } else {
    pair p = two_product(e, k, num(e, -half_pi[0]));
    first = add(e, add(e, x, p.hi), p.lo);
  }
  pair p = two_product(e, k, num(e, half_pi[1]));
  node hi = sub(e, first, p.hi);
  node lo = sub(e, sub(e, sub(e, first, hi), p.hi), mad(e, k, num(e, half_pi[2]), p.lo));
  return (trig_nodes){.hi = hi, .lo = lo, .k = bits_of(e, t)};
}

static trig_nodes trig_split(tsri_expander *e, node x) {
  return e->is_far ? tsri_expand_reduce(e, x) : near_split(e, x);
}

static node sin_poly(tsri_expander *e, node hi, node lo) {
  node z = mul(e, hi, hi);
  return add(e, hi, mad(e, mul(e, hi, z), horner(e, e->k->sin, z), lo));
}

// 1 - z/2 + z^2 P(z), and the term of lo from the derivative. 1 - z/2 is rounded, and its rounding error is added
// again.
static node cos_poly(tsri_expander *e, node hi, node lo) {
  node z = mul(e, hi, hi), half = mul(e, num(e, 0.5), z), one = num(e, 1);
  node w = sub(e, one, half);
  node lost = sub(e, sub(e, one, w), half);
  node rest = sub(e, mul(e, mul(e, z, z), horner(e, e->k->cos, z)), mul(e, hi, lo));
  return add(e, w, add(e, lost, rest));
}

// sin(x + quarter * pi/2)
static node sin_turned(tsri_expander *e, node x, int64_t quarter) {
  trig_nodes r = trig_split(e, x);
  node k = iop(e, TSRI_OP_ADD, r.k, whole(e, quarter));
  node sine = sin_poly(e, r.hi, r.lo), cosine = cos_poly(e, r.hi, r.lo);
  node y = pick(e, ne(e, iand(e, k, 1), whole(e, 0)), cosine, sine);
  node flip = shl(e, iand(e, k, 2), e->ints.dtype == TSR_U32 ? 30 : 62);
  return float_of(e, iop(e, TSRI_OP_XOR, bits_of(e, y), flip));
}

// y, or x itself if x is so small that sin(x) and tan(x) differ from it by less than a tenth of an ULP. Arithmetic
// would lose the sign of -0, and denormals on devices that flush them.
static node unless_tiny(tsri_expander *e, node x, node y) {
  node is_tiny = lt(e, magnitude(e, x), num(e, e->type.dtype == TSR_F64 ? 0x1p-28 : 0x1p-13));
  return pick(e, is_tiny, x, y);
}

node tsri_expand_sin(tsri_expander *e, node x) { return unless_tiny(e, x, sin_turned(e, x, 0)); }

node tsri_expand_cos(tsri_expander *e, node x) { return sin_turned(e, x, 1); }

node tsri_expand_tan(tsri_expander *e, node x) {
  trig_nodes r = trig_split(e, x);
  node z = mul(e, r.hi, r.hi);
  node small = mad(e, mul(e, r.hi, z), horner(e, e->k->tan, z), mad(e, r.lo, z, r.lo));
  node t = add(e, r.hi, small);
  node y = pick(e, ne(e, iand(e, r.k, 1), whole(e, 0)), divide(e, num(e, -1), t), t);
  return unless_tiny(e, x, y);
}

// asin(s) = s + s z P(z), z = s^2, up to z = 1/4: the part after s.
static node asin_rest(tsri_expander *e, node s, node z) { return mul(e, mul(e, s, z), horner(e, e->k->asin, z)); }

// The square root for arguments above 1/2: sqrt((1 - a) / 2), NaN if a is above 1. `lo` corrects a root that is not
// rounded correctly.
static pair far_root(tsri_expander *e, node z) {
  node s = root(e, z);
  pair square = two_product(e, s, s);
  node residue = sub(e, sub(e, z, square.hi), square.lo);
  node lo = divide(e, residue, mul(e, num(e, 2), s));
  return (pair){s, pick(e, eq(e, z, num(e, 0)), num(e, 0), lo)};
}

// Above 1/2, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
node tsri_expand_asin(tsri_expander *e, node x) {
  node a = magnitude(e, x), is_far = lt(e, num(e, 0.5), a);
  node far_z = mad(e, num(e, -0.5), a, num(e, 0.5));
  pair far_s = far_root(e, far_z);
  node z = pick(e, is_far, far_z, mul(e, a, a));
  node s = pick(e, is_far, far_s.hi, a);
  node rest = asin_rest(e, s, z), two = num(e, 2);
  node sum = mad(e, two, add(e, rest, far_s.lo), num(e, -e->k->half_pi[1]));
  node far = sub(e, sub(e, num(e, e->k->half_pi[0]), mul(e, two, s)), sum);
  node y = pick(e, is_far, far, add(e, s, rest));
  y = pick(e, lt(e, num(e, 1), a), not_a_number(e), y);
  return with_sign(e, magnitude(e, y), x);
}

node tsri_expand_acos(tsri_expander *e, node x) {
  node a = magnitude(e, x), is_far = lt(e, num(e, 0.5), a), two = num(e, 2);
  node far_z = mad(e, num(e, -0.5), a, num(e, 0.5));
  pair far_s = far_root(e, far_z);
  node z = pick(e, is_far, far_z, mul(e, a, a));
  node s = pick(e, is_far, far_s.hi, x);
  node rest = asin_rest(e, s, z);
  node near = sub(e, num(e, e->k->half_pi[0]), sub(e, s, sub(e, num(e, e->k->half_pi[1]), rest)));
  node far_rest = add(e, rest, far_s.lo);
  node right = mul(e, two, add(e, s, far_rest));
  node left = sub(e, sub(e, num(e, e->k->pi[0]), mul(e, two, s)), mad(e, two, far_rest, num(e, -e->k->pi[1])));
  node y = pick(e, is_far, pick(e, lt(e, num(e, 0), x), right, left), near);
  return pick(e, lt(e, num(e, 1), a), not_a_number(e), y);
}

// atan for t from 0 to 1; `lo` is the rounding error of the quotient t.
static node atan_poly(tsri_expander *e, node t, node lo) {
  node z = mul(e, t, t);
  node rest = mad(e, mul(e, t, z), horner(e, e->k->atan, z), divide(e, lo, add(e, num(e, 1), z)));
  return add(e, t, rest);
}

// Quotient a / b and its rounding error. The error term is 0 where a product would overflow or underflow.
static pair quotient(tsri_expander *e, node a, node b) {
  node q = divide(e, a, b);
  pair p = two_product(e, q, b);
  node lo = divide(e, sub(e, sub(e, a, p.hi), p.lo), b);
  node is_small = lt(e, magnitude(e, lo), mul(e, magnitude(e, q), num(e, 0x1p-20)));
  return (pair){q, pick(e, is_small, lo, num(e, 0))};
}

node tsri_expand_atan(tsri_expander *e, node x) {
  node a = magnitude(e, x), one = num(e, 1), is_far = lt(e, one, a);
  pair t = quotient(e, pick(e, is_far, one, a), pick(e, is_far, a, one));
  node inner = atan_poly(e, t.hi, t.lo);
  node outer = sub(e, num(e, e->k->half_pi[0]), sub(e, inner, num(e, e->k->half_pi[1])));
  return with_sign(e, pick(e, is_far, outer, inner), x);
}

// The angle is a multiple of pi/2 plus or minus atan(smaller / larger). Shading languages guarantee quotients only for
// divisors up to 2^126, because devices multiply by the reciprocal: larger operands are scaled down.
node tsri_expand_atan2(tsri_expander *e, node y, node x) {
  const tsri_expand_consts *k = e->k;
  node ax = magnitude(e, x), ay = magnitude(e, y), is_steep = lt(e, ax, ay), zero = num(e, 0);
  node larger = pick(e, is_steep, ay, ax), smaller = pick(e, is_steep, ax, ay);
  node scale = pick(e, lt(e, num(e, 0x1p125), larger), num(e, 0.25), num(e, 1));
  pair t = quotient(e, mul(e, smaller, scale), mul(e, larger, scale));
  t.hi = pick(e, eq(e, larger, zero), zero, t.hi);               // both are 0
  t.hi = pick(e, eq(e, larger, infinity(e)), zero, t.hi);        // a finite number and infinity
  t.hi = pick(e, eq(e, smaller, infinity(e)), num(e, 1), t.hi);  // both are infinite
  node inner = atan_poly(e, t.hi, t.lo);
  node left = iand(e, bits_of(e, x), k->sign), is_left = ne(e, left, whole(e, 0));
  node base_hi = pick(e, is_steep, num(e, k->half_pi[0]), pick(e, is_left, num(e, k->pi[0]), zero));
  node base_lo = pick(e, is_steep, num(e, k->half_pi[1]), pick(e, is_left, num(e, k->pi[1]), zero));
  node turned = iop(e, TSRI_OP_XOR, left, whole(e, k->sign));
  node flip = pick(e, is_steep, turned, left);
  node part = float_of(e, iop(e, TSRI_OP_XOR, bits_of(e, inner), flip));
  node angle = add(e, base_hi, add(e, part, base_lo));
  angle = pick(e, either(e, is_nan(e, x), is_nan(e, y)), not_a_number(e), angle);
  return with_sign(e, magnitude(e, angle), y);
}
