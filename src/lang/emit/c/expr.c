// SPDX-License-Identifier: MIT
// Expressions of the C family.
//
// A tree is printed where it is used. It is not too high for compilers, nor for the recursion here (lower/heights.h).
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"
#include "lang/emit/literal.h"

bool tsri_c_analyse(tsri_c_emitter *e) {
  e->stmt_flags = tsri_calloc(e->kernel->stmt_count + 1, 1);
  e->vars_used = tsri_calloc(e->kernel->var_count + 1, 1);
  e->params_used = tsri_calloc(e->kernel->param_count + 1, 1);
  if (!e->stmt_flags || !e->vars_used || !e->params_used) return false;
  bool is_collected = tsri_ir_mark(e->kernel, TSRI_C_MAX_DEPTH, e->stmt_flags);
  e->has_groups = tsri_c_is(e, TSRI_C_PLAIN) && is_collected;
  return true;
}

// --- Constants ------------------------------------------------------------------------------------------------------

// NaN and infinity: no dialect has a literal for them.
static bool put_non_finite(tsri_c_emitter *e, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  if (dtype == TSR_F32 && (bits & 0x7F800000u) == 0x7F800000u) {
    tsri_c_expand(e, out, "tsr_from_$t", dtype);
    tsri_builder_add(out, "(0x%08" PRIx32 "u)", (uint32_t)bits);
    return true;
  }
  if (dtype == TSR_F64 && (bits & UINT64_C(0x7FF0000000000000)) == UINT64_C(0x7FF0000000000000)) {
    tsri_c_expand(e, out, "tsr_from_$t", dtype);
    tsri_builder_add(out, "(0x%016" PRIx64 "U%s)", bits, e->spell->long_suffix);
    return true;
  }
  return false;
}

void tsri_c_put_const(tsri_c_emitter *e, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  const char *suffix = e->spell->long_suffix;
  if (put_non_finite(e, out, dtype, bits)) return;
  switch (dtype) {
    case TSR_BOOL:
      tsri_builder_string(out, bits ? "true" : "false");
      break;
    case TSR_U32:
      tsri_builder_add(out, "%" PRIu32 "u", (uint32_t)bits);
      break;
    case TSR_I32:
      if ((uint32_t)bits == 0x80000000u) {
        tsri_builder_string(out, "(-2147483647 - 1)");
      } else {
        tsri_builder_add(out, (int32_t)bits < 0 ? "(%" PRId32 ")" : "%" PRId32, (int32_t)bits);
      }
      break;
    case TSR_I64:
      if (bits == UINT64_C(1) << 63) {
        tsri_builder_add(out, "(-9223372036854775807%s - 1)", suffix);
      } else {
        tsri_builder_add(out, (int64_t)bits < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", (int64_t)bits, suffix);
      }
      break;
    case TSR_F32:
      tsri_literal_f32(out, (uint32_t)bits);
      break;
    default:
      tsri_literal_f64(out, bits);
      break;
  }
}

// --- Printing -------------------------------------------------------------------------------------------------------

// Does the first bracket of a template close at its end?
static bool is_bracketed(const char *text, size_t bytes) {
  int depth = 0;
  if (bytes < 2 || text[0] != '(') return false;
  for (size_t i = 0; i < bytes; i++) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i == bytes - 1;
  }
  return false;
}

// Is the operand at text[i] the whole argument of a call? Then brackets around it say nothing.
static bool is_whole_argument(const char *text, size_t i) {
  bool is_first = i > 0 && text[i - 1] == '(', is_later = i > 1 && text[i - 1] == ' ' && text[i - 2] == ',';
  return (is_first || is_later) && (text[i + 2] == ')' || text[i + 2] == ',');
}

void tsri_c_put_pattern(tsri_c_emitter *e, const char *pattern, tsr_dtype dtype, const uint32_t *args, bool is_bare) {
  tsri_builder expanded = {0};
  tsri_c_expand(e, &expanded, pattern, dtype);
  e->body.has_failed |= expanded.has_failed;
  const char *text = expanded.text;
  size_t bytes = expanded.bytes, first = 0;
  if (text && is_bare && is_bracketed(text, bytes)) {
    first = 1;
    bytes--;
  }
  for (size_t i = first; text && i < bytes; i++) {
    if (text[i] == '$' && i + 1 < bytes && text[i + 1] >= 'a' && text[i + 1] <= 'c') {
      uint32_t arg = args[text[i + 1] - 'a'];
      tsri_c_put_expr(e, arg, is_whole_argument(text, i));
      i++;
    } else {
      tsri_builder_put(&e->body, &text[i], 1);
    }
  }
  tsri_free(expanded.text);
}

