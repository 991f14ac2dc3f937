// SPDX-License-Identifier: MIT
// Float operations whose result depends on NaN or the sign of 0, computed from the bits; and comparisons for dialects
// whose own may treat NaN as a number.
#include "lang/lower/expand_build.h"

// --- Questions about the bits ---------------------------------------------------------------------------------------

static node size_bits(tsri_expander *e, node a) { return iand(e, bits_of(e, a), e->k->magnitude); }

node tsri_expand_isnan(tsri_expander *e, node a) { return lt(e, infinity_bits(e), size_bits(e, a)); }
node tsri_expand_isinf(tsri_expander *e, node a) { return eq(e, size_bits(e, a), infinity_bits(e)); }
node tsri_expand_isfinite(tsri_expander *e, node a) { return lt(e, size_bits(e, a), infinity_bits(e)); }

node tsri_expand_float_neg(tsri_expander *e, node a) {
  return float_of(e, iop(e, TSRI_OP_XOR, bits_of(e, a), whole(e, e->k->sign)));
}
node tsri_expand_float_abs(tsri_expander *e, node a) { return magnitude(e, a); }

// --- Comparisons ----------------------------------------------------------------------------------------------------

static node not_true(tsri_expander *e, node a) { return op(e, TSRI_OP_NOT, e->bools, a, 0, 0); }

// The dialect's comparison, which may give any result for NaN, combined with a test that neither operand is NaN.
static node ordered(tsri_expander *e, tsri_ir_op code, node a, node b) {
  node is_there = not_true(e, either(e, is_nan(e, a), is_nan(e, b)));
  return both(e, freely(e, op(e, code, e->bools, a, b, 0)), is_there);
}

node tsri_expand_eq(tsri_expander *e, node a, node b) { return ordered(e, TSRI_OP_EQ, a, b); }
node tsri_expand_ne(tsri_expander *e, node a, node b) { return not_true(e, ordered(e, TSRI_OP_EQ, a, b)); }
node tsri_expand_lt(tsri_expander *e, node a, node b) { return ordered(e, TSRI_OP_LT, a, b); }
node tsri_expand_le(tsri_expander *e, node a, node b) { return ordered(e, TSRI_OP_LE, a, b); }
node tsri_expand_gt(tsri_expander *e, node a, node b) { return ordered(e, TSRI_OP_LT, b, a); }
node tsri_expand_ge(tsri_expander *e, node a, node b) { return ordered(e, TSRI_OP_LE, b, a); }

// --- Choices --------------------------------------------------------------------------------------------------------

// a if it is NaN or if `first` < `second`, otherwise b. `first` and `second` are a and b in the order that is wanted.
static node choose(tsri_expander *e, node a, node b, node first, node second) {
  node less = op(e, TSRI_OP_LT, e->bools, first, second, 0);
  if (e->asks_by_bits) less = both(e, freely(e, less), not_true(e, is_nan(e, b)));
  return pick(e, either(e, less, is_nan(e, a)), a, b);
}

node tsri_expand_float_min(tsri_expander *e, node a, node b) { return choose(e, a, b, a, b); }
node tsri_expand_float_max(tsri_expander *e, node a, node b) { return choose(e, a, b, b, a); }

node tsri_expand_float_sign(tsri_expander *e, node a) {
  node zero = num(e, 0), below = pick(e, lt(e, a, zero), num(e, -1), a);
  return pick(e, lt(e, zero, a), num(e, 1), below);
}

node tsri_expand_rsqrt(tsri_expander *e, node a) { return op(e, TSRI_OP_DIV, e->type, num(e, 1), root(e, a), 0); }
