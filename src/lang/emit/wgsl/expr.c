// SPDX-License-Identifier: MIT
// Expressions: a let for each, operands first. Walked with a stack of their own, since a chain of additions may be as deep
// as it is long. None has operands that may go unevaluated (lower/lazy.h).
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/expand.h"

// --- Leaves ---------------------------------------------------------------------------------------------------------

static void put_unknown_f32(tsri_wgsl *w, tsri_c_text *out, uint32_t bits) {
  tsri_wgsl_use(w, "tsr_float");
  tsri_c_addf(out, "tsr_float(0x%" PRIx32 "u)", bits);
}

static void put_f32(tsri_wgsl *w, tsri_c_text *out, uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  if (bits == 0 || isnormal(value)) {
    tsri_c_addf(out, value < 0 ? "(%.9gf)" : "%.9gf", (double)value);
  } else {
    put_unknown_f32(w, out, bits);
  }
}

void tsri_wgsl_put_const(tsri_wgsl *w, tsri_c_text *out, tsr_dtype dtype, uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  switch (dtype) {
    case TSR_BOOL:
      tsri_c_add(out, bits ? "true" : "false");
      break;
    case TSR_I32:
      if (low == 0x80000000u) {
        tsri_c_add(out, "bitcast<i32>(0x80000000u)");
      } else {
        tsri_c_addf(out, (int32_t)low < 0 ? "(%" PRId32 "i)" : "%" PRId32 "i", (int32_t)low);
      }
      break;
    case TSR_U32:
      tsri_c_addf(out, "%" PRIu32 "u", low);
      break;
    default:
      put_f32(w, out, low);
      break;
  }
}

static void put_id(const tsri_wgsl *w, tsri_c_text *out, const tsri_ir_expr *x) {
  char axis = "xyz"[x->lane % 3];
  switch (x->op) {
    case TSRI_ID_GROUP:
      tsri_c_addf(out, "tsr_group.%c", axis);
      break;
    case TSRI_ID_GROUPS:
      tsri_c_addf(out, "tsr_p[0].%c", axis);
      break;
    case TSRI_ID_LOCAL:
      tsri_c_addf(out, "tsr_local.%c", axis);
      break;
    case TSRI_ID_GLOBAL:
      tsri_c_addf(out, "tsr_global.%c", axis);
      break;
    case TSRI_ID_SUBGROUP_SIZE:
      tsri_c_addf(out, "%" PRIu32 "u", w->options->subgroup_size);
      break;
    default:
      tsri_c_addf(out, "(tsr_lid & %" PRIu32 "u)", w->options->subgroup_size - 1);
      break;
  }
}

void tsri_wgsl_put_value(tsri_wgsl *w, tsri_c_text *out, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  switch (x->kind) {
    case TSRI_EXPR_CONST:
      if (x->type.dtype == TSR_F32 && x->bits == 0 && (w->marks[expr] & TSRI_WGSL_COUNTS)) {
        put_unknown_f32(w, out, 0);
      } else {
        tsri_wgsl_put_const(w, out, (tsr_dtype)x->type.dtype, x->bits);
      }
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
      tsri_c_addf(out, "e%" PRIu32, expr);
      break;
  }
}

// --- One let --------------------------------------------------------------------------------------------------------

static const char *const lane_suffixes[] = {".x", ".y", ".z", ".w"};

// A pattern on each lane: "vec4<f32>(f(a.x), f(a.y), f(a.z), f(a.w))".
static void put_lanes(tsri_wgsl *w, const char *pattern, tsri_ir_type result, const tsri_wgsl_operands *operands) {
  if (result.lanes == 1) {
    tsri_wgsl_put_pattern(w, &w->body, pattern, operands, "");
    return;
  }
  tsri_c_addf(&w->body, "%s(", tsri_wgsl_type(result));
  for (uint32_t lane = 0; lane < result.lanes; lane++) {
    if (lane > 0) tsri_c_add(&w->body, ", ");
    tsri_wgsl_put_pattern(w, &w->body, pattern, operands, lane_suffixes[lane]);
  }
  tsri_c_add(&w->body, ")");
}

// "tsr_keep4(": the call that hides a value of this type, up to the bracket (helpers.c). `which`: of keep_calls, apart_calls.
static const char *const keep_calls[] = {"tsr_keep(", "tsr_keep2(", "tsr_keep4("};
static const char *const apart_calls[] = {"tsr_apart(", "tsr_apart2(", "tsr_apart4("};
static const char *hiding_call(const char *const *which, tsri_ir_type type) { return which[type.lanes >> 1]; }

