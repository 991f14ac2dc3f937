// SPDX-License-Identifier: MIT
// a * b + c with a single rounding, for devices whose fma multiplies and then adds. f32 is computed in f64 if the
// device has it; otherwise with integers, exactly, including subnormals and overflow.
//
// A word has w bits (32 for f32, 64 for f64), and two words form a number of 2w bits: enough for the product of two
// mantissas, with bits below it that record whether anything was shifted out. The product's highest bit is at position
// 2w - 4 or one above, that of c at 2w - 4. The exponents give the value of that bit, with an offset so that they stay
// positive.
#include "lang/lower/expand_build.h"

static int width(const tsri_expander *e) { return e->k->mantissa_bits == 23 ? 32 : 64; }
static int64_t offset(const tsri_expander *e) { return tsri_expand_exponent_offset(e); }

// --- Words ----------------------------------------------------------------------------------------------------------

static node clz(tsri_expander *e, node a) { return op(e, TSRI_OP_CLZ, e->ints, a, 0, 0); }

// Unsigned comparison: i64 is signed, but these words are not.
static node below(tsri_expander *e, node a, node b) {
  if (width(e) == 32) return lt(e, a, b);
  node top = whole(e, e->k->sign);
  return lt(e, iop(e, TSRI_OP_XOR, a, top), iop(e, TSRI_OP_XOR, b, top));
}

// Shifts by 0 to w - 1 bits.
static node shift_by(tsri_expander *e, tsri_ir_op code, node a, node count) {
  if (width(e) == 64) {
    tsri_ir_type counts = {TSR_U32, e->type.lanes};
    count = put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_U32, .type = counts, .a = count});
  }
  return op(e, code, e->ints, a, count, 0);
}
static node left(tsri_expander *e, node a, node count) { return shift_by(e, TSRI_OP_SHL, a, count); }
static node right(tsri_expander *e, node a, node count) {
  node shifted = shift_by(e, TSRI_OP_SHR, a, count);
  if (width(e) == 32) return shifted;
  node signs = shl(e, shift_by(e, TSRI_OP_SHR, whole(e, e->k->sign), count), 1);
  return iop(e, TSRI_OP_AND, shifted, iop(e, TSRI_OP_XOR, signs, whole(e, -1)));
}

// The bits that a shift by `count` moves into the neighbouring word: a shift by w - count, which may be w bits.
static node carried_left(tsri_expander *e, node a, node count) {
  return right(e, right(e, a, whole(e, 1)), minus(e, whole(e, width(e) - 1), count));
}
static node carried_right(tsri_expander *e, node a, node count) {
  return left(e, shl(e, a, 1), minus(e, whole(e, width(e) - 1), count));
}

// --- Two words ------------------------------------------------------------------------------------------------------

static pair pick_pair(tsri_expander *e, node condition, pair yes, pair no) {
  return (pair){pick(e, condition, yes.hi, no.hi), pick(e, condition, yes.lo, no.lo)};
}

static pair add_pairs(tsri_expander *e, pair a, pair b) {
  node lo = iop(e, TSRI_OP_ADD, a.lo, b.lo), hi = iop(e, TSRI_OP_ADD, a.hi, b.hi);
  return (pair){iop(e, TSRI_OP_ADD, hi, one_if(e, below(e, lo, a.lo))), lo};
}

static pair negate_if(tsri_expander *e, node condition, pair a) {
  node flipped = iop(e, TSRI_OP_XOR, a.hi, whole(e, -1));
  node hi = iop(e, TSRI_OP_ADD, flipped, one_if(e, is_zero(e, a.lo)));
  return pick_pair(e, condition, (pair){hi, minus(e, whole(e, 0), a.lo)}, a);
}

// The product of two words below 2^(w - 1), computed from their halves.
static pair multiply(tsri_expander *e, node a, node b) {
  int half = width(e) / 2;
  int64_t mask = (INT64_C(1) << half) - 1;
  node a_lo = iand(e, a, mask), a_hi = shr(e, a, half), b_lo = iand(e, b, mask), b_hi = shr(e, b, half);
  node low = iop(e, TSRI_OP_MUL, a_lo, b_lo);
  node middle = iop(e, TSRI_OP_ADD, iop(e, TSRI_OP_MUL, a_hi, b_lo), iand(e, shr(e, low, half), mask));
  node cross = iop(e, TSRI_OP_ADD, iop(e, TSRI_OP_MUL, a_lo, b_hi), iand(e, middle, mask));
  node high = iop(e, TSRI_OP_ADD, iop(e, TSRI_OP_MUL, a_hi, b_hi), iand(e, shr(e, middle, half), mask));
  high = iop(e, TSRI_OP_ADD, high, iand(e, shr(e, cross, half), mask));
  return (pair){high, iop(e, TSRI_OP_OR, shl(e, cross, half), iand(e, low, mask))};
}

