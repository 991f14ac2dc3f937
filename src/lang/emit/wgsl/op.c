// SPDX-License-Identifier: MIT
// Operations and conversions as WGSL patterns for one lane, and functions written from their expansions. A pattern that is an operator is in brackets. $a, $b,
// $c are the operands. An operation that WGSL lacks (lower/lacks.h) is a call of the function made of its expansion.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/function.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/hide.h"

// Patterns by the type of the operand: f32, i32, u32, bool.
typedef struct patterns_by_type {
  const char *f, *i, *u, *b;
  const char *native;  // types (letters as above) for which the pattern also works on vectors
} patterns_by_type;

static const char *pattern_for(const patterns_by_type *p, tsr_dtype dtype) {
  return dtype == TSR_F32 ? p->f : dtype == TSR_I32 ? p->i : dtype == TSR_U32 ? p->u : p->b;
}

#define SAME(text, native_) \
  { .f = (text), .i = (text), .u = (text), .b = (text), .native = (native_) }
#define ORDER(op) SAME("($a " op " $b)", "iub")
#define INTS(text, native_) \
  { .i = (text), .u = (text), .native = (native_) }
#define FLOATS(text) \
  { .f = (text), .native = "f" }

// i32 is negated as (a 0 unknown to the compiler) - x: NVIDIA's compiler for Hopper turns min(min(a, -b), -c) into one
// instruction and forgets to negate b (emit/c/helpers.c).
static const patterns_by_type patterns[TSRI_OP_COUNT] = {
    [TSRI_OP_NEG] = {.f = "(-$a)", .i = "(bitcast<i32>(tsr_p[1].x) - $a)", .native = "i"},
    [TSRI_OP_BIT_NOT] = INTS("(~$a)", "iu"),
    [TSRI_OP_NOT] = {.b = "(!$a)", .native = "b"},
    [TSRI_OP_ADD] = SAME("($a + $b)", "fiu"),
    [TSRI_OP_SUB] = SAME("($a - $b)", "fiu"),
    [TSRI_OP_MUL] = SAME("($a * $b)", "fiu"),
    // Hides the divisor: compilers replace x / c by x * (1 / c), which rounds differently, and x / x by 1.
    [TSRI_OP_DIV] = {.f = "($a / tsr_apart($b))", .i = "tsr_div_i32($a, $b)", .u = "tsr_div_u32($a, $b)"},
    [TSRI_OP_REM] = {.i = "tsr_rem_i32($a, $b)", .u = "tsr_rem_u32($a, $b)"},
    [TSRI_OP_AND] = SAME("($a & $b)", "iub"),
    [TSRI_OP_OR] = SAME("($a | $b)", "iub"),
    [TSRI_OP_XOR] = {.i = "($a ^ $b)", .u = "($a ^ $b)", .b = "($a != $b)", .native = "iub"},
    [TSRI_OP_SHL] = INTS("($a << ($b & 31u))", NULL),
    [TSRI_OP_SHR] = INTS("($a >> ($b & 31u))", NULL),
    [TSRI_OP_EQ] = ORDER("=="),
    [TSRI_OP_NE] = ORDER("!="),
    [TSRI_OP_LT] = ORDER("<"),
    [TSRI_OP_LE] = ORDER("<="),
    [TSRI_OP_GT] = ORDER(">"),
    [TSRI_OP_GE] = ORDER(">="),
    [TSRI_OP_MIN] = SAME("min($a, $b)", "iu"),  // of floats: relaxed ones
    [TSRI_OP_MAX] = SAME("max($a, $b)", "iu"),
    [TSRI_OP_LOOSE_MAX] = FLOATS("max($a, $b)"),
    [TSRI_OP_LOOSE_LESS] = FLOATS("($a < $b)"),
    [TSRI_OP_ABS] = {.i = "abs($a)", .native = "i"},
    [TSRI_OP_SIGN] = {.i = "sign($a)", .native = "i"},
    [TSRI_OP_FLOOR] = FLOATS("floor($a)"),
    [TSRI_OP_CEIL] = FLOATS("ceil($a)"),
    [TSRI_OP_ROUND] = FLOATS("round($a)"),
    [TSRI_OP_TRUNC] = FLOATS("trunc($a)"),
    [TSRI_OP_EXP2] = FLOATS("exp2($a)"),
    [TSRI_OP_SQRT] = FLOATS("sqrt($a)"),
    [TSRI_OP_RSQRT] = FLOATS("inverseSqrt($a)"),
    [TSRI_OP_FMA] = FLOATS("fma($a, $b, $c)"),
    [TSRI_OP_POPCOUNT] = INTS("countOneBits($a)", "iu"),
    [TSRI_OP_CLZ] = INTS("countLeadingZeros($a)", "iu"),
    [TSRI_OP_CTZ] = INTS("countTrailingZeros($a)", "iu"),
    [TSRI_OP_SELECT] = SAME("select($c, $b, $a)", "fiub"),
    [TSRI_OP_ANY] = {.b = "any($a)", .native = "b"},
    [TSRI_OP_ALL] = {.b = "all($a)", .native = "b"},
};

