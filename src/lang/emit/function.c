// SPDX-License-Identifier: MIT
#include "lang/emit/function.h"

#include <inttypes.h>

#include "core/alloc.h"

typedef struct function_writer {
  const tsri_function_dialect *dialect;
  void *emitter;
  const tsri_expansion *x;
  tsri_builder text;
} function_writer;

static bool is_in_place(const function_writer *w, const tsri_ir_expr *n) {
  bool (*is_constant_in_place)(tsr_dtype dtype) = w->dialect->is_constant_in_place;
  if (n->kind != TSRI_EXPR_CONST) return n->kind == TSRI_EXPR_VAR;
  return !is_constant_in_place || is_constant_in_place((tsr_dtype)n->type.dtype);
}

static void put_operand(function_writer *w, uint32_t index) {
  const tsri_ir_expr *n = &w->x->nodes[index];
  if (!is_in_place(w, n)) {
    tsri_builder_add(&w->text, "n%" PRIu32, index);
  } else if (n->kind == TSRI_EXPR_VAR) {
    tsri_builder_add(&w->text, "%c", "abc"[n->object]);
  } else {
    w->dialect->put_constant(w->emitter, &w->text, (tsr_dtype)n->type.dtype, n->bits);
  }
}

static bool is_limit(const function_writer *w, const tsri_ir_expr *n, tsri_ir_op op, uint64_t bound) {
  const tsri_ir_expr *limit = &w->x->nodes[n->b];
  return n->kind == TSRI_EXPR_OP && n->op == op && n->lane == 1 && limit->kind == TSRI_EXPR_CONST &&
         limit->type.dtype == TSR_F32 && limit->bits == bound;
}

// Whether the operation is a minimum of a maximum that limits its operand to 0 … 1; returns the maximum, or NULL.
static const tsri_ir_expr *saturated(const function_writer *w, const tsri_ir_expr *n) {
  enum { ONE = 0x3f800000 };
  const tsri_ir_expr *inner = &w->x->nodes[n->a];
  return w->dialect->saturate && is_limit(w, n, TSRI_OP_MIN, ONE) && is_limit(w, inner, TSRI_OP_MAX, 0) ? inner : NULL;
}

static void put_node(function_writer *w, const tsri_ir_expr *n) {
  if (n->kind == TSRI_EXPR_CONST) {
    w->dialect->put_constant(w->emitter, &w->text, (tsr_dtype)n->type.dtype, n->bits);
    return;
  }
  tsr_dtype operand = (tsr_dtype)w->x->nodes[n->a].type.dtype;
  if (n->kind == TSRI_EXPR_OP && n->op == TSRI_OP_SELECT) operand = (tsr_dtype)n->type.dtype;
  tsri_builder pattern = {0};
  const tsri_ir_expr *inner = saturated(w, n);
  if (inner) tsri_builder_string(&pattern, w->dialect->saturate);
  else w->dialect->put_pattern(w->emitter, &pattern, n, operand);
  if (inner) n = inner;
  w->text.has_failed |= pattern.has_failed;
  for (size_t i = 0; pattern.text && i < pattern.bytes; i++) {
    if (pattern.text[i] == '$') {
      put_operand(w, n->args[pattern.text[++i] - 'a']);
    } else {
      tsri_builder_put(&w->text, &pattern.text[i], 1);
    }
  }
  tsri_free(pattern.text);
}

// Writes the branch that calls the function for far operands.
static void put_far(function_writer *w, const tsri_expand_signature *of) {
  const char *operands = of->arity == 1 ? "a" : "a, b";
  tsri_builder_add(&w->text, "  if (%s(%s)) { return %s(%s); }\n", of->is_far_name, operands, of->far_name, operands);
}

static void put_function(function_writer *w, const char *name, const tsri_expand_signature *of) {
  const tsri_expansion *x = w->x;
  w->dialect->put_head(w->emitter, &w->text, name, of, x->nodes[x->result].type);
  if (of->far_name[0]) put_far(w, of);
  for (uint32_t i = 1; i < x->count; i++) {
    if (is_in_place(w, &x->nodes[i])) continue;
    tsri_builder_string(&w->text, "  ");
    w->dialect->put_declaration(w->emitter, &w->text, x->nodes[i].type, i);
    put_node(w, &x->nodes[i]);
    tsri_builder_string(&w->text, ";\n");
  }
  tsri_builder_string(&w->text, "  return ");
  put_operand(w, x->result);
  tsri_builder_string(&w->text, ";\n}\n");
}

bool tsri_function_define(const tsri_function_dialect *dialect, void *emitter, const char *name,
                          tsri_expand_options options) {
  tsri_expand_signature of;
  tsri_expansion *x = tsri_malloc(sizeof *x);
  function_writer w = {.dialect = dialect, .emitter = emitter, .x = x, .text = {.has_failed = !x}};
  bool is_one = x && tsri_expand_named(name, options, x, &of);
  bool is_written = is_one && dialect->want(emitter, name);
  if (is_written && of.far_name[0]) {
    (void)tsri_function_define(dialect, emitter, of.is_far_name, options);
    (void)tsri_function_define(dialect, emitter, of.far_name, options);
  }
  if (is_written) put_function(&w, name, &of);
  if (is_written || !x) dialect->define(emitter, name, &w.text);
  tsri_free(w.text.text);
  tsri_free(x);
  return is_one || !x;
}
