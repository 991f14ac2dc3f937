// SPDX-License-Identifier: MIT
// Integer operations: division that is defined for every divisor, operations made of comparisons, and 64-bit ones made
// of 32-bit halves.
#include "lang/lower/expand_build.h"

static bool is_signed(const tsri_expander *e) { return e->ints.dtype != TSR_U32; }

static node negative(tsri_expander *e, node a) { return freely(e, op(e, TSRI_OP_NEG, e->ints, a, 0, 0)); }

// --- Division -------------------------------------------------------------------------------------------------------

typedef struct divisor {
  node safe;      // the divisor, with 0 and -1 replaced by 1
  node is_minus;  // the divisor is -1
} divisor;

static divisor safe_divisor(tsri_expander *e, node b) {
  node is_zero = eq(e, b, whole(e, 0)), one = whole(e, 1);
  if (!is_signed(e)) return (divisor){.safe = pick(e, is_zero, one, b)};
  node is_minus = eq(e, b, whole(e, -1));
  return (divisor){.safe = pick(e, either(e, is_zero, is_minus), one, b), .is_minus = is_minus};
}

node tsri_expand_integer_div(tsri_expander *e, node a, node b) {
  divisor by = safe_divisor(e, b);
  node quotient = freely(e, iop(e, TSRI_OP_DIV, a, by.safe));
  return is_signed(e) ? pick(e, by.is_minus, negative(e, a), quotient) : quotient;
}

node tsri_expand_integer_rem(tsri_expander *e, node a, node b) {
  divisor by = safe_divisor(e, b);
  if (!is_signed(e) || e->has_remainder) return freely(e, iop(e, TSRI_OP_REM, a, by.safe));
  node quotient = freely(e, iop(e, TSRI_OP_DIV, a, by.safe));
  return iop(e, TSRI_OP_SUB, a, iop(e, TSRI_OP_MUL, quotient, by.safe));
}

// --- By comparison --------------------------------------------------------------------------------------------------

node tsri_expand_integer_min(tsri_expander *e, node a, node b) { return pick(e, lt(e, a, b), a, b); }
node tsri_expand_integer_max(tsri_expander *e, node a, node b) { return pick(e, lt(e, b, a), a, b); }

node tsri_expand_integer_abs(tsri_expander *e, node a) { return pick(e, lt(e, a, whole(e, 0)), negative(e, a), a); }

node tsri_expand_integer_sign(tsri_expander *e, node a) {
  node zero = whole(e, 0), below = pick(e, lt(e, a, zero), whole(e, -1), a);
  return pick(e, lt(e, zero, a), whole(e, 1), below);
}

// --- By halves ------------------------------------------------------------------------------------------------------

static node to_type(tsri_expander *e, tsr_dtype dtype, node a) {
  tsri_ir_type type = {(uint8_t)dtype, e->ints.lanes};
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)dtype, .type = type, .a = a});
}

static node count(tsri_expander *e, tsri_ir_op code, node word) {
  return op(e, code, e->out->nodes[word].type, word, 0, 0);
}

// Counts zeros in the half `first` and, if that is 0, also in the other half.
static node count_halves(tsri_expander *e, tsri_ir_op code, node first, node other) {
  tsri_ir_type word = e->out->nodes[first].type;
  node more = op(e, TSRI_OP_ADD, word, count(e, code, other), constant(e, word, 32), 0);
  node is_zero = eq(e, first, constant(e, word, 0));
  return to_type(e, TSR_I64, pick(e, is_zero, more, count(e, code, first)));
}

static node low_half(tsri_expander *e, node a) { return to_type(e, TSR_U32, a); }
static node high_half(tsri_expander *e, node a) { return to_type(e, TSR_U32, shr(e, a, 32)); }

node tsri_expand_popcount(tsri_expander *e, node a) {
  node low = count(e, TSRI_OP_POPCOUNT, low_half(e, a)), high = count(e, TSRI_OP_POPCOUNT, high_half(e, a));
  return to_type(e, TSR_I64, op(e, TSRI_OP_ADD, e->out->nodes[low].type, low, high, 0));
}

node tsri_expand_clz(tsri_expander *e, node a) {
  node low = low_half(e, a);
  return count_halves(e, TSRI_OP_CLZ, high_half(e, a), low);
}

// 32 bits: isolates the lowest 1, whose position clz gives.
node tsri_expand_ctz(tsri_expander *e, node a) {
  if (e->ints.dtype == TSR_I64) {
    node low = low_half(e, a);
    return count_halves(e, TSRI_OP_CTZ, low, high_half(e, a));
  }
  node zero = whole(e, 0), lowest = iop(e, TSRI_OP_AND, a, iop(e, TSRI_OP_SUB, zero, a));
  node place = iop(e, TSRI_OP_SUB, whole(e, 31), count(e, TSRI_OP_CLZ, lowest));
  return pick(e, eq(e, a, zero), whole(e, 32), place);
}

node tsri_expand_mulhi(tsri_expander *e, node a, node b) {
  node a_low = iand(e, a, 0xffff), a_high = shr(e, a, 16), b_low = iand(e, b, 0xffff), b_high = shr(e, b, 16);
  node carried = shr(e, iop(e, TSRI_OP_MUL, a_low, b_low), 16);
  node middle = iop(e, TSRI_OP_ADD, iop(e, TSRI_OP_MUL, a_high, b_low), carried);
  node cross = iop(e, TSRI_OP_ADD, iop(e, TSRI_OP_MUL, a_low, b_high), iand(e, middle, 0xffff));
  node high = iop(e, TSRI_OP_ADD, iop(e, TSRI_OP_MUL, a_high, b_high), shr(e, middle, 16));
  return iop(e, TSRI_OP_ADD, high, shr(e, cross, 16));
}