const char *tsri_wgsl_op_pattern(const tsri_wgsl *w, tsri_ir_op op, tsr_dtype dtype, bool is_loose) {
  if (!is_loose && tsri_lacks_op(&w->lacks, op, dtype)) return tsri_expand_call(op, dtype);
  if (is_loose && dtype == TSR_U32 && op == TSRI_OP_SHL) return "($a << $b)";
  if (is_loose && dtype == TSR_U32 && op == TSRI_OP_SHR) return "($a >> $b)";
  if (is_loose && dtype == TSR_F32 && op == TSRI_OP_DIV) return "($a / $b)";
  return pattern_for(&patterns[op], dtype);
}

const char *tsri_wgsl_rounded_call(const tsri_wgsl *w, tsri_ir_op op, tsri_ir_type type) {
  static const char *const calls[][3] = {
      [TSRI_OP_ADD] = {"tsr_add($a, $b)", "tsr_add2($a, $b)", "tsr_add4($a, $b)"},
      [TSRI_OP_SUB] = {"tsr_sub($a, $b)", "tsr_sub2($a, $b)", "tsr_sub4($a, $b)"},
      [TSRI_OP_MUL] = {"tsr_mul($a, $b)", "tsr_mul2($a, $b)", "tsr_mul4($a, $b)"},
  };
  bool is_known = op == TSRI_OP_ADD || op == TSRI_OP_SUB || op == TSRI_OP_MUL;
  return w->options->exact_fma && is_known && type.dtype == TSR_F32 ? calls[op][type.lanes >> 1] : NULL;
}

const char *tsri_wgsl_mulhi_call(uint32_t factor, uint32_t *out_factor) {
  uint32_t rest = 0u - factor;
  bool is_small = (factor >> 16) + (factor & 0xffff) < 0xffff, is_rest_small = (rest >> 16) + (rest & 0xffff) < 0xffff;
  *out_factor = is_small ? factor : rest;
  return is_small ? "tsr_mulhi_small" : is_rest_small ? "tsr_mulhi_rest" : NULL;
}

bool tsri_wgsl_op_is_native(const tsri_wgsl *w, tsri_ir_op op, tsr_dtype dtype) {
  static const char letters[TSR_DTYPE_COUNT] = {[TSR_F32] = 'f', [TSR_I32] = 'i', [TSR_U32] = 'u', [TSR_BOOL] = 'b'};
  if (tsri_lacks_op(&w->lacks, op, dtype)) return false;
  return patterns[op].native && letters[dtype] && strchr(patterns[op].native, letters[dtype]);
}

// --- Conversions ----------------------------------------------------------------------------------------------------

static const patterns_by_type conversions[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = {"tsr_to_bool_f32($a)", "($a != 0i)", "($a != 0u)", "$a", NULL},
    [TSR_U8] = {"tsr_to_u8_f32($a)", "(bitcast<u32>($a) & 0xffu)", "($a & 0xffu)", "u32($a)", NULL},
    [TSR_I8] = {"tsr_to_i8_f32($a)", "(($a << 24u) >> 24u)", "(bitcast<i32>($a << 24u) >> 24u)", "i32($a)", NULL},
    [TSR_I16] = {"tsr_to_i16_f32($a)", "(($a << 16u) >> 16u)", "(bitcast<i32>($a << 16u) >> 16u)", "i32($a)", NULL},
    [TSR_I32] = {"tsr_to_i32_f32($a)", "$a", "bitcast<i32>($a)", "i32($a)", NULL},
    [TSR_U32] = {"tsr_to_u32_f32($a)", "bitcast<u32>($a)", "$a", "u32($a)", NULL},
    // Integers are converted to f16 by way of f32, as the checked form says.
    [TSR_F16] = {.f = "tsr_to_f16_f32($a)"},
    [TSR_BF16] = {.f = "tsr_to_bf16_f32($a)", .i = "tsr_to_bf16_i32($a)", .u = "tsr_to_bf16_u32($a)"},
    [TSR_F32] = {"$a", "f32($a)", "tsr_to_f32_u32($a)", "f32($a)", NULL},
};

const char *tsri_wgsl_convert_pattern(tsr_dtype to, tsr_dtype from, bool is_loose) {
  if (is_loose) return to == TSR_F32 ? "f32($a)" : to == TSR_U8 || to == TSR_U32 ? "u32($a)" : "i32($a)";
  return pattern_for(&conversions[to], from);
}