// Shifts right by any count. The lowest bit is set if a 1 was shifted out.
static pair shift_pair_right(tsri_expander *e, pair a, node count) {
  int w = width(e);
  node most = whole(e, 2 * w - 1);
  count = pick(e, lt(e, count, most), count, most);
  node k = iand(e, count, w - 1), is_far = lt(e, whole(e, w - 1), count), none = whole(e, 0);
  node hi = right(e, a.hi, k), spilt = carried_right(e, a.hi, k);
  node lo = iop(e, TSRI_OP_OR, right(e, a.lo, k), spilt);
  node lost = pick(e, is_far, iop(e, TSRI_OP_OR, a.lo, spilt), carried_right(e, a.lo, k));
  pair moved = pick_pair(e, is_far, (pair){none, hi}, (pair){hi, lo});
  moved.lo = iop(e, TSRI_OP_OR, moved.lo, one_if(e, ne(e, lost, none)));
  return moved;
}

// Shifts left by less than 2 w bits.
static pair shift_pair_left(tsri_expander *e, pair a, node count) {
  int w = width(e);
  node k = iand(e, count, w - 1), is_far = lt(e, whole(e, w - 1), count);
  node lo = left(e, a.lo, k), hi = iop(e, TSRI_OP_OR, left(e, a.hi, k), carried_left(e, a.lo, k));
  return pick_pair(e, is_far, (pair){lo, whole(e, 0)}, (pair){hi, lo});
}

// --- The parts of numbers -------------------------------------------------------------------------------------------

float_parts tsri_expand_unpack(tsri_expander *e, node x) {
  const tsri_expand_consts *k = e->k;
  node bits = bits_of(e, x), size = iand(e, bits, k->magnitude), field = shr(e, size, k->mantissa_bits);
  node is_subnormal = is_zero(e, field);
  node up = plus(e, clz(e, size), k->mantissa_bits + 1 - width(e));
  node normal = iop(e, TSRI_OP_OR, iand(e, size, k->mantissa), whole(e, k->mantissa + 1));
  node exponent = pick(e, is_subnormal, minus(e, whole(e, offset(e) + 1), up), plus(e, field, offset(e)));
  return (float_parts){.sign = iand(e, bits, k->sign),
                       .mantissa = pick(e, is_subnormal, left(e, size, up), normal),
                       .exponent = exponent,
                       .is_finite = lt(e, size, whole(e, k->infinity)),
                       .is_subnormal = is_subnormal};
}

// `x`, or a normal number if x is subnormal: a device that flushes x to 0 would make NaN of infinity times x.
static node unflushed(tsri_expander *e, node x, const float_parts *parts) {
  node normal = float_of(e, iop(e, TSRI_OP_OR, parts->sign, parts->mantissa));
  return pick(e, parts->is_subnormal, normal, x);
}

node tsri_expand_round_pair(tsri_expander *e, pair number, node exponent) {
  const tsri_expand_consts *k = e->k;
  int w = width(e), extra = w - 2 - k->mantissa_bits;  // bits below the mantissa
  node zeros = pick(e, is_zero(e, number.hi), plus(e, clz(e, number.lo), w), clz(e, number.hi));
  pair top = shift_pair_left(e, number, plus(e, zeros, -1));
  node m = iop(e, TSRI_OP_OR, top.hi, one_if(e, ne(e, top.lo, whole(e, 0))));
  exponent = plus(e, minus(e, exponent, zeros), 3);

  node least = whole(e, offset(e) + 1), most = whole(e, w - 1);
  node is_small = lt(e, exponent, least);
  node down = pick(e, is_small, minus(e, least, exponent), whole(e, 0));
  down = pick(e, lt(e, down, most), down, most);
  node is_lost = ne(e, carried_right(e, m, down), whole(e, 0));
  m = iop(e, TSRI_OP_OR, right(e, m, down), one_if(e, is_lost));

  node kept = shr(e, m, extra), rest = iand(e, m, (INT64_C(1) << extra) - 1);
  node past_half = iop(e, TSRI_OP_ADD, rest, iand(e, kept, 1));
  node goes_up = one_if(e, lt(e, whole(e, INT64_C(1) << (extra - 1)), past_half));
  node field = pick(e, is_small, whole(e, 0), minus(e, exponent, least));
  node bits = iop(e, TSRI_OP_ADD, shl(e, field, k->mantissa_bits), iop(e, TSRI_OP_ADD, kept, goes_up));
  return pick(e, lt(e, whole(e, offset(e) + 2 * k->bias), exponent), whole(e, k->infinity), bits);
}

