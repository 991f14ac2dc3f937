// SPDX-License-Identifier: MIT
// Templates for one lane of each operation and conversion; emit/c/helpers.c explains the letters. $a, $b, $c are the
// operands. A template that is an operator has brackets around it. An operation that the dialect lacks (lower/lacks.h) is a
// call of the function made of its expansion.
#include <string.h>

#include "lang/emit/c/c.h"
#include "lang/lower/expand.h"

typedef struct op_patterns {
  const char *f;  // f32, f64
  const char *i;  // i32, i64
  const char *u;  // u32
  const char *b;  // bool
} op_patterns;

#define SAME(text) \
  { text, text, text, text }
#define MATH1(name) \
  { .f = "$p" name "$f($a)" }
#define MATH2(name) \
  { .f = "$p" name "$f($a, $b)" }
#define EXACT1(name) \
  { .f = name "$f($a)" }

static const op_patterns patterns[TSRI_OP_COUNT] = {
    [TSRI_OP_NEG] = {"(-$a)", "tsr_neg_$t($a)", NULL, NULL},
    [TSRI_OP_BIT_NOT] = {NULL, "(~$a)", "(~$a)", NULL},
    [TSRI_OP_NOT] = {NULL, NULL, NULL, "(!$a)"},
    [TSRI_OP_ADD] = {"($a + $b)", "tsr_add_$t($a, $b)", "($a + $b)", NULL},
    [TSRI_OP_SUB] = {"($a - $b)", "tsr_sub_$t($a, $b)", "($a - $b)", NULL},
    [TSRI_OP_MUL] = {"($a * $b)", "tsr_mul_$t($a, $b)", "($a * $b)", NULL},
    [TSRI_OP_DIV] = {"($a / $b)", "($a / $b)", "($a / $b)", NULL},
    [TSRI_OP_REM] = {NULL, "($a % $b)", "($a % $b)", NULL},
    [TSRI_OP_AND] = {NULL, "($a & $b)", "($a & $b)", "(bool)($a & $b)"},
    [TSRI_OP_OR] = {NULL, "($a | $b)", "($a | $b)", "(bool)($a | $b)"},
    [TSRI_OP_XOR] = {NULL, "($a ^ $b)", "($a ^ $b)", "($a != $b)"},
    [TSRI_OP_SHL] = {NULL, "tsr_shl_$t($a, $b)", "($a << ($b & $w))", NULL},
    [TSRI_OP_SHR] = {NULL, "($a >> ($b & $w))", "($a >> ($b & $w))", NULL},
    [TSRI_OP_EQ] = SAME("($a == $b)"),
    [TSRI_OP_NE] = SAME("($a != $b)"),
    [TSRI_OP_LT] = SAME("($a < $b)"),
    [TSRI_OP_LE] = SAME("($a <= $b)"),
    [TSRI_OP_GT] = SAME("($a > $b)"),
    [TSRI_OP_GE] = SAME("($a >= $b)"),
    [TSRI_OP_ABS] = EXACT1("fabs"),
    [TSRI_OP_FLOOR] = EXACT1("floor"),
    [TSRI_OP_CEIL] = EXACT1("ceil"),
    [TSRI_OP_ROUND] = EXACT1("rint"),
    [TSRI_OP_TRUNC] = EXACT1("trunc"),
    [TSRI_OP_SQRT] = MATH1("sqrt"),
    [TSRI_OP_RSQRT] = MATH1("rsqrt"),
    [TSRI_OP_EXP] = MATH1("exp"),
    [TSRI_OP_EXP2] = MATH1("exp2"),
    [TSRI_OP_EXPM1] = MATH1("expm1"),
    [TSRI_OP_LOG] = MATH1("log"),
    [TSRI_OP_LOG2] = MATH1("log2"),
    [TSRI_OP_LOG10] = MATH1("log10"),
    [TSRI_OP_LOG1P] = MATH1("log1p"),
    [TSRI_OP_SIN] = MATH1("sin"),
    [TSRI_OP_COS] = MATH1("cos"),
    [TSRI_OP_TAN] = MATH1("tan"),
    [TSRI_OP_ASIN] = MATH1("asin"),
    [TSRI_OP_ACOS] = MATH1("acos"),
    [TSRI_OP_ATAN] = MATH1("atan"),
    [TSRI_OP_ATAN2] = MATH2("atan2"),
    [TSRI_OP_SINH] = MATH1("sinh"),
    [TSRI_OP_COSH] = MATH1("cosh"),
    [TSRI_OP_TANH] = MATH1("tanh"),
    [TSRI_OP_ERF] = MATH1("erf"),
    [TSRI_OP_POW] = MATH2("pow"),
    [TSRI_OP_FMA] = {.f = "fma$f($a, $b, $c)"},
    [TSRI_OP_POPCOUNT] = {.i = "(i32)tsr_popcount32((u32)$a)", .u = "tsr_popcount32($a)"},
    [TSRI_OP_CLZ] = {.i = "(i32)tsr_clz32((u32)$a)", .u = "tsr_clz32($a)"},
    [TSRI_OP_MULHI] = {.u = "(u32)(((u64)$a * (u64)$b) >> 32)"},
    [TSRI_OP_SELECT] = SAME("tsr_select_$t($a, $b, $c)"),
};

