// SPDX-License-Identifier: MIT
// Expressions of the C family.
//
// An expression is written as a tree, in place. Its height is limited, for compilers and for the recursion here (lower/heights.h).
#include <inttypes.h>

#include "lang/emit/c/c.h"
#include "lang/emit/literal.h"

// --- Constants ------------------------------------------------------------------------------------------------------

// Writes a float. NaN and infinity are written by their bits: no dialect has literals for them.
static void put_float(tsri_c_emitter *e, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  const uint64_t f32_infinity = 0x7F800000u, f64_infinity = UINT64_C(0x7FF0000000000000);
  uint64_t infinity = dtype == TSR_F32 ? f32_infinity : f64_infinity;
  if ((bits & infinity) == infinity) {
    tsri_builder_add(out, "%s(", tsri_c_need(e, tsri_c_named("tsr_from_%s", tsr_dtype_name(dtype))).text);
    tsri_builder_add(out, dtype == TSR_F32 ? "0x%08" PRIx64 "u)%.0s" : "0x%016" PRIx64 "U%s)", bits,
                     e->spell->long_suffix);
  } else if (dtype == TSR_F32) {
    tsri_literal_f32(out, (uint32_t)bits);
  } else {
    tsri_literal_f64(out, bits);
  }
}

// Writes a signed integer. The smallest of each type has no literal.
static void put_signed(tsri_builder *out, int64_t value, int64_t smallest, const char *suffix) {
  if (value == smallest) tsri_builder_add(out, "(%" PRId64 "%s - 1)", value + 1, suffix);
  else tsri_builder_add(out, value < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value, suffix);
}

void tsri_c_put_const(void *emitter, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  tsri_c_emitter *e = emitter;
  if (dtype == TSR_BOOL) tsri_builder_string(out, bits ? "true" : "false");
  else if (dtype == TSR_U32) tsri_builder_add(out, "%" PRIu32 "u", (uint32_t)bits);
  else if (dtype == TSR_I32) put_signed(out, (int32_t)bits, INT32_MIN, "");
  else if (dtype == TSR_I64) put_signed(out, (int64_t)bits, INT64_MIN, e->spell->long_suffix);
  else put_float(e, out, dtype, bits);
}

// --- Printing -------------------------------------------------------------------------------------------------------

// Whether the first bracket of a template closes at its end.
static bool is_bracketed(const char *text, size_t bytes) {
  int depth = 0;
  if (bytes < 2 || text[0] != '(') return false;
  for (size_t i = 0; i < bytes; i++) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i == bytes - 1;
  }
  return false;
}

// Whether the operand at text[i] is a whole argument of a call, which needs no brackets.
static bool is_whole_argument(const char *text, size_t i) {
  bool is_first = i > 0 && text[i - 1] == '(', is_later = i > 1 && text[i - 1] == ' ' && text[i - 2] == ',';
  return (is_first || is_later) && (text[i + 2] == ')' || text[i + 2] == ',');
}

void tsri_c_expand_pattern(tsri_c_emitter *e, tsri_builder *out, tsri_c_pattern pattern,
                           const char *const operands[3]) {
  const tsri_hole holes[] = {{"$o", pattern.word},
                             {"$r", pattern.result},
                             {operands ? "$a" : NULL, operands ? operands[0] : NULL},
                             {"$b", operands ? operands[1] : NULL},
                             {"$c", operands ? operands[2] : NULL},
                             {NULL, NULL}};
  tsri_c_expand(e, out, pattern.text, (tsri_ir_type){(uint8_t)pattern.dtype, 1}, holes);
}

void tsri_c_put_pattern(tsri_c_emitter *e, tsri_c_pattern pattern, const uint32_t *args, bool is_bare) {
  tsri_builder expanded = {0};
  tsri_c_expand_pattern(e, &expanded, pattern, NULL);
  e->body.has_failed |= expanded.has_failed;
  const char *text = expanded.text;
  bool drops_brackets = text && is_bare && is_bracketed(text, expanded.bytes);
  size_t first = drops_brackets ? 1 : 0, end = expanded.bytes - first;
  for (size_t i = first; text && i < end; i++) {
    if (text[i] == '$') {
      tsri_c_put_expr(e, args[text[i + 1] - 'a'], is_whole_argument(text, i));
      i++;
    } else {
      tsri_builder_put(&e->body, &text[i], 1);
    }
  }
  tsri_builder_deinit(&expanded);
}