const char *tsri_wgsl_bitcast_pattern(tsr_dtype as, tsr_dtype to, tsr_dtype from) {
  if (as == TSR_F16) return to == TSR_F32 ? "tsr_f16_to_f32($a)" : "tsr_f32_to_f16($a)";
  if (as == TSR_BF16) return to == TSR_F32 ? "tsr_bf16_to_f32($a)" : "tsr_f32_to_bf16($a)";
  if (to == from) return "$a";
  return to == TSR_F32 ? "bitcast<f32>($a)" : to == TSR_I32 ? "bitcast<i32>($a)" : "bitcast<u32>($a)";
}

void tsri_wgsl_put_pattern(tsri_wgsl *w, tsri_builder *out, const char *pattern, const tsri_wgsl_operands *operands,
                           const char *suffix) {
  tsri_wgsl_use(w, pattern);
  for (const char *p = pattern; *p; p++) {
    if (*p != '$') {
      tsri_builder_put(out, p, 1);
      continue;
    }
    p++;
    tsri_builder_string(out, operands->text[*p - 'a']);
    tsri_builder_string(out, suffix);
  }
}

// --- Expansions -----------------------------------------------------------------------------------------------------

// Constants of float type are named values, because some of them are made by tsr_float.
static bool is_constant_in_place(tsr_dtype dtype) { return dtype == TSR_U32 || dtype == TSR_I32; }

static void put_head(void *emitter, tsri_builder *out, const char *name, const tsri_expand_signature *of,
                     tsri_ir_type result) {
  (void)emitter;
  tsri_builder_add(out, "fn %s(", name);
  for (uint32_t i = 0; i < of->arity; i++) {
    tsri_builder_add(out, "%s%c: %s", i ? ", " : "", "abc"[i], tsri_wgsl_type(of->operand));
  }
  tsri_builder_add(out, ") -> %s {\n", tsri_wgsl_type(result));
}

static void put_declaration(void *emitter, tsri_builder *out, tsri_ir_type type, uint32_t index) {
  (void)emitter, (void)type;
  tsri_builder_add(out, "let n%" PRIu32 " = ", index);
}

static void put_constant(void *emitter, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  tsri_wgsl_put_const(emitter, out, dtype, bits);
}

static const char *pattern_of(const tsri_wgsl *w, const tsri_ir_expr *n, tsr_dtype from) {
  bool is_loose = n->lane == 1;
  if (n->kind == TSRI_EXPR_BITCAST) return tsri_wgsl_bitcast_pattern(TSR_BOOL, (tsr_dtype)n->type.dtype, from);
  if (n->kind == TSRI_EXPR_CONVERT) return tsri_wgsl_convert_pattern((tsr_dtype)n->dtype, from, is_loose);
  return tsri_wgsl_op_pattern(w, (tsri_ir_op)n->op, from, is_loose);
}

static void put_expansion_pattern(void *emitter, tsri_builder *out, const tsri_ir_expr *n, tsr_dtype from) {
  // A relaxed quotient is hidden as well, because a compiler may simplify x times 1 / x.
  bool is_needed = n->kind == TSRI_EXPR_OP && (n->lane != 1 || n->op == TSRI_OP_DIV);
  bool is_kept = is_needed && tsri_hide_rounds((tsri_ir_op)n->op, from);
  const char *call = is_kept ? tsri_wgsl_rounded_call(emitter, (tsri_ir_op)n->op, n->type) : NULL;
  const char *pattern = call ? call : pattern_of(emitter, n, from);
  is_kept = is_kept && !call;
  if (is_kept) tsri_wgsl_use(emitter, "tsr_keep");
  tsri_wgsl_use(emitter, pattern);
  tsri_builder_add(out, is_kept ? "tsr_keep(%s)" : "%s", pattern);
}

static bool want(void *emitter, const char *name) { return tsri_wgsl_want(emitter, name); }

static void define(void *emitter, const char *name, const tsri_builder *text) {
  (void)name;
  tsri_wgsl *w = emitter;
  tsri_builder_append(&w->helpers, text);
}

static const tsri_function_dialect dialect = {is_constant_in_place,  put_head, put_declaration, put_constant,
                                              put_expansion_pattern, want,     define,          "saturate($a)"};

bool tsri_wgsl_define_expansion(tsri_wgsl *w, const char *name) {
  return tsri_function_define(&dialect, w, name,
                              (tsri_expand_options){.fma = w->options->exact_fma,
                                                    .near_quotient = w->options->near_quotient,
                                                    .near_exp2 = w->options->near_exp2,
                                                    .near_root = w->options->near_root,
                                                    .nan_by_bits = true});
}