const char *tsri_c_op_pattern(const tsri_c_emitter *e, tsri_ir_op op, tsr_dtype dtype, bool is_loose) {
  if (!is_loose && tsri_lacks_op(&e->lacks, op, dtype)) return tsri_expand_call(op, dtype);
  // NVIDIA's assembler must not see it: helpers.c.
  bool is_seen = !is_loose && tsri_c_is(e, TSRI_C_CUDA | TSRI_C_OPENCL);
  if (op == TSRI_OP_NEG && dtype == TSR_I32 && is_seen) return "tsr_negate($a)";
  if (is_loose && op == TSRI_OP_SHR) return "($a >> $b)";
  if (is_loose && op == TSRI_OP_SHL && dtype == TSR_U32) return "($a << $b)";
  const op_patterns *p = &patterns[op];
  if (dtype == TSR_F32 || dtype == TSR_F64) return p->f;
  if (dtype == TSR_I32 || dtype == TSR_I64) return p->i;
  return dtype == TSR_U32 ? p->u : p->b;
}

// --- Conversions: $t is the type converted from ---------------------------------------------------------------------

typedef struct convert_patterns {
  const char *from_float, *from_int, *from_bool;
} convert_patterns;

static const convert_patterns conversions[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = {"tsr_to_bool_$t($a)", "($a != 0)", "$a"},
    [TSR_U8] = {"tsr_to_u8_$t($a)", "(u32)(u8)$a", "(u32)$a"},
    [TSR_I8] = {"tsr_to_i8_$t($a)", "(i32)(i8)$a", "(i32)$a"},
    [TSR_I16] = {"tsr_to_i16_$t($a)", "(i32)(i16)$a", "(i32)$a"},
    [TSR_I32] = {"tsr_to_i32_$t($a)", "(i32)$a", "(i32)$a"},
    [TSR_I64] = {"tsr_to_i64_$t($a)", "(i64)$a", "(i64)$a"},
    [TSR_U32] = {"tsr_to_u32_$t($a)", "(u32)$a", "(u32)$a"},
    // Integers reach f16 through f32: the checked form says so.
    [TSR_F16] = {"tsr_to_f16_$t($a)", NULL, NULL},
    [TSR_BF16] = {"tsr_to_bf16_$t($a)", "tsr_to_bf16_$t($a)", NULL},
    [TSR_F32] = {"(f32)$a", "(f32)$a", "(f32)$a"},
    [TSR_F64] = {"(f64)$a", "(f64)$a", "(f64)$a"},
};