static void put_call(tsri_c_emitter *e, tsri_c_name name, const uint32_t *args, uint32_t count) {
  tsri_c_put(e, "%s(", name.text);
  for (uint32_t i = 0; i < count; i++) tsri_c_put(e, i ? ", %b" : "%b", args[i]);
  tsri_c_put(e, ")");
}

// --- Vectors --------------------------------------------------------------------------------------------------------

tsri_c_name tsri_c_type(tsri_c_emitter *e, tsri_ir_type type) {
  if (type.lanes == 1) return tsri_c_named("%s", tsr_dtype_name((tsr_dtype)type.dtype));
  return tsri_c_need(e, tsri_c_named("tsr_%s", tsri_ir_type_name(type)));
}

// The type that selects an operation's template: for SELECT that of the selected value, else that of the first operand.
static tsri_ir_type operand_type(const tsri_c_emitter *e, const tsri_ir_expr *x) {
  bool is_select = x->kind == TSRI_EXPR_OP && x->op == TSRI_OP_SELECT;
  return e->kernel->exprs[is_select ? x->b : x->a].type;
}

// "tsr_add_f32x4", "tsr_to_i32_f32x4", "tsr_as_u32_f32x4"
static tsri_c_name lanewise_name(const tsri_c_emitter *e, const tsri_ir_expr *x) {
  const char *from = tsri_ir_type_name(operand_type(e, x));
  if (x->kind == TSRI_EXPR_CONVERT) return tsri_c_named("tsr_to_%s_%s", tsr_dtype_name((tsr_dtype)x->dtype), from);
  if (x->kind == TSRI_EXPR_BITCAST) return tsri_c_named("tsr_as_%s_%s", tsr_dtype_name((tsr_dtype)x->type.dtype), from);
  tsri_c_name name = tsri_c_named("tsr_%s_%s", tsri_ir_op_infos[x->op].name, from);
  for (char *c = name.text; *c; c++) {
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  }
  return name;
}

// Writes the helper that applies an operation lane by lane.
static void define_lanewise(tsri_c_emitter *e, const char *name, const tsri_ir_expr *x, tsri_c_pattern pattern) {
  static const char *const operands[4][3] = {
      {"a.x", "b.x", "c.x"}, {"a.y", "b.y", "c.y"}, {"a.z", "b.z", "c.z"}, {"a.w", "b.w", "c.w"}};
  tsri_c_name result = tsri_c_type(e, x->type);
  tsri_builder text = {0};
  tsri_builder_add(&text, "TSR_FN %s %s(", result.text, name);
  for (uint32_t i = 0; i < tsri_ir_plain_operands(x); i++) {
    tsri_c_name type = tsri_c_type(e, e->kernel->exprs[x->args[i]].type);
    tsri_builder_add(&text, "%s%s %c", i ? ", " : "", type.text, "abc"[i]);
  }
  tsri_builder_add(&text, ") {\n  %s r;\n", result.text);
  for (uint32_t lane = 0; lane < x->type.lanes; lane++) {
    tsri_builder_add(&text, "  r.%c = ", "xyzw"[lane]);
    tsri_c_expand_pattern(e, &text, pattern, operands[lane]);
    tsri_builder_string(&text, ";\n");
  }
  tsri_builder_string(&text, "  return r;\n}\n");
  tsri_c_define(e, name, &text);
  tsri_builder_deinit(&text);
}

// --- Expressions of each kind ---------------------------------------------------------------------------------------

static void put_scalar(tsri_c_emitter *e, uint32_t param) {
  e->params_used[param] = 1;
  tsri_c_put_name(&e->body, e->kernel->params[param].name, "p", param);
}

