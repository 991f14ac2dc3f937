// SPDX-License-Identifier: MIT
// Conversions: between value types by tsr_convert's rules, and to and from the bits of storage types.
#include <string.h>

#include "lang/emit/spirv/spirv.h"
#include "lang/lower/expand.h"

#define U(op, a, b) tsri_spv_op2(s, SPV_OP_##op, words, (a), (b))
#define WORD(value) tsri_spv_const(s, words, (value))

// Of f32 or f64.
static tsri_spv_id is_nan(tsri_spv *s, tsri_spv_type type, tsri_spv_id a) {
  tsri_ir_type of = {type.kind == SPV_F64 ? TSR_F64 : TSR_F32, type.lanes};
  return tsri_spv_operation(s, TSRI_OP_ISNAN, of, (tsri_ir_type){TSR_BOOL, type.lanes}, &a, false);
}

static bool is_float(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }

// --- f16 and bf16, as bits in the low half of a word ----------------------------------------------------------------

static tsri_spv_id test(tsri_spv *s, uint32_t code, tsri_spv_type words, tsri_spv_id a, uint32_t limit) {
  return tsri_spv_op2(s, code, tsri_spv_bool_type(words), a, WORD(limit));
}

static tsri_spv_id f16_to_f32(tsri_spv *s, uint32_t lanes, tsri_spv_id h) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), floats = tsri_spv_make_type(SPV_F32, lanes);
  tsri_spv_id sign = U(SHIFT_LEFT_LOGICAL, U(BITWISE_AND, h, WORD(0x8000)), WORD(16));
  tsri_spv_id m = U(BITWISE_AND, h, WORD(0x7fff)), shifted = U(SHIFT_LEFT_LOGICAL, m, WORD(13));
  tsri_spv_id normal = U(I_ADD, shifted, WORD(0x38000000));
  tsri_spv_id special = U(BITWISE_OR, shifted, WORD(0x7f800000));
  tsri_spv_id scaled = tsri_spv_op2(s, SPV_OP_F_MUL, floats, tsri_spv_op1(s, SPV_OP_CONVERT_U_TO_F, floats, m),
                                    tsri_spv_const(s, floats, 0x33800000));  // 2^-24
  tsri_spv_id small = tsri_spv_bitcast(s, words, floats, scaled);
  tsri_spv_id is_special = test(s, SPV_OP_U_GREATER_THAN_EQUAL, words, m, 0x7c00);
  tsri_spv_id is_normal = test(s, SPV_OP_U_GREATER_THAN_EQUAL, words, m, 0x400);
  tsri_spv_id size = tsri_spv_select(s, words, is_normal, normal, small);
  size = tsri_spv_select(s, words, is_special, special, size);
  return tsri_spv_bitcast(s, floats, words, U(BITWISE_OR, sign, size));
}

// To nearest even. Numbers below f16's normal ones get their rounding from the sum with 0.5.
static tsri_spv_id f32_to_f16(tsri_spv *s, uint32_t lanes, tsri_spv_id x) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), floats = tsri_spv_make_type(SPV_F32, lanes);
  tsri_spv_id u = tsri_spv_bitcast(s, words, floats, x);
  tsri_spv_id sign = U(BITWISE_AND, U(SHIFT_RIGHT_LOGICAL, u, WORD(16)), WORD(0x8000));
  tsri_spv_id m = U(BITWISE_AND, u, WORD(0x7fffffff)), upper = U(SHIFT_RIGHT_LOGICAL, m, WORD(13));
  tsri_spv_id even = U(I_ADD, U(BITWISE_AND, upper, WORD(1)), WORD(0xfff));
  tsri_spv_id rounded = U(I_ADD, U(I_SUB, m, WORD(0x38000000)), even);
  tsri_spv_id normal = U(SHIFT_RIGHT_LOGICAL, rounded, WORD(13));
  tsri_spv_id sum = tsri_spv_op2(s, SPV_OP_F_ADD, floats, tsri_spv_bitcast(s, floats, words, m),
                                 tsri_spv_const(s, floats, 0x3f000000));
  tsri_spv_id small = U(I_SUB, tsri_spv_bitcast(s, words, floats, sum), WORD(0x3f000000));
  tsri_spv_id nan = U(BITWISE_OR, U(BITWISE_AND, upper, WORD(0x3ff)), WORD(0x7e00));
  tsri_spv_id size = tsri_spv_select(s, words, test(s, SPV_OP_U_LESS_THAN, words, m, 0x38800000), small, normal);
  tsri_spv_id is_large = test(s, SPV_OP_U_GREATER_THAN_EQUAL, words, m, 0x47800000);
  size = tsri_spv_select(s, words, is_large, WORD(0x7c00), size);
  size = tsri_spv_select(s, words, test(s, SPV_OP_U_GREATER_THAN, words, m, 0x7f800000), nan, size);
  return U(BITWISE_OR, sign, size);
}

