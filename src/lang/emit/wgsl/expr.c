// SPDX-License-Identifier: MIT
// Expressions: every expression except leaves becomes a let, operands first.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/literal.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/hide.h"

// --- Leaves ---------------------------------------------------------------------------------------------------------

static void put_unknown_f32(tsri_wgsl *w, tsri_builder *out, uint32_t bits) {
  tsri_wgsl_use(w, "tsr_float");
  tsri_builder_add(out, "tsr_float(0x%" PRIx32 "u)", bits);
}

static void put_f32(tsri_wgsl *w, tsri_builder *out, uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  if (bits == 0 || isnormal(value)) {
    tsri_builder_string(out, value < 0 ? "(" : "");
    tsri_literal_shortest_f32(out, value);
    tsri_builder_string(out, value < 0 ? "f)" : "f");
  } else {
    put_unknown_f32(w, out, bits);
  }
}

void tsri_wgsl_put_const(tsri_wgsl *w, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  switch (dtype) {
    case TSR_BOOL:
      tsri_builder_string(out, bits ? "true" : "false");
      break;
    case TSR_I32:
      if (low == 0x80000000u) {
        tsri_builder_string(out, "bitcast<i32>(0x80000000u)");
      } else {
        tsri_builder_add(out, (int32_t)low < 0 ? "(%" PRId32 "i)" : "%" PRId32 "i", (int32_t)low);
      }
      break;
    case TSR_U32:
      tsri_builder_add(out, "%" PRIu32 "u", low);
      break;
    default:
      put_f32(w, out, low);
      break;
  }
}

static void put_id(const tsri_wgsl *w, tsri_builder *out, const tsri_ir_expr *x) {
  static const char *const vectors[] = {[TSRI_ID_GROUP] = "tsr_group",
                                        [TSRI_ID_GROUPS] = "tsr_p[0]",
                                        [TSRI_ID_LOCAL] = "tsr_local",
                                        [TSRI_ID_GLOBAL] = "tsr_global"};
  uint32_t size = w->options->subgroup_size;
  if (x->op == TSRI_ID_SUBGROUP_SIZE) tsri_builder_add(out, "%" PRIu32 "u", size);
  else if (x->op == TSRI_ID_SUBGROUP_LANE) tsri_builder_add(out, "(tsr_lid & %" PRIu32 "u)", size - 1);
  else tsri_builder_add(out, "%s.%c", vectors[x->op], "xyz"[x->lane % 3]);
}

static bool is_hidden(const tsri_ir_expr *x) { return x->kind == TSRI_EXPR_BITCAST && x->op != TSRI_HIDE_NOTHING; }

void tsri_wgsl_plan_rounded(tsri_wgsl *w) {
  for (uint32_t i = 1; i < w->kernel->expr_count; i++) {
    const tsri_ir_expr *x = &w->kernel->exprs[i];
    if (!is_hidden(x) || x->op != TSRI_HIDE_ROUNDED) continue;
    const tsri_ir_expr *of = &w->kernel->exprs[x->a];
    w->is_rounded[x->a] = of->kind == TSRI_EXPR_OP && tsri_wgsl_rounded_call(w, (tsri_ir_op)of->op, of->type);
  }
}

// Writes a value hidden from the compiler (lower/hide.h, helpers.c): "tsr_keep4(e7)", or "e7" if e7 is hidden by how it is computed.
static void put_hidden(tsri_wgsl *w, tsri_builder *out, const tsri_ir_expr *x) {
  if (x->op == TSRI_HIDE_ROUNDED && w->is_rounded[x->a]) {
    tsri_wgsl_put_value(w, out, x->a);
    return;
  }
  static const char *const calls[][3] = {[TSRI_HIDE_ROUNDED] = {"tsr_keep", "tsr_keep2", "tsr_keep4"},
                                         [TSRI_HIDE_EQUAL] = {"tsr_apart", "tsr_apart2", "tsr_apart4"}};
  const char *call = calls[x->op][x->type.lanes >> 1];
  tsri_wgsl_use(w, call);
  tsri_builder_add(out, "%s(", call);
  tsri_wgsl_put_value(w, out, x->a);
  tsri_builder_string(out, ")");
}

void tsri_wgsl_put_value(tsri_wgsl *w, tsri_builder *out, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  switch (x->kind) {
    case TSRI_EXPR_CONST:
      tsri_wgsl_put_const(w, out, (tsr_dtype)x->type.dtype, x->bits);
      break;
    case TSRI_EXPR_BITCAST:
      if (is_hidden(x) && x->type.lanes == 1) put_hidden(w, out, x);
      else tsri_builder_add(out, "e%" PRIu32, expr);
      break;
    case TSRI_EXPR_VAR:
      tsri_wgsl_put_name(out, w->kernel->vars[x->object].name, "", x->object);
      break;
    case TSRI_EXPR_SCALAR:
      tsri_wgsl_put_name(out, w->kernel->params[x->object].name, "p", x->object);
      break;
    case TSRI_EXPR_ID:
      put_id(w, out, x);
      break;
    default:
      tsri_builder_add(out, "e%" PRIu32, expr);
      break;
  }
}

// --- One let --------------------------------------------------------------------------------------------------------

static const char *const lane_suffixes[] = {".x", ".y", ".z", ".w"};