// In plain C an id is written in place; on a device it is a constant of the function.
static void put_id(tsri_c_emitter *e, const tsri_ir_expr *x) {
  tsri_ir_id id = (tsri_ir_id)x->op;
  uint32_t axis = x->lane, size = e->options->subgroup_size;
  if (id == TSRI_ID_SUBGROUP_SIZE) {
    tsri_c_put(e, "%uu", size);
  } else if (id == TSRI_ID_SUBGROUP_LANE) {
    e->uses_lid = true;
    tsri_c_put(e, "(tsr_lid & %uu)", size - 1);
  } else if (tsri_c_is(e, TSRI_C_PLAIN)) {
    tsri_c_put_id(e, &e->body, id, axis);
  } else {
    e->ids_used |= 1u << (3 * id + axis);
    if (id == TSRI_ID_GLOBAL) e->ids_used |= 1u << (3 * TSRI_ID_GROUP + axis) | 1u << (3 * TSRI_ID_LOCAL + axis);
    tsri_c_put(e, "%s_%c", tsri_ir_id_infos[id].spelling, "xyz"[axis]);
  }
}

// Writes OP, CONVERT or BITCAST.
static void put_operation(tsri_c_emitter *e, const tsri_ir_expr *x, bool is_bare) {
  tsri_ir_type operand = operand_type(e, x);
  tsri_c_pattern pattern = tsri_c_pattern_of(e, x, (tsr_dtype)operand.dtype, false);
  if (operand.lanes == 1) {
    tsri_c_put_pattern(e, pattern, x->args, is_bare && x->kind == TSRI_EXPR_OP);
    return;
  }
  tsri_c_name name = lanewise_name(e, x);
  if (x->type.lanes == 1) (void)tsri_c_need(e, name);  // any and all
  else if (tsri_c_want(e, name.text)) define_lanewise(e, name.text, x, pattern);
  put_call(e, name, x->args, tsri_ir_plain_operands(x));
}

static void put_lazy(tsri_c_emitter *e, const tsri_ir_expr *x, bool is_bare) {
  const char *first = x->kind == TSRI_EXPR_AND_THEN ? " && " : x->kind == TSRI_EXPR_OR_ELSE ? " || " : " ? ";
  tsri_c_put(e, is_bare ? "%e%s%e" : "(%e%s%e", x->a, first, x->b);
  if (x->kind == TSRI_EXPR_COND) tsri_c_put(e, " : %e", x->c);
  if (!is_bare) tsri_c_put(e, ")");
}

// Writes SPLAT, VECTOR or INSERT.
static void put_made(tsri_c_emitter *e, const tsri_ir_expr *x) {
  static const char *const inserts[] = {"with_x", "with_y", "with_z", "with_w"};
  const char *what = x->kind == TSRI_EXPR_SPLAT ? "splat" : x->kind == TSRI_EXPR_VECTOR ? "make" : inserts[x->lane & 3];
  tsri_c_name name = tsri_c_named("tsr_%s_%s", what, tsri_ir_type_name(x->type));
  put_call(e, tsri_c_need(e, name), x->args, tsri_ir_plain_operands(x));
}

void tsri_c_put_expr(tsri_c_emitter *e, uint32_t expr, bool is_bare) {
  const tsri_ir_expr *x = &e->kernel->exprs[expr];
  uint8_t kind = x->kind;
  bool is_operation = kind == TSRI_EXPR_OP || kind == TSRI_EXPR_CONVERT || kind == TSRI_EXPR_BITCAST;
  bool is_lazy = kind == TSRI_EXPR_AND_THEN || kind == TSRI_EXPR_OR_ELSE || kind == TSRI_EXPR_COND;
  if (kind == TSRI_EXPR_CONST) tsri_c_put_const(e, &e->body, (tsr_dtype)x->type.dtype, x->bits);
  else if (kind == TSRI_EXPR_VAR) tsri_c_put_var(e, &e->body, x->object);
  else if (kind == TSRI_EXPR_SCALAR) put_scalar(e, x->object);
  else if (kind == TSRI_EXPR_ID) put_id(e, x);
  else if (kind == TSRI_EXPR_EXTRACT) tsri_c_put(e, "%e.%c", x->a, "xyzw"[x->lane & 3]);
  else if (kind == TSRI_EXPR_LOAD) tsri_c_put_load(e, x);
  else if (is_operation) put_operation(e, x, is_bare);
  else if (is_lazy) put_lazy(e, x, is_bare);
  else put_made(e, x);
}