static tsri_spv_id bf16_to_f32(tsri_spv *s, uint32_t lanes, tsri_spv_id h) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes);
  return tsri_spv_bitcast(s, tsri_spv_make_type(SPV_F32, lanes), words, U(SHIFT_LEFT_LOGICAL, h, WORD(16)));
}

static tsri_spv_id f32_to_bf16(tsri_spv *s, uint32_t lanes, tsri_spv_id x) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), floats = tsri_spv_make_type(SPV_F32, lanes);
  tsri_spv_id u = tsri_spv_bitcast(s, words, floats, x), upper = U(SHIFT_RIGHT_LOGICAL, u, WORD(16));
  tsri_spv_id even = U(I_ADD, U(BITWISE_AND, upper, WORD(1)), WORD(0x7fff));
  tsri_spv_id rounded = U(SHIFT_RIGHT_LOGICAL, U(I_ADD, u, even), WORD(16));
  tsri_spv_id nan = U(BITWISE_OR, upper, WORD(0x40));
  return tsri_spv_select(s, words, is_nan(s, floats, x), nan, rounded);
}

// The f32 neighbour with an odd last bit: rounding that once more is still right.
static tsri_spv_id f64_to_odd(tsri_spv *s, uint32_t lanes, tsri_spv_id x) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), floats = tsri_spv_make_type(SPV_F32, lanes);
  tsri_spv_type wide = tsri_spv_make_type(SPV_F64, lanes), bools = tsri_spv_make_type(SPV_BOOL, lanes);
  tsri_spv_id r = tsri_spv_op1(s, SPV_OP_F_CONVERT, floats, x), back = tsri_spv_op1(s, SPV_OP_F_CONVERT, wide, r);
  tsri_spv_id u = tsri_spv_bitcast(s, words, floats, r);
  tsri_spv_id is_below = tsri_spv_op2(s, SPV_OP_F_ORD_LESS_THAN, bools, back, x);
  tsri_spv_id is_positive = tsri_spv_op2(s, SPV_OP_F_ORD_GREATER_THAN, bools, x, tsri_spv_const(s, wide, 0));
  tsri_spv_id goes_up = tsri_spv_op2(s, SPV_OP_LOGICAL_EQUAL, bools, is_below, is_positive);
  tsri_spv_id moved = tsri_spv_select(s, words, goes_up, U(I_ADD, u, WORD(1)), U(I_SUB, u, WORD(1)));
  tsri_spv_id differs = tsri_spv_op2(s, SPV_OP_F_UNORD_NOT_EQUAL, bools, back, x);
  tsri_spv_id is_finite = test(s, SPV_OP_U_LESS_THAN, words, U(BITWISE_AND, u, WORD(0x7fffffff)), 0x7f800000);
  tsri_spv_id is_even = test(s, SPV_OP_I_EQUAL, words, U(BITWISE_AND, u, WORD(1)), 0);
  tsri_spv_id moves = tsri_spv_op2(s, SPV_OP_LOGICAL_AND, bools, differs, is_finite);
  moves = tsri_spv_op2(s, SPV_OP_LOGICAL_AND, bools, moves, is_even);
  return tsri_spv_bitcast(s, floats, words, tsri_spv_select(s, words, moves, moved, u));
}

// The bits of a value as a storage type, in a word; and back.
tsri_spv_id tsri_spv_encode(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id value) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes);
  switch (storage) {
    case TSR_BOOL:
      return tsri_spv_select(s, words, value, WORD(1), WORD(0));
    case TSR_U8:
    case TSR_I8:
      return U(BITWISE_AND, value, WORD(0xff));
    case TSR_I16:
      return U(BITWISE_AND, value, WORD(0xffff));
    case TSR_F16:
      return f32_to_f16(s, lanes, value);
    case TSR_BF16:
      return f32_to_bf16(s, lanes, value);
    default:
      return value;
  }
}

static tsri_spv_id extend_sign(tsri_spv *s, tsri_spv_type words, tsri_spv_id a, uint32_t unused_bits) {
  tsri_spv_id count = WORD(unused_bits);
  return U(SHIFT_RIGHT_ARITHMETIC, U(SHIFT_LEFT_LOGICAL, a, count), count);
}

tsri_spv_id tsri_spv_decode(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id bits) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes);
  switch (storage) {
    case TSR_BOOL:
      return test(s, SPV_OP_I_NOT_EQUAL, words, bits, 0);
    case TSR_I8:
      return extend_sign(s, words, bits, 24);
    case TSR_I16:
      return extend_sign(s, words, bits, 16);
    case TSR_F16:
      return f16_to_f32(s, lanes, bits);
    case TSR_BF16:
      return bf16_to_f32(s, lanes, bits);
    default:
      return bits;
  }
}