// There and back, which NVIDIA's hardware does for f64, too, if to f16; NULL where that is no rounding to nearest even.
static const char *rounding_pattern(const tsri_c_emitter *e, tsr_dtype to, tsr_dtype from) {
  if (e->lacks.rounding >> to & 1) return NULL;
  if (from == TSR_F64) return to == TSR_F16 && tsri_c_is(e, TSRI_C_CUDA) ? "tsr_f16_to_f32(tsr_f64_to_f16($a))" : NULL;
  return to == TSR_F16 ? "tsr_f16_to_f32(tsr_f32_to_f16($a))" : "tsr_bf16_to_f32(tsr_f32_to_bf16($a))";
}

const char *tsri_c_convert_pattern(const tsri_c_emitter *e, tsr_dtype to, tsr_dtype from, bool is_loose) {
  if (to == from) return "$a";
  const convert_patterns *c = &conversions[to];
  if (from == TSR_BOOL) return c->from_bool;
  if (is_loose) return conversions[tsri_ir_compute_dtype(to)].from_int;
  bool is_float = from == TSR_F32 || from == TSR_F64;
  if (!is_float) return c->from_int;
  const char *rounding = to == TSR_F16 || to == TSR_BF16 ? rounding_pattern(e, to, from) : NULL;
  return rounding ? rounding : c->from_float;
}

// $t is the float type, where there is one.
const char *tsri_c_bitcast_pattern(tsr_dtype to, tsr_dtype from) {
  bool to_float = to == TSR_F32 || to == TSR_F64, from_float = from == TSR_F32 || from == TSR_F64;
  if (to == from || (to_float && from_float)) return "$a";
  if (to_float) return "tsr_from_$t(($u)$a)";
  if (from_float)
    return to == TSR_U32 ? "tsr_bits_$t($a)" : to == TSR_I32 ? "(i32)tsr_bits_$t($a)" : "(i64)tsr_bits_$t($a)";
  return to == TSR_U32 ? "(u32)$a" : to == TSR_I32 ? "(i32)$a" : "(i64)$a";
}

// --- Elements in memory ---------------------------------------------------------------------------------------------

// `type`: C type of an element; `native`: of the dialects' own vectors of them, "uchar4".
typedef struct element_patterns {
  const char *type, *native, *decode, *encode;
} element_patterns;

static const element_patterns elements[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = {"u8", "uchar", "($a != 0)", "(u8)($a ? 1 : 0)"},
    [TSR_U8] = {"u8", "uchar", "(u32)$a", "(u8)$a"},
    [TSR_I8] = {"i8", "char", "(i32)$a", "(i8)$a"},
    [TSR_I16] = {"i16", "short", "(i32)$a", "(i16)$a"},
    [TSR_F16] = {"u16", "ushort", "tsr_f16_to_f32($a)", "tsr_f32_to_f16($a)"},
    [TSR_BF16] = {"u16", "ushort", "tsr_bf16_to_f32($a)", "tsr_f32_to_bf16($a)"},
    [TSR_I32] = {"i32", "int", "$a", "$a"},
    [TSR_U32] = {"u32", "uint", "$a", "$a"},
    [TSR_F32] = {"f32", "float", "$a", "$a"},
    [TSR_I64] = {"i64", NULL, "$a", "$a"},
    [TSR_F64] = {"f64", "double", "$a", "$a"},
};

const char *tsri_c_mem_type(tsr_dtype storage) { return elements[storage].type; }

const char *tsri_c_native_element(const tsri_c_emitter *e, tsr_dtype storage) {
  return storage == TSR_I64 ? e->spell->native_i64 : elements[storage].native;
}

const char *tsri_c_decode_pattern(tsr_dtype storage) { return elements[storage].decode; }

const char *tsri_c_encode_pattern(tsr_dtype storage) { return elements[storage].encode; }