// What hides the result of an operation; NULL: nothing has to.
static const char *hiding_of(const tsri_wgsl *w, uint32_t expr, tsr_dtype operand) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  uint8_t marks = w->marks[expr];
  if ((marks & TSRI_WGSL_KEPT) && tsri_wgsl_op_rounds((tsri_ir_op)x->op, operand))
    return hiding_call(keep_calls, x->type);
  bool is_negation = x->op == TSRI_OP_NEG && operand == TSR_F32;
  return is_negation && (marks & TSRI_WGSL_ADDED) ? hiding_call(apart_calls, x->type) : NULL;
}

static bool is_constant(const tsri_wgsl *w, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  return x->kind == TSRI_EXPR_CONST || (x->kind == TSRI_EXPR_SPLAT && w->kernel->exprs[x->a].kind == TSRI_EXPR_CONST);
}

// a - b of floats that the compiler might find to be the same value, which is 0 unless that is infinite or NaN.
static const char *difference_pattern(const tsri_wgsl *w, const tsri_ir_expr *x) {
  static const char *const patterns[] = {"($a - tsr_apart($b))", "($a - tsr_apart2($b))", "($a - tsr_apart4($b))"};
  if (is_constant(w, x->a) || is_constant(w, x->b)) return "($a - $b)";
  return patterns[x->type.lanes >> 1];
}

// How deep reads() and shares_source() look. Beyond, they answer yes.
enum { MOST_LEVELS = 6 };

// Whether the tree of `expr` reads the variable, parameter or array of `leaf`.
static bool reads(const tsri_wgsl *w, uint32_t expr, const tsri_ir_expr *leaf, int levels) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  if (x->kind == leaf->kind && x->object == leaf->object && x->space == leaf->space) return true;
  uint32_t count = x->kind == TSRI_EXPR_LOAD ? 0 : tsri_ir_operands(x);  // an index says nothing about the element
  for (uint32_t i = 0; i < count; i++) {
    if (levels == 0 || reads(w, x->args[i], leaf, levels - 1)) return true;
  }
  return false;
}

// Whether both trees read a variable, parameter or array in common.
static bool shares_source(const tsri_wgsl *w, uint32_t a, uint32_t b, int levels) {
  const tsri_ir_expr *x = &w->kernel->exprs[a];
  bool is_source = x->kind == TSRI_EXPR_VAR || x->kind == TSRI_EXPR_SCALAR || x->kind == TSRI_EXPR_LOAD;
  if (is_source) return reads(w, b, x, MOST_LEVELS);
  uint32_t count = tsri_ir_operands(x);
  for (uint32_t i = 0; i < count; i++) {
    if (levels == 0 || shares_source(w, x->args[i], b, levels - 1)) return true;
  }
  return false;
}

// fma(a, b, c), where a compiler might find c to be a or b: NVIDIA's makes x * (b + 1) of fma(x, b, x), which is -x and not NaN
// for an infinite x and -2. Sums of products (acc = fma(x, y, acc)) are left alone, so that they stay one instruction.
static const char *fused_pattern(const tsri_wgsl *w, const tsri_ir_expr *x) {
  static const char *const patterns[] = {"fma($a, $b, tsr_apart($c))", "fma($a, $b, tsr_apart2($c))",
                                         "fma($a, $b, tsr_apart4($c))"};
  bool is_apart = is_constant(w, x->c) ||
                  (!shares_source(w, x->a, x->c, MOST_LEVELS) && !shares_source(w, x->b, x->c, MOST_LEVELS));
  return is_apart ? "fma($a, $b, $c)" : patterns[x->type.lanes >> 1];
}

static void put_op(tsri_wgsl *w, uint32_t expr, const tsri_wgsl_operands *operands) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  tsri_ir_op op = (tsri_ir_op)x->op;
  tsri_ir_type operand = w->kernel->exprs[op == TSRI_OP_SELECT ? x->b : x->a].type;
  tsr_dtype dtype = (tsr_dtype)operand.dtype;
  const char *pattern = tsri_wgsl_op_pattern(w, op, dtype, false), *hiding = hiding_of(w, expr, dtype);
  if (op == TSRI_OP_SUB && dtype == TSR_F32) pattern = difference_pattern(w, x);
  if (op == TSRI_OP_FMA && !tsri_lacks_op(&w->lacks, op, dtype)) pattern = fused_pattern(w, x);
  if (hiding) tsri_wgsl_put_pattern(w, &w->body, hiding, operands, "");
  if (operand.lanes == 1 || tsri_wgsl_op_is_native(w, op, dtype)) {
    tsri_wgsl_put_pattern(w, &w->body, pattern, operands, "");
  } else {
    put_lanes(w, pattern, x->type, operands);
  }
  if (hiding) tsri_c_add(&w->body, ")");
}

