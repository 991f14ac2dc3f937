// SPDX-License-Identifier: MIT
// The correctly rounded square root of f32, for devices whose own may be off by some ULP. One Newton step improves it; then exact remainders choose between the
// result and the neighbouring floats.
#include "lang/lower/expand_build.h"

// Below SMALL, the last bits of remainders could be subnormal, which some devices flush to 0; above LARGE, the square of a
// rough root could overflow.
#define SMALL 0x1p-62
#define LARGE 0x1p126

static node is_positive(tsri_expander *e, node x) {
  return lt(e, minus(e, bits_of(e, x), whole(e, 1)), infinity_bits(e));
}

// s is near sqrt(x), with the neighbouring floats `below` and `above`. sqrt(x) is nearer to `below` if x <= s * below, and nearer to `above` if x > s * above.
// No root is exactly halfway between two floats.
static node nearest(tsri_expander *e, node x, node s) {
  node bits = bits_of(e, s), below = float_of(e, plus(e, bits, -1)), above = float_of(e, plus(e, bits, 1));
  node not_below = is_positive(e, tsri_expand_remainder(e, x, below, s));
  node is_above = is_positive(e, tsri_expand_remainder(e, x, above, s));
  return pick(e, is_above, above, pick(e, not_below, s, below));
}

// By the device's inverse square root and one correction (option near_root). The remainder is rounded once, so that no square overflows. Small negative numbers
// are scaled, too: a device that flushes subnormal operands would otherwise return the inverse root of -0 for them.
static node root_by_inverse(tsri_expander *e, node x) {
  node size = iand(e, bits_of(e, x), e->k->magnitude), one = num(e, 1);
  node is_small = lt(e, size, bits_of(e, num(e, SMALL)));
  node scaled = mul(e, x, pick(e, is_small, num(e, 0x1p64), one)), bits = bits_of(e, scaled);
  node inverse = freely(e, tsri_expand_float_op(e, TSRI_OP_RSQRT, scaled, 0));
  node rough = mul(e, scaled, inverse);
  node s = mad(e, tsri_expand_remainder(e, scaled, rough, rough), mul(e, inverse, num(e, 0.5)), rough);
  s = mul(e, s, pick(e, is_small, num(e, 0x1p-32), one));
  node is_itself = either(e, is_zero(e, iand(e, bits, e->k->magnitude)), eq(e, bits, infinity_bits(e)));
  return pick(e, is_itself, scaled, s);  // 0 and infinity; NaN and negative numbers have no inverse root
}

node tsri_expand_sqrt(tsri_expander *e, node x) {
  if (e->has_root && !e->is_narrow) return root_by_inverse(e, x);
  node large = bits_of(e, num(e, LARGE)), one = num(e, 1);
  node is_small = lt(e, bits_of(e, x), bits_of(e, num(e, SMALL)));
  node is_large = lt(e, minus(e, bits_of(e, x), large), minus(e, infinity_bits(e), large));  // and positive
  node scale = pick(e, is_small, num(e, 0x1p64), pick(e, is_large, num(e, 0x1p-64), one));
  node scaled = mul(e, x, scale), rough = root(e, scaled);
  node back = pick(e, is_small, num(e, 0x1p-32), pick(e, is_large, num(e, 0x1p32), one));
  if (e->is_narrow) return mul(e, rough, back);
  node rest = tsri_expand_remainder(e, scaled, rough, rough);
  node s = nearest(e, scaled, mad(e, rest, divide(e, num(e, 0.5), rough), rough));
  s = mul(e, s, back);
  // For 0, infinity, NaN and negative numbers, use the root that the device returns.
  return pick(e, lt(e, minus(e, bits_of(e, scaled), whole(e, 1)), plus(e, infinity_bits(e), -1)), s, rough);
}