static void put_call(tsri_c_emitter *e, tsri_c_name name, const uint32_t *args, uint32_t count) {
  tsri_c_put(e, "%s(", name.text);
  for (uint32_t i = 0; i < count; i++) tsri_c_put(e, i ? ", %b" : "%b", args[i]);
  tsri_c_put(e, ")");
}

static void put_op(tsri_c_emitter *e, const tsri_ir_expr *expr, bool is_bare) {
  tsri_ir_op op = (tsri_ir_op)expr->op;
  // The type that decides: of the value selected, else of the first operand.
  tsri_ir_type operand = e->kernel->exprs[op == TSRI_OP_SELECT ? expr->b : expr->a].type;
  if (operand.lanes > 1) {
    put_call(e, tsri_c_vector_op(e, op, operand, expr->type), expr->args, tsri_ir_op_infos[op].arity);
    return;
  }
  tsr_dtype dtype = (tsr_dtype)operand.dtype;
  tsri_c_put_pattern(e, tsri_c_op_pattern(e, op, dtype, false), dtype, expr->args, is_bare);
}

static void put_convert(tsri_c_emitter *e, const tsri_ir_expr *expr) {
  tsri_ir_type from = e->kernel->exprs[expr->a].type;
  tsr_dtype to = (tsr_dtype)expr->dtype, dtype = (tsr_dtype)from.dtype;
  if (from.lanes > 1) {
    put_call(e, tsri_c_vector_convert(e, to, from), expr->args, 1);
    return;
  }
  tsri_c_put_pattern(e, tsri_c_convert_pattern(e, to, dtype, false), dtype, expr->args, false);
}

static void put_bitcast(tsri_c_emitter *e, const tsri_ir_expr *expr) {
  tsri_ir_type from = e->kernel->exprs[expr->a].type;
  tsr_dtype to = (tsr_dtype)expr->type.dtype, dtype = (tsr_dtype)from.dtype;
  if (from.lanes > 1) {
    put_call(e, tsri_c_vector_bitcast(e, expr->type, from), expr->args, 1);
    return;
  }
  tsri_c_put_pattern(e, tsri_c_bitcast_pattern(to, dtype), to == TSR_F32 || to == TSR_F64 ? to : dtype, expr->args,
                     false);
}

static void put_load(tsri_c_emitter *e, const tsri_ir_expr *expr) {
  tsri_ir_space space = (tsri_ir_space)expr->space;
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(e->kernel, space, expr->object)->storage;
  if (expr->type.lanes > 1) {
    bool is_once = expr->op == TSRI_LOAD_ONCE && !tsri_ir_array_of(e->kernel, space, expr->object)->is_stored;
    tsri_c_put(e, "%s(%a, %b)", tsri_c_load(e, space, storage, expr->type.lanes, is_once).text, space, expr->object,
               expr->a);
    return;
  }
  if (tsri_c_is_half_pointer(e, storage)) {
    tsri_c_put(e, "vload_half(%b, (const %shalf *)%a)", expr->a, e->spell->space[space], space, expr->object);
    return;
  }
  // The template holds the operand once: what stands before it, the element, what stands after it.
  tsri_builder expanded = {0};
  tsri_c_expand(e, &expanded, tsri_c_decode_pattern(storage), TSR_F32);
  e->body.has_failed |= expanded.has_failed;
  const char *operand = expanded.text ? strstr(expanded.text, "$a") : NULL;
  if (operand) {
    tsri_builder_put(&e->body, expanded.text, (size_t)(operand - expanded.text));
    tsri_c_put(e, "%a[%b]%s", space, expr->object, expr->a, operand + 2);
  }
  tsri_free(expanded.text);
}

// Plain C: number of the item along an axis, from its number in the group.
static void put_plain_local(tsri_c_emitter *e, uint32_t axis) {
  const uint32_t *size = e->kernel->group_size;
  uint32_t below = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
  tsri_builder_add(&e->body, "(tsr_lid / %" PRIu32 "u %% %" PRIu32 "u)", below, size[axis]);
}