// --- Between value types --------------------------------------------------------------------------------------------

typedef struct int_range {
  int64_t least, most;
  double below, above;  // from here on it saturates
} int_range;

static int_range range_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_U8:
      return (int_range){0, 255, 0, 255};
    case TSR_I8:
      return (int_range){-128, 127, -128, 128};
    case TSR_I16:
      return (int_range){-32768, 32767, -32768, 32768};
    case TSR_I32:
      return (int_range){INT32_MIN, INT32_MAX, -0x1p31, 0x1p31};
    case TSR_U32:
      return (int_range){0, UINT32_MAX, 0, 0x1p32};
    default:
      return (int_range){INT64_MIN, INT64_MAX, -0x1p63, 0x1p63};
  }
}

static tsri_spv_id float_const(tsri_spv *s, tsri_spv_type type, double value) {
  uint64_t bits = 0;
  if (type.kind == SPV_F64) {
    memcpy(&bits, &value, sizeof bits);
  } else {
    float narrow = (float)value;
    memcpy(&bits, &narrow, sizeof narrow);
  }
  return tsri_spv_const(s, type, bits);
}

// What is converted is 0 where it would not fit, since the instruction's result is then undefined. NaN gives 0.
static tsri_spv_id float_to_int(tsri_spv *s, tsr_dtype to, tsri_spv_type from, tsri_spv_id a) {
  int_range range = range_of(to);
  tsri_spv_type ints = tsri_spv_make_type(to == TSR_I64 ? SPV_U64 : SPV_U32, from.lanes);
  tsri_spv_type bools = tsri_spv_bool_type(from);
  bool is_signed = range.least < 0;
  tsri_spv_id above = tsri_spv_op2(s, SPV_OP_F_ORD_GREATER_THAN_EQUAL, bools, a, float_const(s, from, range.above));
  tsri_spv_id below = tsri_spv_op2(s, SPV_OP_F_ORD_LESS_THAN_EQUAL, bools, a, float_const(s, from, range.below));
  tsri_spv_id outside = tsri_spv_op2(s, SPV_OP_LOGICAL_OR, bools, above, below);
  outside = tsri_spv_op2(s, SPV_OP_LOGICAL_OR, bools, outside, is_nan(s, from, a));
  tsri_spv_id fits = tsri_spv_select(s, from, outside, tsri_spv_const(s, from, 0), a);
  tsri_spv_id r = tsri_spv_op1(s, is_signed ? SPV_OP_CONVERT_F_TO_S : SPV_OP_CONVERT_F_TO_U, ints, fits);
  r = tsri_spv_select(s, ints, above, tsri_spv_number(s, ints, range.most), r);
  return tsri_spv_select(s, ints, below, tsri_spv_number(s, ints, range.least), r);
}

// Bits 32 to 63 of an i64 are the sign's. gallivm gets comparisons of an OpSConvert with a constant wrong, so it is not
// shown one.
static tsri_spv_id widen_signed(tsri_spv *s, uint32_t lanes, tsri_spv_id a) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), wide = tsri_spv_make_type(SPV_U64, lanes);
  if (!s->options->quirks) return tsri_spv_op1(s, SPV_OP_S_CONVERT, wide, a);
  tsri_spv_id sign = U(SHIFT_RIGHT_ARITHMETIC, a, WORD(31));
  tsri_spv_id upper = tsri_spv_op1(s, SPV_OP_U_CONVERT, wide, sign), lower = tsri_spv_op1(s, SPV_OP_U_CONVERT, wide, a);
  upper = tsri_spv_op2(s, SPV_OP_SHIFT_LEFT_LOGICAL, wide, upper, WORD(32));
  return tsri_spv_op2(s, SPV_OP_BITWISE_OR, wide, upper, lower);
}

static tsri_spv_id int_to_int(tsri_spv *s, tsr_dtype to, tsr_dtype from, uint32_t lanes, tsri_spv_id a) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes);
  if (to == TSR_I64) {
    if (from == TSR_I64) return a;
    if (from == TSR_I32) return widen_signed(s, lanes, a);
    return tsri_spv_op1(s, SPV_OP_U_CONVERT, tsri_spv_make_type(SPV_U64, lanes), a);
  }
  if (from == TSR_I64) a = tsri_spv_op1(s, SPV_OP_U_CONVERT, words, a);
  if (to == TSR_U8) return U(BITWISE_AND, a, WORD(0xff));
  if (to == TSR_I8) return extend_sign(s, words, a, 24);
  if (to == TSR_I16) return extend_sign(s, words, a, 16);
  return a;
}

