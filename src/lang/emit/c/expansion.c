// SPDX-License-Identifier: MIT
// Functions written from expansions (lang/lower/expand.h): one constant per expression that is no leaf, in their order.
#include <inttypes.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"
#include "lang/lower/expand.h"

// An operand: parameters and constants where they are used, other expressions by name.
static void put_operand(tsri_c_emitter *e, tsri_c_text *out, const tsri_expansion *x, uint32_t index) {
  const tsri_ir_expr *n = &x->nodes[index];
  if (n->kind == TSRI_EXPR_VAR) {
    tsri_c_addf(out, "%c", "abc"[n->object]);
  } else if (n->kind == TSRI_EXPR_CONST) {
    tsri_c_put_const(e, out, (tsr_dtype)n->type.dtype, n->bits);
  } else {
    tsri_c_addf(out, "n%" PRIu32, index);
  }
}

static void put_filled(tsri_c_emitter *e, tsri_c_text *out, const char *pattern, tsr_dtype dtype,
                       const tsri_expansion *x, const tsri_ir_expr *n) {
  tsri_c_text expanded = {0};
  tsri_c_expand(e, &expanded, pattern, dtype);
  out->is_out_of_memory |= expanded.is_out_of_memory;
  for (size_t i = 0; expanded.data && i < expanded.bytes; i++) {
    if (expanded.data[i] == '$') {
      put_operand(e, out, x, n->args[expanded.data[++i] - 'a']);
    } else {
      tsri_c_add_bytes(out, &expanded.data[i], 1);
    }
  }
  tsri_free(expanded.data);
}

static void put_node(tsri_c_emitter *e, tsri_c_text *out, const tsri_expansion *x, const tsri_ir_expr *n) {
  tsr_dtype to = (tsr_dtype)n->type.dtype, from = (tsr_dtype)x->nodes[n->a].type.dtype;
  switch (n->kind) {
    case TSRI_EXPR_BITCAST:
      put_filled(e, out, tsri_c_bitcast_pattern(to, from), to == TSR_F32 || to == TSR_F64 ? to : from, x, n);
      break;
    case TSRI_EXPR_CONVERT:
      put_filled(e, out, tsri_c_convert_pattern(e, (tsr_dtype)n->dtype, from, n->lane == 1), from, x, n);
      break;
    default:
      if (n->op == TSRI_OP_SELECT) from = to;
      put_filled(e, out, tsri_c_op_pattern(e, (tsri_ir_op)n->op, from, n->lane == 1), from, x, n);
  }
}

static void put_function(tsri_c_emitter *e, const char *name, const tsri_expansion *x,
                         const tsri_expand_signature *of) {
  tsri_c_text text = {0};
  tsri_c_addf(&text, "TSR_FN %s %s(", tsri_c_type(e, x->nodes[x->result].type), name);
  for (uint32_t i = 0; i < of->arity; i++) {
    tsri_c_addf(&text, "%s%s %c", i ? ", " : "", tsri_c_type(e, of->operand), "abc"[i]);
  }
  tsri_c_add(&text, ") {\n");
  for (uint32_t i = 1; i < x->count; i++) {
    if (x->nodes[i].kind == TSRI_EXPR_VAR || x->nodes[i].kind == TSRI_EXPR_CONST) continue;
    tsri_c_addf(&text, "  const %s n%" PRIu32 " = ", tsri_c_type(e, x->nodes[i].type), i);
    put_node(e, &text, x, &x->nodes[i]);
    tsri_c_add(&text, ";\n");
  }
  tsri_c_add(&text, "  return ");
  put_operand(e, &text, x, x->result);
  tsri_c_add(&text, ";\n}\n");
  tsri_c_define(e, name, &text);
  tsri_free(text.data);
}

// Of functions with a limit none is used here: these dialects have their own, good for all arguments.
void tsri_c_define_expansion(tsri_c_emitter *e, const char *name) {
  tsri_expansion *x = tsri_malloc(sizeof *x);
  if (!x) {
    e->helpers.is_out_of_memory = true;
    return;
  }
  tsri_expand_signature of;
  if (tsri_expand_named(name, (tsri_expand_options){.fma = true, .trusts_nan = true, .remainder = true}, x, &of) &&
      tsri_c_want(e, name)) {
    put_function(e, name, x, &of);
  }
  tsri_free(x);
}
