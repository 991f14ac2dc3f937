// SPDX-License-Identifier: MIT
// Which operations have an expansion, and writing one. The formulas are in expand_exp.c, expand_log.c, expand_trig.c,
// expand_reduce.c, expand_fma.c, expand_divide.c, expand_root.c, expand_nan.c, expand_integer.c, expand_convert.c and expand_half.c.
#include "lang/lower/expand.h"

#include "lang/lower/expand_build.h"

#define TRIG_LIMIT 0x1p15

typedef node (*unary)(tsri_expander *e, node x);
typedef node (*binary)(tsri_expander *e, node x, node y);

typedef struct entry {
  const char *calls[5];  // calls of the functions, by type: f32, f64, i32, u32, i64
  unary float_one, int_one;
  binary float_two, int_two;
  bool is_long;
  bool is_nan_last;  // comparisons of intermediate values see NaN only if the operand is NaN
  binary is_far;     // floats have two expansions; this condition is true for operands that need the second one
} entry;

#define CALLS(name, operands)                                                                                     \
  .calls = {"tsr_" name "_f32(" operands ")", "tsr_" name "_f64(" operands ")", "tsr_" name "_i32(" operands ")", \
            "tsr_" name "_u32(" operands ")", "tsr_" name "_i64(" operands ")"}
#define ONE(name)   CALLS(name, "$a")
#define TWO(name)   CALLS(name, "$a, $b")
#define THREE(name) CALLS(name, "$a, $b, $c")
#define MATHS       .is_long = true

static node is_beyond_limit(tsri_expander *e, node x, node unused) {
  (void)unused;
  return lt(e, bits_of(e, num(e, TRIG_LIMIT)), iand(e, bits_of(e, x), e->k->magnitude));
}

static const entry entries[TSRI_OP_COUNT] = {
    [TSRI_OP_NEG] = {ONE("neg"), .float_one = tsri_expand_float_neg},
    [TSRI_OP_DIV] = {TWO("div"), .float_two = tsri_expand_float_div, .int_two = tsri_expand_integer_div,
                     .is_far = tsri_expand_div_is_far},
    [TSRI_OP_REM] = {TWO("rem"), .int_two = tsri_expand_integer_rem},
    [TSRI_OP_EQ] = {TWO("eq"), .float_two = tsri_expand_eq},
    [TSRI_OP_NE] = {TWO("ne"), .float_two = tsri_expand_ne},
    [TSRI_OP_LT] = {TWO("lt"), .float_two = tsri_expand_lt},
    [TSRI_OP_LE] = {TWO("le"), .float_two = tsri_expand_le},
    [TSRI_OP_GT] = {TWO("gt"), .float_two = tsri_expand_gt},
    [TSRI_OP_GE] = {TWO("ge"), .float_two = tsri_expand_ge},
    [TSRI_OP_MIN] = {TWO("min"), .float_two = tsri_expand_float_min, .int_two = tsri_expand_integer_min},
    [TSRI_OP_MAX] = {TWO("max"), .float_two = tsri_expand_float_max, .int_two = tsri_expand_integer_max},
    [TSRI_OP_ABS] = {ONE("abs"), .float_one = tsri_expand_float_abs, .int_one = tsri_expand_integer_abs},
    [TSRI_OP_SIGN] = {ONE("sign"), .float_one = tsri_expand_float_sign, .int_one = tsri_expand_integer_sign},
    [TSRI_OP_SQRT] = {ONE("sqrt"), .float_one = tsri_expand_sqrt},
    [TSRI_OP_RSQRT] = {ONE("rsqrt"), .float_one = tsri_expand_rsqrt},
    [TSRI_OP_EXP] = {ONE("exp"), MATHS, .float_one = tsri_expand_exp, .is_nan_last = true},
    [TSRI_OP_EXP2] = {ONE("exp2"), MATHS, .float_one = tsri_expand_exp2, .is_nan_last = true},
    [TSRI_OP_EXPM1] = {ONE("expm1"), MATHS, .float_one = tsri_expand_expm1, .is_nan_last = true},
    [TSRI_OP_SINH] = {ONE("sinh"), MATHS, .float_one = tsri_expand_sinh, .is_nan_last = true},
    [TSRI_OP_COSH] = {ONE("cosh"), MATHS, .float_one = tsri_expand_cosh, .is_nan_last = true},
    [TSRI_OP_TANH] = {ONE("tanh"), MATHS, .float_one = tsri_expand_tanh, .is_nan_last = true},
    [TSRI_OP_ERF] = {ONE("erf"), MATHS, .float_one = tsri_expand_erf, .is_nan_last = true},
    [TSRI_OP_LOG] = {ONE("log"), MATHS, .float_one = tsri_expand_log},
    [TSRI_OP_LOG2] = {ONE("log2"), MATHS, .float_one = tsri_expand_log2},
    [TSRI_OP_LOG10] = {ONE("log10"), MATHS, .float_one = tsri_expand_log10},
    [TSRI_OP_LOG1P] = {ONE("log1p"), MATHS, .float_one = tsri_expand_log1p},
    [TSRI_OP_SIN] = {ONE("sin"), MATHS, .float_one = tsri_expand_sin, .is_far = is_beyond_limit},
    [TSRI_OP_COS] = {ONE("cos"), MATHS, .float_one = tsri_expand_cos, .is_far = is_beyond_limit},
    [TSRI_OP_TAN] = {ONE("tan"), MATHS, .float_one = tsri_expand_tan, .is_far = is_beyond_limit},
    [TSRI_OP_ASIN] = {ONE("asin"), MATHS, .float_one = tsri_expand_asin},
    [TSRI_OP_ACOS] = {ONE("acos"), MATHS, .float_one = tsri_expand_acos},
    [TSRI_OP_ATAN] = {ONE("atan"), MATHS, .float_one = tsri_expand_atan},
    [TSRI_OP_ATAN2] = {TWO("atan2"), MATHS, .float_two = tsri_expand_atan2},
    [TSRI_OP_POW] = {TWO("pow"), MATHS, .float_two = tsri_expand_pow},
    [TSRI_OP_FMA] = {THREE("fma")},
    [TSRI_OP_ISNAN] = {ONE("isnan"), .float_one = tsri_expand_isnan},
    [TSRI_OP_ISINF] = {ONE("isinf"), .float_one = tsri_expand_isinf},
    [TSRI_OP_ISFINITE] = {ONE("isfinite"), .float_one = tsri_expand_isfinite},
    [TSRI_OP_POPCOUNT] = {ONE("popcount"), .int_one = tsri_expand_popcount},
    [TSRI_OP_CLZ] = {ONE("clz"), .int_one = tsri_expand_clz},
    [TSRI_OP_CTZ] = {ONE("ctz"), .int_one = tsri_expand_ctz},
    [TSRI_OP_MULHI] = {TWO("mulhi"), .int_two = tsri_expand_mulhi},
};