// By halves, which are exact: SwiftShader is off by one from 2^31 on.
static tsri_spv_id u32_to_f32(tsri_spv *s, uint32_t lanes, tsri_spv_id a) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), floats = tsri_spv_make_type(SPV_F32, lanes);
  tsri_spv_id upper = tsri_spv_op1(s, SPV_OP_CONVERT_U_TO_F, floats, U(SHIFT_RIGHT_LOGICAL, a, WORD(16)));
  tsri_spv_id lower = tsri_spv_op1(s, SPV_OP_CONVERT_U_TO_F, floats, U(BITWISE_AND, a, WORD(0xffff)));
  upper = tsri_spv_op2(s, SPV_OP_F_MUL, floats, upper, float_const(s, floats, 65536));
  return tsri_spv_op2(s, SPV_OP_F_ADD, floats, upper, lower);
}

static tsri_spv_id hidden_zeros(tsri_spv *s, tsri_spv_type ints) {
  tsri_spv_id zero = tsri_spv_hidden_zero(s);
  if (tsri_spv_is_64(ints)) zero = tsri_spv_op1(s, SPV_OP_U_CONVERT, tsri_spv_make_type(SPV_U64, 1), zero);
  return tsri_spv_compose(s, ints, (tsri_spv_id[4]){zero, zero, zero, zero});
}

static tsri_spv_id bool_to_number(tsri_spv *s, tsri_spv_type type, tsri_spv_id a) {
  tsri_spv_type bits = tsri_spv_bits_type(type);
  bool is_hidden = tsri_spv_is_float(type) && s->options->quirks;
  tsri_spv_id zero = is_hidden ? tsri_spv_bitcast(s, type, bits, hidden_zeros(s, bits)) : tsri_spv_number(s, type, 0);
  return tsri_spv_select(s, type, a, tsri_spv_number(s, type, 1), zero);
}

// To f32 or f64.
static tsri_spv_id int_to_float(tsri_spv *s, tsri_spv_type to, tsri_ir_type from, tsri_spv_id a) {
  tsri_spv_type ints = tsri_spv_value_type(from);
  bool is_signed = from.dtype != TSR_U32;
  if (s->options->quirks) {
    a = tsri_spv_op2(s, SPV_OP_BITWISE_OR, ints, a, hidden_zeros(s, ints));
    if (!is_signed && to.kind == SPV_F32) return u32_to_f32(s, from.lanes, a);
  }
  return tsri_spv_op1(s, is_signed ? SPV_OP_CONVERT_S_TO_F : SPV_OP_CONVERT_U_TO_F, to, a);
}

static tsri_spv_id to_bool(tsri_spv *s, tsri_spv_type from, tsri_spv_id a) {
  tsri_spv_type bits = tsri_spv_bits_type(from);
  if (tsri_spv_is_float(from)) {
    uint64_t mask = tsri_spv_is_64(from) ? UINT64_MAX >> 1 : 0x7fffffff;
    a = tsri_spv_op2(s, SPV_OP_BITWISE_AND, bits, tsri_spv_bitcast(s, bits, from, a), tsri_spv_const(s, bits, mask));
  }
  return tsri_spv_op2(s, SPV_OP_I_NOT_EQUAL, tsri_spv_bool_type(from), a, tsri_spv_const(s, bits, 0));
}

// The operand is f32 or f64. By bits, since NVIDIA's compiler takes an OpFConvert to f16 and back away.
static tsri_spv_id round_to_half(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a) {
  if (from.dtype == TSR_F64) a = f64_to_odd(s, from.lanes, a);
  return tsri_spv_decode(s, to, from.lanes, tsri_spv_encode(s, to, from.lanes, a));
}

tsri_spv_id tsri_spv_convert(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a) {
  tsri_spv_type type = tsri_spv_value_type(from);
  tsr_dtype dtype = (tsr_dtype)from.dtype;
  tsri_spv_type result = tsri_spv_make_type(tsri_spv_value_kind(tsri_ir_compute_dtype(to)), from.lanes);
  if (to == dtype) return a;
  if (dtype == TSR_BOOL) return bool_to_number(s, result, a);
  if (to == TSR_BOOL) return to_bool(s, type, a);
  if (tsri_expand_has_convert(to, dtype)) return tsri_spv_expanded_convert(s, to, from, a);
  if (to == TSR_F16 || to == TSR_BF16) return round_to_half(s, to, from, a);
  if (is_float(to)) {
    return is_float(dtype) ? tsri_spv_op1(s, SPV_OP_F_CONVERT, result, a) : int_to_float(s, result, from, a);
  }
  if (is_float(dtype)) return float_to_int(s, to, type, a);
  return int_to_int(s, to, dtype, from.lanes, a);
}