// --- Through f64, where the product of two f32 is exact ---------------------------------------------------------------

static node to_float(tsri_expander *e, tsr_dtype dtype, node a) {
  tsri_ir_type type = {(uint8_t)dtype, e->type.lanes};
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)dtype, .type = type, .a = a});
}

// a + b, with the last bit made odd if the sum is inexact, so that a second rounding to f32 gives the correct result.
static node add_to_odd(tsri_expander *e, node a, node b) {
  pair sum = two_sum(e, a, b);
  node bits = bits_of(e, sum.hi), zero = num(e, 0), one = whole(e, 1);
  node is_even = is_zero(e, iand(e, bits, 1)), above = lt(e, zero, sum.lo);
  node is_inexact = either(e, above, lt(e, sum.lo, zero));  // false if it is NaN
  node goes_out = op(e, TSRI_OP_EQ, e->bools, above, lt(e, zero, sum.hi), 0);
  node moved = pick(e, goes_out, iop(e, TSRI_OP_ADD, bits, one), minus(e, bits, one));
  return pick(e, both(e, is_even, is_inexact), float_of(e, moved), sum.hi);
}

static node fma_by_f64(tsri_expander *e, node x, node y, node z) {
  tsri_expander wide = *e;
  wide.type.dtype = TSR_F64;
  wide.ints.dtype = TSR_I64;
  wide.k = &tsri_expand_f64;
  node product = mul(&wide, to_float(e, TSR_F64, x), to_float(e, TSR_F64, y));
  return to_float(e, TSR_F32, add_to_odd(&wide, product, to_float(e, TSR_F64, z)));
}

node tsri_expand_fma(tsri_expander *e, node x, node y, node z) {
  if (e->goes_through_f64 && e->type.dtype == TSR_F32) return fma_by_f64(e, x, y, z);
  const tsri_expand_consts *k = e->k;
  int each = width(e) - 2 - k->mantissa_bits;  // each factor of the product is shifted left by this many bits
  float_parts a = tsri_expand_unpack(e, x), b = tsri_expand_unpack(e, y), c = tsri_expand_unpack(e, z);
  pair product = multiply(e, shl(e, a.mantissa, each), shl(e, b.mantissa, each));
  pair addend = {shl(e, c.mantissa, each - 2), whole(e, 0)};
  node product_sign = iop(e, TSRI_OP_XOR, a.sign, b.sign);
  node differ = ne(e, product_sign, c.sign);

  // An operand that is 0 gets exponent 0, so that the other one is not shifted and loses no bits.
  node is_nothing = either(e, is_zero(e, a.mantissa), is_zero(e, b.mantissa));
  node product_exponent = plus(e, iop(e, TSRI_OP_ADD, a.exponent, b.exponent), -offset(e) - k->bias);
  product_exponent = pick(e, is_nothing, whole(e, 0), product_exponent);
  node addend_exponent = pick(e, is_zero(e, c.mantissa), whole(e, 0), c.exponent);

  node addend_leads = lt(e, product_exponent, addend_exponent);
  pair large = pick_pair(e, addend_leads, addend, product), small = pick_pair(e, addend_leads, product, addend);
  node exponent = pick(e, addend_leads, addend_exponent, product_exponent);
  node distance = minus(e, exponent, pick(e, addend_leads, product_exponent, addend_exponent));
  small = negate_if(e, differ, shift_pair_right(e, small, distance));
  pair sum = add_pairs(e, large, small);
  node is_negative = ne(e, iand(e, sum.hi, k->sign), whole(e, 0));
  sum = negate_if(e, is_negative, sum);

  node sign = pick(e, addend_leads, c.sign, product_sign);
  sign = iop(e, TSRI_OP_XOR, sign, pick(e, is_negative, whole(e, k->sign), whole(e, 0)));
  node bits = iop(e, TSRI_OP_OR, tsri_expand_round_pair(e, sum, exponent), sign);
  node no_sum = is_zero(e, iop(e, TSRI_OP_OR, sum.hi, sum.lo));
  bits = pick(e, no_sum, pick(e, differ, whole(e, 0), product_sign), bits);

  node has_factors = both(e, a.is_finite, b.is_finite);
  node infinity_or_nan = mul(e, unflushed(e, x, &a), unflushed(e, y, &b));
  node special = pick(e, has_factors, z, add(e, infinity_or_nan, z));
  return pick(e, both(e, has_factors, c.is_finite), float_of(e, bits), special);
}
