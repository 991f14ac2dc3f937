// SPDX-License-Identifier: MIT
// f16 and bf16 by operations on the bits of f32: rounding to them, and their 16 bits in the low half of a
// word. Rounds to nearest even, keeps denormals of f16, and NaN stays NaN.
#include "lang/lower/expand_build.h"

enum {
  F16_SMALL = 0x38800000,  // f32 bits of the smallest normal f16 number
  F16_LARGE = 0x477ff000,  // f32 bits from which on rounding to f16 gives infinity
  F16_LIMIT = 0x47800000,  // 2^16: as F16_LARGE, for numbers that are rounded later
  F16_SHIFT = 0x38000000,  // difference of the exponent biases of f32 and f16, in f32's exponent field
  F16_PLACES = 13,         // mantissa bits that f32 has more than f16
  HALF = 0x3f000000        // bits of 0.5
};

static node below(tsri_expander *e, node a, int64_t limit) { return lt(e, a, whole(e, limit)); }
static node bit_or(tsri_expander *e, node a, node b) { return iop(e, TSRI_OP_OR, a, b); }
static node is_nan_size(tsri_expander *e, node size) { return lt(e, infinity_bits(e), size); }

// The number to add before dropping `places` bits, so that the result is rounded to even: 0111…1, and 1 more if the
// last bit kept is 1. `kept` is the value without the dropped bits.
static node carry_to_even(tsri_expander *e, node kept, int places) {
  return plus(e, iand(e, kept, 1), (INT64_C(1) << (places - 1)) - 1);
}

// Rounds to bf16 by arithmetic. s = x (1 - 2^-16) is rounded to a multiple of f32's last bit. So x - s, which is exact, is x 2^-16 rounded to even to such a
// multiple, and 2^16 times that is x rounded to bf16's last bit, also for subnormal x. Where x rounds to 0 the sign is lost, and infinity gives NaN; there the
// upper half of s has the right bits. All 2^32 floats were compared with rounding by integers.
static node upper_by_products(tsri_expander *e, node x) {
  node s = mul(e, x, num(e, 1 - 0x1p-16));
  node rounded = mul(e, sub(e, x, s), num(e, 65536));
  node size = freely(e, tsri_expand_float_op(e, TSRI_OP_ABS, rounded, 0));
  return bits_of(e, pick(e, lt(e, num(e, 0), size), rounded, s));
}

// The bits of x rounded to bf16, in the upper half; the lower half is arbitrary. With integers, all NaN become the same NaN: a comparison detects NaN, if
// comparisons are right for NaN, otherwise the bits do. Products take as many instructions, but NVIDIA's GPUs execute them at twice the rate.
static node upper_bf16(tsri_expander *e, node x) {
  if (e->rounds_by_products) return upper_by_products(e, x);
  node bits = bits_of(e, x), even = iop(e, TSRI_OP_ADD, bits, carry_to_even(e, shr(e, bits, 16), 16));
  node is_nan = e->trusts_nan ? ne(e, x, x) : is_nan_size(e, iand(e, bits, e->k->magnitude));
  return pick(e, is_nan, whole(e, 0x7fff0000), even);
}

// --- Rounding, in f32 -----------------------------------------------------------------------------------------------

node tsri_expand_round_f16(tsri_expander *e, node x) {
  node bits = bits_of(e, x), size = iand(e, bits, e->k->magnitude), half = num(e, 0.5);
  // Below its normal numbers f16 has steps of 2^-24, like f32 between 0.5 and 1: adding 0.5 rounds to such a step.
  node small = bits_of(e, freely(e, sub(e, add(e, float_of(e, size), half), half)));
  node even = iand(e, iop(e, TSRI_OP_ADD, size, carry_to_even(e, shr(e, size, F16_PLACES), F16_PLACES)),
                   -(INT64_C(1) << F16_PLACES));
  node rounded = pick(e, below(e, size, F16_SMALL), small, even);
  rounded = pick(e, below(e, size, F16_LARGE), rounded, infinity_bits(e));
  rounded = pick(e, is_nan_size(e, size), iop(e, TSRI_OP_OR, size, whole(e, 0x400000)), rounded);
  return float_of(e, bit_or(e, rounded, iand(e, bits, e->k->sign)));
}

node tsri_expand_round_bf16(tsri_expander *e, node x) { return float_of(e, iand(e, upper_bf16(e, x), 0xffff0000)); }

// --- Bits -----------------------------------------------------------------------------------------------------------

node tsri_expand_encode_f16(tsri_expander *e, node x) {
  node bits = bits_of(e, x), sign = iand(e, shr(e, bits, 16), 0x8000), size = iand(e, bits, e->k->magnitude);
  node upper = shr(e, size, F16_PLACES), moved = plus(e, size, -(int64_t)F16_SHIFT);
  node normal = shr(e, iop(e, TSRI_OP_ADD, moved, carry_to_even(e, upper, F16_PLACES)), F16_PLACES);
  node small = plus(e, bits_of(e, freely(e, add(e, float_of(e, size), num(e, 0.5)))), -(int64_t)HALF);
  node nan = bit_or(e, iand(e, upper, 0x3ff), whole(e, 0x7e00));
  node half = pick(e, below(e, size, F16_SMALL), small, normal);
  half = pick(e, below(e, size, F16_LIMIT), half, whole(e, 0x7c00));
  return bit_or(e, sign, pick(e, is_nan_size(e, size), nan, half));
}

node tsri_expand_decode_f16(tsri_expander *e, node half) {
  node sign = shl(e, iand(e, half, 0x8000), 16), size = iand(e, half, 0x7fff), moved = shl(e, size, F16_PLACES);
  node normal = plus(e, moved, F16_SHIFT), special = bit_or(e, moved, infinity_bits(e));
  node count =
      freely(e, put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_F32, .type = e->type, .a = size}));
  node small = bits_of(e, freely(e, mul(e, count, num(e, 0x1p-24))));
  node bits = pick(e, below(e, size, 0x400), small, normal);
  bits = pick(e, below(e, size, 0x7c00), bits, special);
  return float_of(e, bit_or(e, sign, bits));
}

node tsri_expand_encode_bf16(tsri_expander *e, node x, bool is_upper) {
  node upper = upper_bf16(e, x);
  return is_upper ? upper : shr(e, upper, 16);
}

node tsri_expand_decode_bf16(tsri_expander *e, node half) { return float_of(e, shl(e, half, 16)); }