static void put_plain_id(tsri_c_emitter *e, tsri_ir_id id, uint32_t axis) {
  if (id == TSRI_ID_LOCAL) {
    put_plain_local(e, axis);
  } else if (id == TSRI_ID_GLOBAL) {
    tsri_builder_add(&e->body, "(tsr_at[%" PRIu32 "] * %" PRIu32 "u + ", axis, e->kernel->group_size[axis]);
    put_plain_local(e, axis);
    tsri_builder_string(&e->body, ")");
  } else {
    tsri_builder_add(&e->body, id == TSRI_ID_GROUP ? "tsr_at[%" PRIu32 "]" : "tsr_run->groups[%" PRIu32 "]", axis);
  }
}

static void put_id(tsri_c_emitter *e, const tsri_ir_expr *expr) {
  static const char letters[] = "xyz";
  tsri_ir_id id = (tsri_ir_id)expr->op;
  if (id == TSRI_ID_SUBGROUP_SIZE) {
    tsri_builder_add(&e->body, "%" PRIu32 "u", e->options->subgroup_size);
    return;
  }
  if (id == TSRI_ID_SUBGROUP_LANE) {
    e->uses_lid = true;
    tsri_builder_add(&e->body, "(tsr_lid & %" PRIu32 "u)", e->options->subgroup_size - 1);
    return;
  }
  if (tsri_c_is(e, TSRI_C_PLAIN)) {
    put_plain_id(e, id, expr->lane);
    return;
  }
  e->ids_used |= 1u << (3 * id + expr->lane);
  if (id == TSRI_ID_GLOBAL)
    e->ids_used |= 1u << (3 * TSRI_ID_GROUP + expr->lane) | 1u << (3 * TSRI_ID_LOCAL + expr->lane);
  tsri_builder_add(&e->body, "%s_%c", tsri_ir_id_infos[id].spelling, letters[expr->lane]);
}

static void put_lazy(tsri_c_emitter *e, const tsri_ir_expr *expr, bool is_bare) {
  const char *first = expr->kind == TSRI_EXPR_AND_THEN ? " && " : expr->kind == TSRI_EXPR_OR_ELSE ? " || " : " ? ";
  tsri_c_put(e, is_bare ? "%e%s%e" : "(%e%s%e", expr->a, first, expr->b);
  if (expr->kind == TSRI_EXPR_COND) tsri_c_put(e, " : %e", expr->c);
  if (!is_bare) tsri_c_put(e, ")");
}

void tsri_c_put_expr(tsri_c_emitter *e, uint32_t index, bool is_bare) {
  const tsri_ir_expr *expr = &e->kernel->exprs[index];
  switch (expr->kind) {
    case TSRI_EXPR_CONST:
      tsri_c_put_const(e, &e->body, (tsr_dtype)expr->type.dtype, expr->bits);
      break;
    case TSRI_EXPR_VAR:
      tsri_c_put(e, "%v", expr->object);
      break;
    case TSRI_EXPR_SCALAR:
      e->params_used[expr->object] = 1;
      tsri_c_put_name(&e->body, e->kernel->params[expr->object].name, "p", expr->object);
      break;
    case TSRI_EXPR_ID:
      put_id(e, expr);
      break;
    case TSRI_EXPR_OP:
      put_op(e, expr, is_bare);
      break;
    case TSRI_EXPR_AND_THEN:
    case TSRI_EXPR_OR_ELSE:
    case TSRI_EXPR_COND:
      put_lazy(e, expr, is_bare);
      break;
    case TSRI_EXPR_CONVERT:
      put_convert(e, expr);
      break;
    case TSRI_EXPR_BITCAST:
      put_bitcast(e, expr);
      break;
    case TSRI_EXPR_SPLAT:
      put_call(e, tsri_c_vector_splat(e, expr->type), expr->args, 1);
      break;
    case TSRI_EXPR_VECTOR:
      put_call(e, tsri_c_vector_make(e, expr->type), expr->args, expr->type.lanes);
      break;
    case TSRI_EXPR_EXTRACT:
      tsri_c_put(e, "%e.%c", expr->a, "xyzw"[expr->lane & 3]);
      break;
    case TSRI_EXPR_INSERT:
      put_call(e, tsri_c_vector_insert(e, expr->type, expr->lane), expr->args, 2);
      break;
    case TSRI_EXPR_LOAD:
      put_load(e, expr);
      break;
    default:
      break;
  }
}
