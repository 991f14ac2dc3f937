// SPDX-License-Identifier: MIT
// Correctly rounded f32 division, for devices whose own may be off by 2.5 ULP. It computes a reciprocal with the device's division, improves it, and corrects
// the quotient by its remainder, which is exact. With the option near_quotient, a second correction rounds correctly; otherwise the quotient is compared with
// the neighbouring floats. This is valid as long as no intermediate result overflows or becomes subnormal. So operands with large or small exponents (option
// `far`) are scaled to numbers between 1 and 2, and the exponent is added afterwards with integers.
#include "lang/lower/expand_build.h"

// Exponents from -31 to 31: then quotient and remainders are normal numbers.
enum { LEAST_EXPONENT = -31, EXPONENTS = 63 };

static node is_near(tsri_expander *e, node x) {
  const tsri_expand_consts *k = e->k;
  node size = iand(e, bits_of(e, x), k->magnitude);
  node above = minus(e, size, whole(e, (k->bias + LEAST_EXPONENT) << k->mantissa_bits));
  return lt(e, above, whole(e, (int64_t)EXPONENTS << k->mantissa_bits));
}

node tsri_expand_div_is_far(tsri_expander *e, node a, node b) {
  return op(e, TSRI_OP_NOT, e->bools, both(e, is_near(e, a), is_near(e, b)), 0, 0);
}

node tsri_expand_remainder(tsri_expander *e, node c, node a, node b) {
  if (e->fma) return op(e, TSRI_OP_FMA, e->type, freely(e, neg(e, a)), b, c);
  pair product = two_product(e, a, b);
  return sub(e, sub(e, c, product.hi), product.lo);
}

// The quotient or the neighbouring float, whichever is nearer to a / b. The remainder says on which side a / b is, and whether its distance is more than half
// of the gap. All of this is exact, and no quotient is exactly halfway between two floats.
static node nearest(tsri_expander *e, node a, node b, node quotient) {
  const tsri_expand_consts *k = e->k;
  node rest = tsri_expand_remainder(e, a, b, quotient), bits = bits_of(e, quotient);
  node signs = iop(e, TSRI_OP_XOR, iop(e, TSRI_OP_XOR, bits_of(e, rest), bits_of(e, b)), bits);
  node grows = lt(e, signs, whole(e, k->sign));
  node next = float_of(e, iop(e, TSRI_OP_ADD, bits, pick(e, grows, whole(e, 1), whole(e, -1))));
  node half_way = mul(e, mul(e, sub(e, next, quotient), num(e, 0.5)), b);
  node is_over = lt(e, iand(e, bits_of(e, half_way), k->magnitude), iand(e, bits_of(e, rest), k->magnitude));
  return pick(e, is_over, next, quotient);
}

static node divide_near(tsri_expander *e, node a, node b) {
  if (e->is_narrow) return divide(e, a, b);
  node one = num(e, 1), rough = divide(e, one, b);
  node reciprocal = mad(e, tsri_expand_remainder(e, one, b, rough), rough, rough);
  node quotient = mul(e, a, reciprocal);
  quotient = mad(e, tsri_expand_remainder(e, a, b, quotient), reciprocal, quotient);
  if (e->has_quotient) return mad(e, tsri_expand_remainder(e, a, b, quotient), reciprocal, quotient);
  return nearest(e, a, b, quotient);
}

// The number with this mantissa between 1 and 2.
static node mantissa_as_float(tsri_expander *e, node mantissa) {
  const tsri_expand_consts *k = e->k;
  return float_of(e, iop(e, TSRI_OP_OR, iand(e, mantissa, k->mantissa), whole(e, k->bias << k->mantissa_bits)));
}

// The magnitude of the quotient of numbers that are not 0, infinite or NaN. An additional lowest bit says on which side of the rounded quotient the exact one
// is, so that rounding again, to fewer bits for a subnormal result, is correct.
static node divide_parts(tsri_expander *e, const float_parts *a, const float_parts *b) {
  enum { PLACES = 5 };  // from the highest bit of a mantissa to the fourth highest bit of a word
  const tsri_expand_consts *k = e->k;
  node x = mantissa_as_float(e, a->mantissa), y = mantissa_as_float(e, b->mantissa);
  node quotient = divide_near(e, x, y), rest = bits_of(e, tsri_expand_remainder(e, x, y, quotient)),
       bits = bits_of(e, quotient);
  node mantissa = iop(e, TSRI_OP_OR, iand(e, bits, k->mantissa), whole(e, k->mantissa + 1));
  node is_exact = is_zero(e, iand(e, rest, k->magnitude)), is_below = lt(e, whole(e, k->magnitude), rest);
  node side = pick(e, is_exact, whole(e, 0), pick(e, is_below, whole(e, -1), whole(e, 1)));
  node number = iop(e, TSRI_OP_ADD, shl(e, mantissa, PLACES), side);
  node exponent = plus(e, minus(e, a->exponent, b->exponent), tsri_expand_exponent_offset(e));
  exponent = iop(e, TSRI_OP_ADD, exponent, shr(e, bits, k->mantissa_bits));
  return tsri_expand_round_pair(e, (pair){number, whole(e, 0)}, exponent);
}

static node divide_far(tsri_expander *e, node a, node b) {
  const tsri_expand_consts *k = e->k;
  float_parts x = tsri_expand_unpack(e, a), y = tsri_expand_unpack(e, b);
  node bits = divide_parts(e, &x, &y), sign = iop(e, TSRI_OP_XOR, x.sign, y.sign);
  node zero = whole(e, 0), infinite = whole(e, k->infinity);
  node a_size = iand(e, bits_of(e, a), k->magnitude), b_size = iand(e, bits_of(e, b), k->magnitude);
  node a_is_zero = is_zero(e, a_size), b_is_zero = is_zero(e, b_size);
  node a_is_infinite = eq(e, a_size, infinite), b_is_infinite = eq(e, b_size, infinite);
  bits = pick(e, either(e, a_is_zero, b_is_infinite), zero, bits);
  bits = pick(e, either(e, b_is_zero, a_is_infinite), infinite, bits);
  node is_undefined = either(e, lt(e, infinite, a_size), lt(e, infinite, b_size));
  is_undefined = either(e, is_undefined, both(e, a_is_zero, b_is_zero));
  is_undefined = either(e, is_undefined, both(e, a_is_infinite, b_is_infinite));
  bits = pick(e, is_undefined, whole(e, k->nan), iop(e, TSRI_OP_OR, bits, sign));
  return float_of(e, bits);
}

node tsri_expand_float_div(tsri_expander *e, node a, node b) {
  return e->is_far ? divide_far(e, a, b) : divide_near(e, a, b);
}
