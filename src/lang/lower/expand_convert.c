// SPDX-License-Identifier: MIT
// Conversions that naive code would round twice or leave undefined: integers to bf16; floats to integers, which
// saturate; f64 to f16 and bf16; u32 to f32.
#include "lang/lower/expand_build.h"

// --- Integers to bf16 -----------------------------------------------------------------------------------------------
//
// The conversion to f32, an intermediate step, must not round. The integer's low bits are therefore dropped first, and
// the lowest bit that is kept is set if any of them was 1 (rounding to odd). The rest fits into f32's 24 bits. bf16
// rounds it to the same result as the integer, because that bit is at least two places below the last bit that bf16
// keeps.

// The multiple of 2^bits at or below x, with its last bit set if x is not a multiple.
static node dropped_to_odd(tsri_expander *e, node x, int bits) {
  int64_t unit = INT64_C(1) << bits;
  node is_whole = eq(e, iand(e, x, unit - 1), whole(e, 0));
  return iop(e, TSRI_OP_OR, iand(e, x, -unit), pick(e, is_whole, whole(e, 0), whole(e, unit)));
}

// Integers from 2^from on do not fit into f32's 24 bits unless their lowest `dropped` bits are dropped.
typedef struct step {
  int from, dropped;
} step;

node tsri_expand_integer_to_bf16(tsri_expander *e, node x) {
  static const step of_32[] = {{24, 8}}, of_64[] = {{24, 15}, {39, 30}, {54, 40}};
  bool is_wide = e->ints.dtype == TSR_I64;
  const step *steps = is_wide ? of_64 : of_32;
  // |x|, or |x| - 1 if x is negative: -2^24 also fits without dropping bits.
  node size = e->ints.dtype == TSR_U32 ? x : iop(e, TSRI_OP_XOR, x, shr(e, x, is_wide ? 63 : 31));
  node y = x;
  for (int i = 0; i < (is_wide ? 3 : 1); i++) {
    node is_long = lt(e, whole(e, (INT64_C(1) << steps[i].from) - 1), size);
    y = pick(e, is_long, dropped_to_odd(e, x, steps[i].dropped), y);
  }
  node wide = put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_F32, .type = e->type, .a = y});
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_BF16, .type = e->type, .a = wide});
}

// --- Floats to integers ---------------------------------------------------------------------------------------------

static node convert_to(tsri_expander *e, tsr_dtype dtype, node a) {
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(dtype), e->type.lanes};
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)dtype, .type = type, .a = a});
}

typedef struct whole_limits {
  int64_t least, most;
  double below, above;  // at and beyond these the result saturates; integers that every float type represents exactly
} whole_limits;

static whole_limits range_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_U8:
      return (whole_limits){0, 255, 0, 255};
    case TSR_I8:
      return (whole_limits){-128, 127, -128, 128};
    case TSR_I16:
      return (whole_limits){-32768, 32767, -32768, 32768};
    case TSR_I32:
      return (whole_limits){INT32_MIN, INT32_MAX, -0x1p31, 0x1p31};
    case TSR_U32:
      return (whole_limits){0, UINT32_MAX, 0, 0x1p32};
    default:
      return (whole_limits){INT64_MIN, INT64_MAX, -0x1p63, 0x1p63};
  }
}

static node compare(tsri_expander *e, tsri_ir_op code, node a, node b) {
  node id = op(e, code, e->bools, a, b, 0);
  return e->asks_by_bits ? freely(e, id) : id;
}

// The operand of the conversion is replaced by 0 if it does not fit, because the result would be undefined. NaN gives
// 0.
node tsri_expand_float_to_int(tsri_expander *e, tsr_dtype to, node x) {
  whole_limits r = range_of(to);
  node low = num(e, r.below), high = num(e, r.above), zero = num(e, 0), is_nan_bits = 0, fits;
  node above = compare(e, TSRI_OP_GE, x, high), under = compare(e, TSRI_OP_LE, x, low);
  if (e->trusts_nan) {
    fits = pick(e, both(e, lt(e, low, x), lt(e, x, high)), x, zero);
  } else {
    is_nan_bits = is_nan(e, x);
    fits = pick(e, either(e, either(e, above, under), is_nan_bits), zero, x);
  }
  node result = freely(e, convert_to(e, to, fits));
  tsri_expander ints = *e;
  ints.ints = e->out->nodes[result].type;
  result = pick(e, above, whole(&ints, r.most), result);
  result = pick(e, under, whole(&ints, r.least), result);
  return e->asks_by_bits ? pick(e, is_nan_bits, whole(&ints, 0), result) : result;
}

node tsri_expand_float_to_bool(tsri_expander *e, node x) {
  return ne(e, iand(e, bits_of(e, x), e->k->magnitude), whole(e, 0));
}

// --- Between floats, and from words -----------------------------------------------------------------------------------

// f64 to f16 or bf16 by way of f32. Of the two nearest f32 values takes the one with an odd last bit, so that the
// second rounding gives the correct result.
node tsri_expand_f64_to_half(tsri_expander *e, tsr_dtype to, node x) {
  tsri_expander narrow = *e;
  narrow.type.dtype = TSR_F32;
  narrow.ints.dtype = TSR_U32;
  narrow.k = &tsri_expand_f32;
  node near = convert_to(e, TSR_F32, x), back = convert_to(e, TSR_F64, near), bits = bits_of(&narrow, near);
  node goes_out = op(e, TSRI_OP_EQ, e->bools, lt(e, back, x), lt(e, num(e, 0), x), 0);
  node one = whole(&narrow, 1);
  node moved = pick(e, goes_out, iop(&narrow, TSRI_OP_ADD, bits, one), iop(&narrow, TSRI_OP_SUB, bits, one));
  node is_finite = lt(e, iand(&narrow, bits, narrow.k->magnitude), infinity_bits(&narrow));
  node is_even = eq(e, iand(&narrow, bits, 1), whole(&narrow, 0));
  node moves = both(e, both(e, ne(e, back, x), is_finite), is_even);
  return convert_to(&narrow, to, float_of(&narrow, pick(e, moves, moved, bits)));
}

// Converts the two halves, which are exact, and adds them: SwiftShader's own conversion is off by one from 2^31 on.
node tsri_expand_word_to_f32(tsri_expander *e, node x) {
  node upper = freely(e, convert_to(e, TSR_F32, shr(e, x, 16)));
  node lower = freely(e, convert_to(e, TSR_F32, iand(e, x, 0xffff)));
  return freely(e, add(e, freely(e, mul(e, upper, num(e, 65536))), lower));
}
