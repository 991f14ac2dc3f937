// SPDX-License-Identifier: MIT
// Operations and conversions as WGSL patterns for one lane, and functions written from their expansions. A pattern that
// is an operator has brackets around it. $a, $b, $c are the operands. An operation that WGSL lacks (lower/lacks.h) is a call
// of the function made of its expansion.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/expand.h"

typedef struct op_patterns {
  const char *f, *i, *u, *b;  // f32, i32, u32, bool
  const char *native;         // of which types vectors may stand in for $a and so on: letters as above
} op_patterns;

#define SAME(text, native_) \
  { .f = (text), .i = (text), .u = (text), .b = (text), .native = (native_) }
#define ORDER(op) SAME("($a " op " $b)", "iub")
#define INTS(text, native_) \
  { .i = (text), .u = (text), .native = (native_) }
#define FLOATS(text) \
  { .f = (text), .native = "f" }

// An i32 is negated by taking it from a 0 that the compiler does not know: NVIDIA's for Hopper makes one instruction of
// min(min(a, -b), -c), and there forgets to negate b (emit/c/helpers.c).
static const op_patterns patterns[TSRI_OP_COUNT] = {
    [TSRI_OP_NEG] = {.f = "(-$a)", .i = "(bitcast<i32>(tsr_p[1].x) - $a)", .native = "i"},
    [TSRI_OP_BIT_NOT] = INTS("(~$a)", "iu"),
    [TSRI_OP_NOT] = {.b = "(!$a)", .native = "b"},
    [TSRI_OP_ADD] = SAME("($a + $b)", "fiu"),
    [TSRI_OP_SUB] = SAME("($a - $b)", "fiu"),
    [TSRI_OP_MUL] = SAME("($a * $b)", "fiu"),
    [TSRI_OP_DIV] = {.i = "tsr_div_i32($a, $b)", .u = "tsr_div_u32($a, $b)"},
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
    [TSRI_OP_MIN] = INTS("min($a, $b)", "iu"),
    [TSRI_OP_MAX] = INTS("max($a, $b)", "iu"),
    [TSRI_OP_ABS] = {.i = "abs($a)", .native = "i"},
    [TSRI_OP_SIGN] = {.i = "sign($a)", .native = "i"},
    [TSRI_OP_FLOOR] = FLOATS("floor($a)"),
    [TSRI_OP_CEIL] = FLOATS("ceil($a)"),
    [TSRI_OP_ROUND] = FLOATS("round($a)"),
    [TSRI_OP_TRUNC] = FLOATS("trunc($a)"),
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

// Division as exact as this device needs.
static const char *divide_pattern(const tsri_wgsl *w, bool is_loose) {
  if (is_loose) return "($a / $b)";
  // Hides the divisor: compilers replace x / c by x * (1 / c), which rounds differently, and x / x by 1.
  if (w->options->exact_divide) return "($a / tsr_apart($b))";
  return w->options->exact_fma ? "tsr_div_f32($a, $b)" : "tsr_div_unfused($a, $b)";
}

const char *tsri_wgsl_op_pattern(const tsri_wgsl *w, tsri_ir_op op, tsr_dtype dtype, bool is_loose) {
  const op_patterns *p = &patterns[op];
  if (!is_loose && tsri_lacks_op(&w->lacks, op, dtype)) return tsri_expand_call(op, dtype);
  if (is_loose && dtype == TSR_U32 && op == TSRI_OP_SHL) return "($a << $b)";
  if (is_loose && dtype == TSR_U32 && op == TSRI_OP_SHR) return "($a >> $b)";
  if (op == TSRI_OP_DIV && dtype == TSR_F32) return divide_pattern(w, is_loose);
  switch (dtype) {
    case TSR_F32:
      return p->f;
    case TSR_I32:
      return p->i;
    case TSR_U32:
      return p->u;
    default:
      return p->b;
  }
}

bool tsri_wgsl_op_is_native(const tsri_wgsl *w, tsri_ir_op op, tsr_dtype dtype) {
  static const char letters[TSR_DTYPE_COUNT] = {[TSR_F32] = 'f', [TSR_I32] = 'i', [TSR_U32] = 'u', [TSR_BOOL] = 'b'};
  if (tsri_lacks_op(&w->lacks, op, dtype)) return false;
  return patterns[op].native && letters[dtype] && strchr(patterns[op].native, letters[dtype]);
}

bool tsri_wgsl_op_rounds(tsri_ir_op op, tsr_dtype dtype) {
  return dtype == TSR_F32 && (op == TSRI_OP_ADD || op == TSRI_OP_SUB || op == TSRI_OP_MUL || op == TSRI_OP_DIV);
}

// --- Conversions ----------------------------------------------------------------------------------------------------

typedef struct convert_patterns {
  const char *f, *i, *u, *b;  // from f32, i32, u32, bool
} convert_patterns;

static const convert_patterns conversions[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = {"tsr_to_bool_f32($a)", "($a != 0i)", "($a != 0u)", "$a"},
    [TSR_U8] = {"tsr_to_u8_f32($a)", "(bitcast<u32>($a) & 0xffu)", "($a & 0xffu)", "u32($a)"},
    [TSR_I8] = {"tsr_to_i8_f32($a)", "(($a << 24u) >> 24u)", "(bitcast<i32>($a << 24u) >> 24u)", "i32($a)"},
    [TSR_I16] = {"tsr_to_i16_f32($a)", "(($a << 16u) >> 16u)", "(bitcast<i32>($a << 16u) >> 16u)", "i32($a)"},
    [TSR_I32] = {"tsr_to_i32_f32($a)", "$a", "bitcast<i32>($a)", "i32($a)"},
    [TSR_U32] = {"tsr_to_u32_f32($a)", "bitcast<u32>($a)", "$a", "u32($a)"},
    // Integers reach f16 through f32: the checked form says so.
    [TSR_F16] = {.f = "tsr_to_f16_f32($a)"},
    [TSR_BF16] = {.f = "tsr_to_bf16_f32($a)", .i = "tsr_to_bf16_i32($a)", .u = "tsr_to_bf16_u32($a)"},
    [TSR_F32] = {"$a", "f32($a)", "tsr_to_f32_u32($a)", "f32($a)"},
};

const char *tsri_wgsl_convert_pattern(tsr_dtype to, tsr_dtype from, bool is_loose) {
  if (is_loose) return to == TSR_F32 ? "f32($a)" : to == TSR_U8 || to == TSR_U32 ? "u32($a)" : "i32($a)";
  const convert_patterns *c = &conversions[to];
  switch (from) {
    case TSR_F32:
      return c->f;
    case TSR_I32:
      return c->i;
    case TSR_U32:
      return c->u;
    default:
      return c->b;
  }
}

const char *tsri_wgsl_bitcast_pattern(tsr_dtype as, tsr_dtype to, tsr_dtype from) {
  if (as == TSR_F16) return to == TSR_F32 ? "tsr_f16_to_f32($a)" : "tsr_f32_to_f16($a)";
  if (as == TSR_BF16) return to == TSR_F32 ? "tsr_bf16_to_f32($a)" : "tsr_f32_to_bf16($a)";
  if (to == from) return "$a";
  return to == TSR_F32 ? "bitcast<f32>($a)" : to == TSR_I32 ? "bitcast<i32>($a)" : "bitcast<u32>($a)";
}

void tsri_wgsl_put_pattern(tsri_wgsl *w, tsri_c_text *out, const char *pattern, const tsri_wgsl_operands *operands,
                           const char *suffix) {
  tsri_wgsl_use(w, pattern);
  for (const char *p = pattern; *p; p++) {
    if (*p != '$') {
      tsri_c_add_bytes(out, p, 1);
      continue;
    }
    p++;
    tsri_c_add(out, operands->text[*p - 'a']);
    tsri_c_add(out, suffix);
  }
}

// --- Expansions -----------------------------------------------------------------------------------------------------

// Parameters and 32-bit integers stand where they are used; other expressions have names.
static bool is_written_in_place(const tsri_ir_expr *n) {
  bool is_word = n->type.dtype == TSR_U32 || n->type.dtype == TSR_I32;
  return n->kind == TSRI_EXPR_VAR || (n->kind == TSRI_EXPR_CONST && is_word);
}

static void put_operand(tsri_wgsl *w, tsri_c_text *out, const tsri_expansion *x, uint32_t index) {
  const tsri_ir_expr *n = &x->nodes[index];
  if (!is_written_in_place(n)) {
    tsri_c_addf(out, "n%" PRIu32, index);
  } else if (n->kind == TSRI_EXPR_VAR) {
    tsri_c_addf(out, "%c", "abc"[n->object]);
  } else {
    tsri_wgsl_put_const(w, out, (tsr_dtype)n->type.dtype, n->bits);
  }
}

static void put_filled(tsri_wgsl *w, tsri_c_text *out, const tsri_expansion *x, const tsri_ir_expr *n,
                       const char *pattern) {
  tsri_wgsl_use(w, pattern);
  for (const char *p = pattern; *p; p++) {
    if (*p == '$') {
      put_operand(w, out, x, n->args[*++p - 'a']);
    } else {
      tsri_c_add_bytes(out, p, 1);
    }
  }
}

static void put_node(tsri_wgsl *w, tsri_c_text *out, const tsri_expansion *x, const tsri_ir_expr *n) {
  tsr_dtype from = (tsr_dtype)x->nodes[n->kind == TSRI_EXPR_CONST ? 0 : n->a].type.dtype;
  switch (n->kind) {
    case TSRI_EXPR_CONST:
      tsri_wgsl_put_const(w, out, (tsr_dtype)n->type.dtype, n->bits);
      break;
    case TSRI_EXPR_BITCAST:
      put_filled(w, out, x, n, tsri_wgsl_bitcast_pattern(TSR_BOOL, (tsr_dtype)n->type.dtype, from));
      break;
    case TSRI_EXPR_CONVERT:
      put_filled(w, out, x, n, tsri_wgsl_convert_pattern((tsr_dtype)n->dtype, from, n->lane == 1));
      break;
    default: {
      tsri_ir_op op = (tsri_ir_op)n->op;
      if (op == TSRI_OP_SELECT) from = (tsr_dtype)n->type.dtype;
      bool is_kept = tsri_wgsl_op_rounds(op, from) && n->lane != 1;
      if (is_kept) put_filled(w, out, x, n, "tsr_keep(");
      put_filled(w, out, x, n, tsri_wgsl_op_pattern(w, op, from, n->lane == 1));
      if (is_kept) tsri_c_add(out, ")");
    }
  }
}

static void put_function(tsri_wgsl *w, const char *name, const tsri_expansion *x, const tsri_expand_signature *of) {
  tsri_c_text text = {0};
  const char *type = tsri_wgsl_type(of->operand);
  tsri_c_addf(&text, "fn %s(", name);
  for (uint32_t i = 0; i < of->arity; i++) tsri_c_addf(&text, "%s%c: %s", i ? ", " : "", "abc"[i], type);
  tsri_c_addf(&text, ") -> %s {\n", tsri_wgsl_type(x->nodes[x->result].type));
  if (of->limit > 0) tsri_c_addf(&text, "  if (abs(a) > %.0ff) { return %s(a); }\n", of->limit, of->far_name);
  for (uint32_t i = 1; i < x->count; i++) {
    if (is_written_in_place(&x->nodes[i])) continue;
    tsri_c_addf(&text, "  let n%" PRIu32 " = ", i);
    put_node(w, &text, x, &x->nodes[i]);
    tsri_c_add(&text, ";\n");
  }
  tsri_c_add(&text, "  return ");
  put_operand(w, &text, x, x->result);
  tsri_c_add(&text, ";\n}\n");
  if (text.data) tsri_c_add(&w->helpers, text.data);
  w->is_out_of_memory |= text.is_out_of_memory;
  tsri_free(text.data);
}

bool tsri_wgsl_define_expansion(tsri_wgsl *w, const char *name) {
  tsri_expansion *x = tsri_malloc(sizeof *x);
  if (!x) {
    w->is_out_of_memory = true;
    return true;
  }
  tsri_expand_signature of;
  tsri_expand_options options = {.fma = w->options->exact_fma, .nan_by_bits = true};
  bool is_one = tsri_expand_named(name, options, x, &of);
  if (is_one && tsri_wgsl_want(w, name)) {
    if (of.limit > 0) (void)tsri_wgsl_define_expansion(w, of.far_name);
    put_function(w, name, x, &of);
  }
  tsri_free(x);
  return is_one;
}