static bool is_float_type(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }

bool tsri_expand_has_far(tsri_ir_op code, tsr_dtype dtype) { return is_float_type(dtype) && entries[code].is_far; }

bool tsri_expand_is_long(tsri_ir_op code) { return entries[code].is_long; }

bool tsri_expand_has(tsri_ir_op code, tsri_ir_type type) {
  const entry *of = &entries[code];
  if ((code == TSRI_OP_DIV || code == TSRI_OP_SQRT) && type.dtype == TSR_F64) return false;
  if (is_float_type((tsr_dtype)type.dtype)) return of->float_one || of->float_two || code == TSRI_OP_FMA;
  if (type.dtype == TSR_BOOL) return false;
  bool counts = code == TSRI_OP_POPCOUNT || code == TSRI_OP_CLZ;  // of 64 bits, computed from the counts of 32 bits
  return (of->int_one || of->int_two) && (!counts || type.dtype == TSR_I64);
}

const char *tsri_expand_call(tsri_ir_op code, tsr_dtype dtype) {
  static const uint8_t places[TSR_DTYPE_COUNT] = {
      [TSR_F32] = 0, [TSR_F64] = 1, [TSR_I32] = 2, [TSR_U32] = 3, [TSR_I64] = 4};
  return entries[code].calls[places[dtype]];
}

static tsri_expander expander_for(tsri_ir_type type, tsri_expand_options options, tsri_expansion *out) {
  out->count = 1;
  out->has_overflowed = false;
  bool is_wide = type.dtype == TSR_F64;
  tsri_ir_type bits = {is_wide ? TSR_I64 : TSR_U32, type.lanes};
  return (tsri_expander){.out = out,
                         .type = type,
                         .ints = is_float_type((tsr_dtype)type.dtype) ? bits : type,
                         .bools = {TSR_BOOL, type.lanes},
                         .k = is_wide ? &tsri_expand_f64 : &tsri_expand_f32,
                         .fma = options.fma,
                         .is_narrow = options.narrow && type.dtype == TSR_F32,
                         .has_quotient = options.near_quotient && options.fma && type.dtype == TSR_F32,
                         .has_exp2 = options.near_exp2 && options.fma && type.dtype == TSR_F32,
                         .has_root = options.near_root && options.fma && type.dtype == TSR_F32,
                         .asks_by_bits = options.nan_by_bits,
                         .trusts_nan = options.trusts_nan,
                         .rounds_by_products = options.by_products && options.trusts_nan,
                         .has_remainder = options.remainder,
                         .goes_through_f64 = options.f64};
}