// Hides a converted float from the optimiser: it might fold to 0 and make 0 of x * 0, even for NaN. Values from memory need
// no hiding.
static void put_made(tsri_wgsl *w, uint32_t expr, const char *pattern, const tsri_wgsl_operands *operands) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  bool is_float = x->type.dtype == TSR_F32, was_float = w->kernel->exprs[x->a].type.dtype == TSR_F32;
  bool is_kept = is_float && !was_float && (w->marks[expr] & TSRI_WGSL_COUNTS) && !w->has_work[x->a];
  if (is_kept) tsri_wgsl_put_pattern(w, &w->body, hiding_call(keep_calls, x->type), operands, "");
  put_lanes(w, pattern, x->type, operands);
  if (is_kept) tsri_c_add(&w->body, ")");
}

static void put_constructed(tsri_wgsl *w, const tsri_ir_expr *x, const tsri_wgsl_operands *operands) {
  tsri_c_addf(&w->body, "%s(", tsri_wgsl_type(x->type));
  for (uint32_t lane = 0; lane < x->type.lanes; lane++) {
    if (lane > 0) tsri_c_add(&w->body, ", ");
    if (x->kind == TSRI_EXPR_VECTOR) {
      tsri_wgsl_put_value(w, &w->body, x->args[lane]);
    } else if (x->kind == TSRI_EXPR_INSERT && lane == x->lane) {
      tsri_c_add(&w->body, operands->text[1]);
    } else {
      tsri_c_addf(&w->body, "%s%s", operands->text[0], x->kind == TSRI_EXPR_INSERT ? lane_suffixes[lane] : "");
    }
  }
  tsri_c_add(&w->body, ")");
}

static void put_node(tsri_wgsl *w, uint32_t expr, const tsri_wgsl_operands *operands) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  tsr_dtype from = (tsr_dtype)w->kernel->exprs[x->a].type.dtype;
  switch (x->kind) {
    case TSRI_EXPR_OP:
      put_op(w, expr, operands);
      break;
    case TSRI_EXPR_CONVERT:
      put_made(w, expr, tsri_wgsl_convert_pattern((tsr_dtype)x->dtype, from, false), operands);
      break;
    case TSRI_EXPR_BITCAST:
      put_made(w, expr, tsri_wgsl_bitcast_pattern((tsr_dtype)x->dtype, (tsr_dtype)x->type.dtype, from), operands);
      break;
    case TSRI_EXPR_EXTRACT:
      tsri_c_addf(&w->body, "%s%s", operands->text[0], lane_suffixes[x->lane & 3]);
      break;
    default:  // SPLAT, VECTOR, INSERT
      put_constructed(w, x, operands);
      break;
  }
}

static void put_let(tsri_wgsl *w, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  if (x->kind == TSRI_EXPR_LOAD) {
    tsri_wgsl_put_load(w, expr);
    return;
  }
  tsri_c_text names[3] = {{0}};
  tsri_wgsl_operands operands = {{"", "", ""}};
  for (uint32_t i = 0; i < tsri_ir_plain_operands(x) && i < 3; i++) {
    tsri_wgsl_put_value(w, &names[i], x->args[i]);
    w->is_out_of_memory |= names[i].is_out_of_memory;
    if (names[i].data) operands.text[i] = names[i].data;
  }
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "let e%" PRIu32 " = ", expr);
  put_node(w, expr, &operands);
  tsri_c_add(&w->body, ";\n");
  for (int i = 0; i < 3; i++) tsri_free(names[i].data);
}

// Marks expressions with a load or a long function in them.
void tsri_wgsl_find_work(tsri_wgsl *w) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 1; i < k->expr_count; i++) {
    const tsri_ir_expr *x = &k->exprs[i];
    uint32_t count = tsri_ir_operands(x);
    w->has_work[i] = x->kind == TSRI_EXPR_LOAD || (x->kind == TSRI_EXPR_OP && tsri_expand_is_long((tsri_ir_op)x->op));
    for (uint32_t a = 0; a < count; a++) w->has_work[i] |= w->has_work[x->args[a]];
  }
}

// --- Trees ----------------------------------------------------------------------------------------------------------

#define VISITED 0x80000000u  // on the stack: its operands have been written

void tsri_wgsl_put_lets(tsri_wgsl *w, uint32_t expr) {
  uint32_t bottom = w->stack_used;
  if (expr == 0) return;
  w->stack[w->stack_used++] = expr;
  while (w->stack_used > bottom) {
    uint32_t top = w->stack[--w->stack_used], index = top & ~VISITED;
    const tsri_ir_expr *x = &w->kernel->exprs[index];
    uint32_t count = tsri_ir_plain_operands(x);
    if (top & VISITED) {
      put_let(w, index);
    } else if (count > 0) {
      w->stack[w->stack_used++] = index | VISITED;
      for (uint32_t i = count; i-- > 0;) w->stack[w->stack_used++] = x->args[i];
    }
  }
  w->stack_used = bottom;
}