// Applies a pattern to each lane: "vec4<f32>(f(a.x), f(a.y), f(a.z), f(a.w))".
static void put_lanes(tsri_wgsl *w, const char *pattern, tsri_ir_type result, const tsri_wgsl_operands *operands) {
  if (result.lanes == 1) {
    tsri_wgsl_put_pattern(w, &w->body, pattern, operands, "");
    return;
  }
  tsri_wgsl_put(w, "%s(", tsri_wgsl_type(result));
  for (uint32_t lane = 0; lane < result.lanes; lane++) {
    if (lane > 0) tsri_builder_string(&w->body, ", ");
    tsri_wgsl_put_pattern(w, &w->body, pattern, operands, lane_suffixes[lane]);
  }
  tsri_builder_string(&w->body, ")");
}

// Writes mulhi of a word and a constant, if there is a helper for that constant.
static bool put_mulhi(tsri_wgsl *w, const tsri_ir_expr *x, const tsri_wgsl_operands *operands) {
  const tsri_ir_expr *a = &w->kernel->exprs[x->a], *b = &w->kernel->exprs[x->b];
  bool is_first = a->kind == TSRI_EXPR_CONST;
  if (x->op != TSRI_OP_MULHI || x->type.dtype != TSR_U32 || is_first == (b->kind == TSRI_EXPR_CONST)) return false;
  uint32_t factor = 0;
  const char *call = tsri_wgsl_mulhi_call((uint32_t)(is_first ? a : b)->bits, &factor);
  if (!call) return false;
  tsri_wgsl_use(w, call);
  tsri_builder_add(&w->body, "%s(%s, %" PRIu32 "u)", call, operands->text[is_first ? 1 : 0], factor);
  return true;
}

static void put_op(tsri_wgsl *w, const tsri_ir_expr *x, const tsri_wgsl_operands *operands) {
  tsri_ir_op op = (tsri_ir_op)x->op;
  if (w->is_rounded[x - w->kernel->exprs]) {
    tsri_wgsl_put_pattern(w, &w->body, tsri_wgsl_rounded_call(w, op, x->type), operands, "");
    return;
  }
  if (put_mulhi(w, x, operands)) return;
  tsri_ir_type operand = w->kernel->exprs[op == TSRI_OP_SELECT ? x->b : x->a].type;
  tsr_dtype dtype = (tsr_dtype)operand.dtype;
  const char *pattern = tsri_wgsl_op_pattern(w, op, dtype, false);
  if (operand.lanes == 1 || tsri_wgsl_op_is_native(w, op, dtype)) {
    tsri_wgsl_put_pattern(w, &w->body, pattern, operands, "");
  } else {
    put_lanes(w, pattern, x->type, operands);
  }
}

static void put_constructed(tsri_wgsl *w, const tsri_ir_expr *x, const tsri_wgsl_operands *operands) {
  tsri_wgsl_put(w, "%s(", tsri_wgsl_type(x->type));
  for (uint32_t lane = 0; lane < x->type.lanes; lane++) {
    if (lane > 0) tsri_builder_string(&w->body, ", ");
    if (x->kind == TSRI_EXPR_VECTOR) {
      tsri_wgsl_put(w, "%e", x->args[lane]);
    } else if (x->kind == TSRI_EXPR_INSERT && lane == x->lane) {
      tsri_builder_string(&w->body, operands->text[1]);
    } else {
      tsri_wgsl_put(w, "%s%s", operands->text[0], x->kind == TSRI_EXPR_INSERT ? lane_suffixes[lane] : "");
    }
  }
  tsri_builder_string(&w->body, ")");
}

static void put_node(tsri_wgsl *w, const tsri_ir_expr *x, const tsri_wgsl_operands *operands) {
  tsr_dtype from = (tsr_dtype)w->kernel->exprs[x->a].type.dtype;
  switch (x->kind) {
    case TSRI_EXPR_OP:
      put_op(w, x, operands);
      break;
    case TSRI_EXPR_CONVERT:
      put_lanes(w, tsri_wgsl_convert_pattern((tsr_dtype)x->dtype, from, false), x->type, operands);
      break;
    case TSRI_EXPR_BITCAST:
      if (is_hidden(x)) put_hidden(w, &w->body, x);
      else
        put_lanes(w, tsri_wgsl_bitcast_pattern((tsr_dtype)x->dtype, (tsr_dtype)x->type.dtype, from), x->type, operands);
      break;
    case TSRI_EXPR_EXTRACT:
      tsri_wgsl_put(w, "%s%s", operands->text[0], lane_suffixes[x->lane & 3]);
      break;
    default:  // SPLAT, VECTOR, INSERT
      put_constructed(w, x, operands);
      break;
  }
}

static void put_let(void *emitter, uint32_t expr) {
  tsri_wgsl *w = emitter;
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  bool is_leaf = tsri_ir_plain_operands(x) == 0;
  if (is_leaf || (is_hidden(x) && x->type.lanes == 1)) return;  // written where it is used
  if (x->kind == TSRI_EXPR_LOAD) {
    tsri_wgsl_put_load(w, expr);
    return;
  }
  tsri_builder names[3] = {{0}};
  tsri_wgsl_operands operands = {{"", "", ""}};
  for (uint32_t i = 0; i < tsri_ir_plain_operands(x) && i < 3; i++) {
    tsri_wgsl_put_value(w, &names[i], x->args[i]);
    w->is_out_of_memory |= names[i].has_failed;
    if (names[i].text) operands.text[i] = names[i].text;
  }
  tsri_wgsl_put(w, "%ilet e%u = ", expr);
  put_node(w, x, &operands);
  tsri_builder_string(&w->body, ";\n");
  for (int i = 0; i < 3; i++) tsri_free(names[i].text);
}

void tsri_wgsl_put_lets(tsri_wgsl *w, uint32_t expr) {
  if (expr) tsri_tree_visit(&w->tree, expr, put_let, w);
}