static void put_operands(tsri_expander *e, tsri_ir_op code, node *out_args) {
  for (uint32_t i = 0; i < tsri_ir_op_infos[code].arity; i++) {
    out_args[i] = put(e, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = e->type, .object = i});
  }
}

void tsri_expand_is_far(tsri_ir_op code, tsri_ir_type type, tsri_expansion *out) {
  tsri_expander e = expander_for(type, (tsri_expand_options){0}, out);
  node args[3] = {0};
  put_operands(&e, code, args);
  out->result = entries[code].is_far(&e, args[0], args[1]);
}

void tsri_expand(tsri_ir_op code, tsri_ir_type type, tsri_expand_options options, tsri_expansion *out) {
  bool is_float = is_float_type((tsr_dtype)type.dtype);
  unary one = is_float ? entries[code].float_one : entries[code].int_one;
  binary two = is_float ? entries[code].float_two : entries[code].int_two;
  tsri_expander e = expander_for(type, options, out);
  e.is_nan_last = options.nan_by_bits && entries[code].is_nan_last && !e.has_exp2;
  e.is_far = options.far;
  node args[3] = {0};
  put_operands(&e, code, args);
  if (two) {
    out->result = two(&e, args[0], args[1]);
    return;
  }
  if (!one) {
    out->result = tsri_expand_fma(&e, args[0], args[1], args[2]);
    return;
  }
  out->result = one(&e, args[0]);
  if (e.is_far) {
    node is_number = ne(&e, iand(&e, bits_of(&e, args[0]), e.k->infinity), whole(&e, e.k->infinity));
    out->result = pick(&e, is_number, out->result, not_a_number(&e));
  }
  if (e.is_nan_last) out->result = pick(&e, is_nan(&e, args[0]), args[0], out->result);
}

// --- Conversions ----------------------------------------------------------------------------------------------------

static bool is_half(tsr_dtype dtype) { return dtype == TSR_F16 || dtype == TSR_BF16; }

bool tsri_expand_has_convert(tsr_dtype to, tsr_dtype from) {
  if (is_float_type(from)) return !is_float_type(to);
  if (to == TSR_F32) return from == TSR_U32;
  return to == TSR_BF16 && (from == TSR_I32 || from == TSR_U32 || from == TSR_I64);
}

static node convert(tsri_expander *e, tsr_dtype to, tsri_ir_type from, node x) {
  if (from.dtype == TSR_F64 && is_half(to)) return tsri_expand_f64_to_half(e, to, x);
  if (is_float_type((tsr_dtype)from.dtype)) {
    if (to == TSR_BOOL) return tsri_expand_float_to_bool(e, x);
    if (to == TSR_F16) return tsri_expand_round_f16(e, x);
    return to == TSR_BF16 ? tsri_expand_round_bf16(e, x) : tsri_expand_float_to_int(e, to, x);
  }
  e->type.dtype = TSR_F32;
  return to == TSR_F32 ? tsri_expand_word_to_f32(e, x) : tsri_expand_integer_to_bf16(e, x);
}

void tsri_expand_convert(tsr_dtype to, tsri_ir_type from, tsri_expand_options options, tsri_expansion *out) {
  tsri_expander e = expander_for(from, options, out);
  node x = put(&e, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = from});
  out->result = convert(&e, to, from, x);
}

void tsri_expand_encode(tsr_dtype storage, uint32_t lanes, tsri_expand_options options, tsri_expansion *out) {
  tsri_ir_type type = {TSR_F32, (uint8_t)lanes};
  tsri_expander e = expander_for(type, options, out);
  node x = put(&e, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = type});
  out->result = storage == TSR_F16 ? tsri_expand_encode_f16(&e, x) : tsri_expand_encode_bf16(&e, x, options.upper);
}

void tsri_expand_decode(tsr_dtype storage, uint32_t lanes, tsri_expansion *out) {
  tsri_ir_type type = {TSR_F32, (uint8_t)lanes}, word = {TSR_U32, (uint8_t)lanes};
  tsri_expander e = expander_for(type, (tsri_expand_options){0}, out);
  node half = put(&e, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = word});
  out->result = storage == TSR_F16 ? tsri_expand_decode_f16(&e, half) : tsri_expand_decode_bf16(&e, half);
}
