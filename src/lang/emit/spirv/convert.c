// SPDX-License-Identifier: MIT
// Conversions between value types, and to and from the bits of storage types. If no instruction gives the same result as tsr_convert, the conversion is
// expanded.
#include "lang/emit/spirv/spirv.h"

#define U(op, a, b) SPV_OP(s, SPV_OP_##op, words, (a), (b))
#define WORD(value) tsri_spv_const(s, words, (value))

static bool is_float(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }

// --- Storage types ----------------------------------------------------------------------------------------------------

static bool is_half(tsr_dtype dtype) { return dtype == TSR_F16 || dtype == TSR_BF16; }

// Truncates an integer of at most 32 bits to the size of `to`, and extends it again.
static tsri_spv_id narrowed(tsri_spv *s, tsr_dtype to, tsri_spv_type words, tsri_spv_id a) {
  if (to == TSR_U8) return U(BITWISE_AND, a, WORD(0xff));
  if (to != TSR_I8 && to != TSR_I16) return a;
  tsri_spv_id unused_bits = WORD(to == TSR_I8 ? 24 : 16), upper = U(SHIFT_LEFT_LOGICAL, a, unused_bits);
  return U(SHIFT_RIGHT_ARITHMETIC, upper, unused_bits);
}

static tsri_spv_id not_zero(tsri_spv *s, tsri_spv_type type, tsri_spv_id a) {
  return SPV_OP(s, SPV_OP_I_NOT_EQUAL, tsri_spv_bool_type(type), a, tsri_spv_const(s, type, 0));
}

// Comparisons of f32 are right for NaN if the driver supports the execution mode for that.
static tsri_expand_options options_of(const tsri_spv *s) {
  return (tsri_expand_options){.trusts_nan = (s->options->keeps_nan & 2) != 0 && !s->options->quirks,
                               .by_products = s->options->exact_products};
}

// tsri_spv_encode: the bits of a value as a storage type, in a word. tsri_spv_decode: the reverse.
tsri_spv_id tsri_spv_encode(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id value) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes);
  size_t bytes = tsr_dtype_bytes(storage);
  tsri_expansion x;
  if (storage == TSR_BOOL) {
    tsri_spv_id zero = WORD(0), one = WORD(1);
    return SPV_OP(s, SPV_OP_SELECT, words, value, one, zero);
  }
  if (!is_half(storage)) return bytes < 4 ? U(BITWISE_AND, value, WORD(bytes == 1 ? 0xff : 0xffff)) : value;
  tsri_expand_encode(storage, lanes, options_of(s), &x);
  return tsri_spv_put_expansion(s, &x, &value);
}

tsri_spv_id tsri_spv_bf16_halves(tsri_spv *s, uint32_t lanes, tsri_spv_id value) {
  tsri_spv_type word = tsri_spv_make_type(SPV_U32, 1), words = tsri_spv_make_type(SPV_U32, lanes);
  tsri_spv_type two = tsri_spv_make_type(SPV_U16, 2), four = tsri_spv_make_type(SPV_U16, 4);
  tsri_expand_options options = options_of(s);
  tsri_expansion x;
  tsri_spv_id parts[4];
  options.upper = true;
  tsri_expand_encode(TSR_BF16, lanes, options, &x);
  tsri_spv_id upper = tsri_spv_put_expansion(s, &x, &value);
  tsri_spv_need(s, SPV_CAPABILITY_INT16);
  for (uint32_t i = 0; i < lanes; i++) parts[i] = tsri_spv_bitcast(s, two, word, tsri_spv_extract(s, words, upper, i));
  if (lanes == 1) return tsri_spv_extract(s, two, parts[0], 1);
  for (uint32_t i = 0; i < lanes; i += 2) {
    parts[i / 2] = SPV_OP(s, SPV_OP_VECTOR_SHUFFLE, two, parts[i], parts[i + 1], 1, 3);
  }
  return lanes == 2 ? parts[0] : SPV_OP(s, SPV_OP_VECTOR_SHUFFLE, four, parts[0], parts[1], 0, 1, 2, 3);
}

tsri_spv_id tsri_spv_decode(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id bits) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes);
  tsri_expansion x;
  if (storage == TSR_BOOL) return not_zero(s, words, bits);
  if (!is_half(storage)) return storage == TSR_U8 ? bits : narrowed(s, storage, words, bits);
  tsri_expand_decode(storage, lanes, &x);
  return tsri_spv_put_expansion(s, &x, &bits);
}

// --- Between value types --------------------------------------------------------------------------------------------

