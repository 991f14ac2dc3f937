// SPDX-License-Identifier: MIT
// Conversions: between value types, and to and from the bits of storage types. Those that no instruction does as
// tsr_convert would are expansions.
#include "lang/emit/spirv/spirv.h"

#define U(op, a, b) tsri_spv_op2(s, SPV_OP_##op, words, (a), (b))
#define WORD(value) tsri_spv_const(s, words, (value))

static bool is_float(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }

// --- Storage types ----------------------------------------------------------------------------------------------------

static tsri_spv_id encode_half(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id value) {
  tsri_expansion x;
  tsri_expand_encode(storage, lanes, &x);
  return tsri_spv_put_expansion(s, &x, &value);
}

static tsri_spv_id decode_half(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id bits) {
  tsri_expansion x;
  tsri_expand_decode(storage, lanes, &x);
  return tsri_spv_put_expansion(s, &x, &bits);
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
    case TSR_BF16:
      return encode_half(s, storage, lanes, value);
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
      return tsri_spv_op2(s, SPV_OP_I_NOT_EQUAL, tsri_spv_bool_type(words), bits, WORD(0));
    case TSR_I8:
      return extend_sign(s, words, bits, 24);
    case TSR_I16:
      return extend_sign(s, words, bits, 16);
    case TSR_F16:
    case TSR_BF16:
      return decode_half(s, storage, lanes, bits);
    default:
      return bits;
  }
}

// --- Between value types --------------------------------------------------------------------------------------------

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

static tsri_spv_id expanded(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a) {
  tsri_expansion x;
  tsri_expand_convert(to, from, (tsri_expand_options){0}, &x);
  return tsri_spv_put_expansion(s, &x, &a);
}

// To f32 or f64.
static tsri_spv_id int_to_float(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a, bool is_loose) {
  tsri_spv_type ints = tsri_spv_value_type(from), floats = tsri_spv_make_type(tsri_spv_value_kind(to), from.lanes);
  bool is_signed = from.dtype != TSR_U32;
  if (s->options->quirks && !is_loose) {
    a = tsri_spv_op2(s, SPV_OP_BITWISE_OR, ints, a, hidden_zeros(s, ints));
    if (!is_signed && to == TSR_F32) return expanded(s, to, from, a);
  }
  return tsri_spv_op1(s, is_signed ? SPV_OP_CONVERT_S_TO_F : SPV_OP_CONVERT_U_TO_F, floats, a);
}

// The operand is in range.
static tsri_spv_id float_to_int(tsri_spv *s, tsr_dtype to, tsri_spv_type result, tsri_spv_id a) {
  bool is_signed = to != TSR_U8 && to != TSR_U32;
  return tsri_spv_op1(s, is_signed ? SPV_OP_CONVERT_F_TO_S : SPV_OP_CONVERT_F_TO_U, result, a);
}

tsri_spv_id tsri_spv_convert(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a, bool is_loose) {
  tsri_spv_type type = tsri_spv_value_type(from);
  tsr_dtype dtype = (tsr_dtype)from.dtype;
  tsri_spv_type result = tsri_spv_make_type(tsri_spv_value_kind(tsri_ir_compute_dtype(to)), from.lanes);
  if (to == dtype) return a;
  if (dtype == TSR_BOOL) return bool_to_number(s, result, a);
  if (is_float(to)) {
    if (is_float(dtype)) return tsri_spv_op1(s, SPV_OP_F_CONVERT, result, a);
    return int_to_float(s, to, from, a, is_loose);
  }
  if (is_float(dtype) && is_loose) return float_to_int(s, to, result, a);
  // f16 too is rounded by bits, since NVIDIA's compiler takes an OpFConvert to it and back away.
  if (tsri_expand_has_convert(to, dtype)) return expanded(s, to, from, a);
  if (to == TSR_BOOL) {
    return tsri_spv_op2(s, SPV_OP_I_NOT_EQUAL, tsri_spv_bool_type(type), a, tsri_spv_const(s, type, 0));
  }
  return int_to_int(s, to, dtype, from.lanes, a);
}
