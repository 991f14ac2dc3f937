// SPDX-License-Identifier: MIT
// Templates for one lane of each operation and conversion; emit/c/helpers.c explains the holes. $a, $b, $c are the operands. A template that is an operator is
// in brackets. An operation that the dialect lacks (lower/lacks.h) is a call of the function made of its expansion.
#include <string.h>

#include "lang/emit/c/c.h"
#include "lang/lower/expand.h"

static bool is_float(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }

static bool is_signed(tsr_dtype dtype) { return dtype == TSR_I32 || dtype == TSR_I64; }

// --- Operations: $o is the language's own spelling, $n the helper's name --------------------------------------------

// By type of the operand. NULL: the operator or function of plain_pattern.
typedef struct op_patterns {
  const char *f;  // f32, f64
  const char *i;  // i32, i64
  const char *u;  // u32
  const char *b;  // bool
} op_patterns;

// Operations that are exact in every dialect (rounding to integers, dropping the sign): Metal needs no precise:: for them.
#define EXACT "$o$f($a)"
// Signed integers wrap around.
#define WRAPS(name) \
  { .i = "tsr_" name "_$t($a, $b)" }

static const op_patterns patterns[TSRI_OP_COUNT] = {
    [TSRI_OP_NEG] = {.i = "tsr_neg_$t($a)"},
    [TSRI_OP_ADD] = WRAPS("add"),
    [TSRI_OP_SUB] = WRAPS("sub"),
    [TSRI_OP_MUL] = WRAPS("mul"),
    [TSRI_OP_AND] = {.b = "(bool)($a & $b)"},
    [TSRI_OP_OR] = {.b = "(bool)($a | $b)"},
    [TSRI_OP_XOR] = {.b = "($a != $b)"},
    [TSRI_OP_SHL] = {.i = "tsr_shl_$t($a, $b)", .u = "($a << ($b & $w))"},
    [TSRI_OP_SHR] = {.i = "($a >> ($b & $w))", .u = "($a >> ($b & $w))"},
    [TSRI_OP_LOOSE_MAX] = {.f = "fmax$f($a, $b)"},
    [TSRI_OP_LOOSE_LESS] = {.f = "($a < $b)"},
    [TSRI_OP_ABS] = {.f = "fabs$f($a)"},
    [TSRI_OP_FLOOR] = {.f = EXACT},
    [TSRI_OP_CEIL] = {.f = EXACT},
    [TSRI_OP_ROUND] = {.f = "rint$f($a)"},
    [TSRI_OP_TRUNC] = {.f = EXACT},
    [TSRI_OP_FMA] = {.f = "fma$f($a, $b, $c)"},
    [TSRI_OP_POPCOUNT] = {.i = "(i32)tsr_popcount32((u32)$a)", .u = "tsr_popcount32($a)"},
    [TSRI_OP_CLZ] = {.i = "(i32)tsr_clz32((u32)$a)", .u = "tsr_clz32($a)"},
    [TSRI_OP_MULHI] = {.u = "(u32)(((u64)$a * (u64)$b) >> 32)"},
};

// The language's own operator, or a mathematical function.
static const char *plain_pattern(tsri_ir_op op) {
  bool has_two = tsri_ir_op_infos[op].arity == 2;
  if (op == TSRI_OP_SELECT) return "tsr_select_$t($a, $b, $c)";
  if (tsri_ir_op_infos[op].is_operator) return has_two ? "($a $o $b)" : "($o$a)";
  return has_two ? "$p$o$f($a, $b)" : "$p$o$f($a)";
}

static const char *op_pattern(const tsri_c_emitter *e, tsri_ir_op op, tsr_dtype dtype, bool is_loose) {
  if (!is_loose && tsri_lacks_op(&e->lacks, op, dtype)) return tsri_expand_call(op, dtype);
  // NVIDIA's assembler must not see this negation: see helpers.c.
  bool is_seen = !is_loose && tsri_c_is(e, TSRI_C_CUDA | TSRI_C_OPENCL);
  if (op == TSRI_OP_NEG && dtype == TSR_I32 && is_seen) return "tsr_negate($a)";
  if (is_loose && (op == TSRI_OP_SHR || (op == TSRI_OP_SHL && dtype == TSR_U32))) return plain_pattern(op);
  const op_patterns *p = &patterns[op];
  const char *pattern = is_float(dtype) ? p->f : is_signed(dtype) ? p->i : dtype == TSR_U32 ? p->u : p->b;
  return pattern ? pattern : plain_pattern(op);
}

// --- Conversions: $t is the type converted from, $o the one converted to, $r its value type -------------------------

// Rounds by converting to the narrow type and back. NVIDIA's hardware also does that for f64 if the target is f16. NULL if the conversion does not round to
// nearest even.
static const char *rounding_pattern(const tsri_c_emitter *e, tsr_dtype to, tsr_dtype from) {
  if (e->lacks.rounding >> to & 1) return NULL;
  if (from == TSR_F64) return to == TSR_F16 && tsri_c_is(e, TSRI_C_CUDA) ? "tsr_f16_to_f32(tsr_f64_to_f16($a))" : NULL;
  return to == TSR_F16 ? "tsr_f16_to_f32(tsr_f32_to_f16($a))" : "tsr_bf16_to_f32(tsr_f32_to_bf16($a))";
}

static const char *convert_pattern(const tsri_c_emitter *e, tsr_dtype to, tsr_dtype from, bool is_loose) {
  bool to_half = to == TSR_F16 || to == TSR_BF16, is_exact = is_loose || from == TSR_BOOL || is_float(to);
  if (to == from) return "$a";
  if (is_exact) return "($r)$a";
  const char *rounding = to_half && is_float(from) ? rounding_pattern(e, to, from) : NULL;
  if (rounding) return rounding;
  if (to_half || is_float(from)) return "tsr_to_$o_$t($a)";
  if (to == TSR_BOOL) return "($a != 0)";
  return to == tsri_ir_compute_dtype(to) ? "($r)$a" : "($r)($o)$a";
}

// $t is the float type, if one is involved. Conversions between integers keep their bits.
static const char *bitcast_pattern(tsr_dtype to, tsr_dtype from) {
  if (to == from) return "$a";
  if (is_float(to)) return "tsr_from_$t(($u)$a)";
  if (!is_float(from)) return "($r)$a";
  return to == TSR_U32 ? "tsr_bits_$t($a)" : to == TSR_I32 ? "(i32)tsr_bits_$t($a)" : "(i64)tsr_bits_$t($a)";
}

tsri_c_pattern tsri_c_pattern_of(const tsri_c_emitter *e, const tsri_ir_expr *x, tsr_dtype from, bool is_loose) {
  tsr_dtype result = (tsr_dtype)x->type.dtype, to = (tsr_dtype)x->dtype;
  tsri_c_pattern pattern = {NULL, from, "", tsr_dtype_name(result)};
  if (x->kind == TSRI_EXPR_BITCAST) {
    pattern.text = bitcast_pattern(result, from);
    if (is_float(result)) pattern.dtype = result;
  } else if (x->kind == TSRI_EXPR_CONVERT) {
    pattern.text = convert_pattern(e, to, from, is_loose);
    pattern.word = tsr_dtype_name(to);
  } else {
    pattern.text = op_pattern(e, (tsri_ir_op)x->op, from, is_loose);
    pattern.word = tsri_ir_op_infos[x->op].spelling;
  }
  return pattern;
}

// --- Elements in memory ---------------------------------------------------------------------------------------------

const tsri_c_element tsri_c_elements[TSR_DTYPE_COUNT] = {
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