// Sign-extends to i64: bits 32 to 63 are the sign. Done without OpSConvert, because gallivm gets comparisons of its
// result with a constant wrong.
static tsri_spv_id widen_signed(tsri_spv *s, uint32_t lanes, tsri_spv_id a) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), wide = tsri_spv_make_type(SPV_U64, lanes);
  if (!s->options->quirks) return SPV_OP(s, SPV_OP_S_CONVERT, wide, a);
  tsri_spv_id sign = U(SHIFT_RIGHT_ARITHMETIC, a, WORD(31));
  tsri_spv_id upper = SPV_OP(s, SPV_OP_U_CONVERT, wide, sign), lower = SPV_OP(s, SPV_OP_U_CONVERT, wide, a);
  upper = SPV_OP(s, SPV_OP_SHIFT_LEFT_LOGICAL, wide, upper, WORD(32));
  return SPV_OP(s, SPV_OP_BITWISE_OR, wide, upper, lower);
}

static tsri_spv_id int_to_int(tsri_spv *s, tsr_dtype to, tsr_dtype from, uint32_t lanes, tsri_spv_id a) {
  tsri_spv_type words = tsri_spv_make_type(SPV_U32, lanes), wide = tsri_spv_make_type(SPV_U64, lanes);
  if (to == TSR_I64) return from == TSR_I32 ? widen_signed(s, lanes, a) : SPV_OP(s, SPV_OP_U_CONVERT, wide, a);
  return narrowed(s, to, words, from == TSR_I64 ? SPV_OP(s, SPV_OP_U_CONVERT, words, a) : a);
}

static tsri_spv_id hidden_zeros(tsri_spv *s, tsri_spv_type ints) {
  tsri_spv_id zero = tsri_spv_hidden_zero(s);
  if (tsri_spv_is_64(ints)) zero = SPV_OP(s, SPV_OP_U_CONVERT, tsri_spv_make_type(SPV_U64, 1), zero);
  return tsri_spv_compose(s, ints, (tsri_spv_id[4]){zero, zero, zero, zero});
}

static tsri_spv_id bool_to_number(tsri_spv *s, tsri_spv_type type, tsri_spv_id a) {
  tsri_spv_type bits = tsri_spv_bits_type(type);
  bool is_hidden = tsri_spv_is_float(type) && s->options->quirks;
  uint64_t one = type.kind == SPV_F32 ? 0x3F800000 : type.kind == SPV_F64 ? UINT64_C(0x3FF) << 52 : 1;
  tsri_spv_id zero = is_hidden ? tsri_spv_bitcast(s, type, bits, hidden_zeros(s, bits)) : tsri_spv_const(s, type, 0);
  return SPV_OP(s, SPV_OP_SELECT, type, a, tsri_spv_const(s, type, one), zero);
}

static tsri_spv_id expanded(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a) {
  tsri_expansion x;
  bool is_rounded = to == TSR_BF16 && from.dtype == TSR_F32;
  tsri_expand_convert(to, from, is_rounded ? options_of(s) : (tsri_expand_options){0}, &x);
  return tsri_spv_put_expansion(s, &x, &a);
}

// To f32 or f64.
static tsri_spv_id int_to_float(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a, bool is_loose) {
  tsri_spv_type ints = tsri_spv_value_type(from), floats = tsri_spv_make_type(tsri_spv_value_kind(to), from.lanes);
  bool is_signed = from.dtype != TSR_U32;
  if (s->options->quirks && !is_loose) {
    a = SPV_OP(s, SPV_OP_BITWISE_OR, ints, a, hidden_zeros(s, ints));
    if (!is_signed && to == TSR_F32) return expanded(s, to, from, a);
  }
  return SPV_OP(s, is_signed ? SPV_OP_CONVERT_S_TO_F : SPV_OP_CONVERT_U_TO_F, floats, a);
}

tsri_spv_id tsri_spv_convert(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a, bool is_loose) {
  tsri_spv_type type = tsri_spv_value_type(from);
  tsr_dtype dtype = (tsr_dtype)from.dtype;
  tsri_spv_type result = tsri_spv_make_type(tsri_spv_value_kind(tsri_ir_compute_dtype(to)), from.lanes);
  if (to == dtype) return a;
  if (dtype == TSR_BOOL) return bool_to_number(s, result, a);
  if (is_float(to)) {
    if (is_float(dtype)) return SPV_OP(s, SPV_OP_F_CONVERT, result, a);
    return int_to_float(s, to, from, a, is_loose);
  }
  if (is_float(dtype) && is_loose) {  // the operand is in range
    bool is_unsigned = to == TSR_U8 || to == TSR_U32;
    return SPV_OP(s, is_unsigned ? SPV_OP_CONVERT_F_TO_U : SPV_OP_CONVERT_F_TO_S, result, a);
  }
  // f16 is rounded by its bits, too, since NVIDIA's compiler removes an OpFConvert to f16 and back.
  if (tsri_expand_has_convert(to, dtype)) return expanded(s, to, from, a);
  if (to == TSR_BOOL) return not_zero(s, type, a);
  return int_to_int(s, to, dtype, from.lanes, a);
}
