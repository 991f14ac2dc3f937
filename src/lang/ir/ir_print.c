// SPDX-License-Identifier: MIT
// The checked form as text, for tests and `tessera kernel emit --dialect ir`.
//
// Statements look like the language, expressions like calls, so that every conversion and the order of evaluation are
// visible. A '~' before a condition means that it may differ between items of a work-group.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/builder.h"
#include "lang/ir/ir.h"

typedef struct printer {
  const tsri_kernel *kernel;
  tsri_builder out;
} printer;

static void print_expr(printer *p, uint32_t id);

static void print_real(printer *p, double value, const char *suffix) {
  if (isnan(value)) {
    tsri_builder_add(&p->out, "nan%s", suffix);
  } else if (isinf(value)) {
    tsri_builder_add(&p->out, "%sinf%s", value < 0 ? "-" : "", suffix);
  } else {
    tsri_builder_add(&p->out, "%.9g%s", value, suffix);
  }
}

static void print_const(printer *p, const tsri_ir_expr *expr) {
  uint32_t word = (uint32_t)expr->bits;
  float narrow;
  double wide;
  memcpy(&narrow, &word, sizeof narrow);
  memcpy(&wide, &expr->bits, sizeof wide);
  switch (expr->type.dtype) {
    case TSR_BOOL:
      tsri_builder_add(&p->out, "%s", expr->bits ? "true" : "false");
      break;
    case TSR_I32:
      tsri_builder_add(&p->out, "%" PRId32, (int32_t)word);
      break;
    case TSR_U32:
      tsri_builder_add(&p->out, "%" PRIu32 "u", word);
      break;
    case TSR_I64:
      tsri_builder_add(&p->out, "%" PRId64 "l", (int64_t)expr->bits);
      break;
    case TSR_F32:
      print_real(p, (double)narrow, "f");
      break;
    default:
      print_real(p, wide, "d");
      break;
  }
}

static void print_args(printer *p, const tsri_ir_expr *expr, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) tsri_builder_add(&p->out, ", ");
    print_expr(p, expr->args[i]);
  }
}

static void print_op(printer *p, const tsri_ir_expr *expr) {
  const tsri_ir_op_info *info = &tsri_ir_op_infos[expr->op];
  if (info->is_operator && info->arity == 2) {
    tsri_builder_add(&p->out, "(");
    print_expr(p, expr->a);
    tsri_builder_add(&p->out, " %s ", info->spelling);
    print_expr(p, expr->b);
  } else {
    tsri_builder_add(&p->out, "%s(", info->spelling);
    print_args(p, expr, info->arity);
  }
  tsri_builder_add(&p->out, ")");
}

static void print_lazy(printer *p, const tsri_ir_expr *expr) {
  static const char *const signs[] = {" && ", " || ", " ? "};
  tsri_builder_add(&p->out, "(");
  print_expr(p, expr->a);
  tsri_builder_add(&p->out, "%s", signs[expr->kind - TSRI_EXPR_AND_THEN]);
  print_expr(p, expr->b);
  if (expr->kind == TSRI_EXPR_COND) {
    tsri_builder_add(&p->out, " : ");
    print_expr(p, expr->c);
  }
  tsri_builder_add(&p->out, ")");
}

static void print_element(printer *p, uint32_t space, uint32_t object, uint32_t index, uint32_t lanes) {
  const tsri_ir_array *array = tsri_ir_array_of(p->kernel, (tsri_ir_space)space, object);
  tsri_builder_add(&p->out, "%s", array->name);
  if (space == TSRI_SPACE_LOCAL) tsri_builder_add(&p->out, "_%" PRIu32, object);
  tsri_builder_add(&p->out, "[");
  print_expr(p, index);
  tsri_builder_add(&p->out, lanes > 1 ? "..%" PRIu32 "]" : "]", lanes);
}

static void print_var(printer *p, uint32_t var) {
  tsri_builder_add(&p->out, "%s_%" PRIu32, p->kernel->vars[var].name, var);
}

static void print_expr(printer *p, uint32_t id) {
  static const char lanes[] = "xyzw";
  const tsri_ir_expr *expr = &p->kernel->exprs[id];
  const char *type = tsri_ir_type_name(expr->type);
  switch (expr->kind) {
    case TSRI_EXPR_CONST:
      print_const(p, expr);
      return;
    case TSRI_EXPR_VAR:
      print_var(p, expr->object);
      return;
    case TSRI_EXPR_SCALAR:
      tsri_builder_add(&p->out, "%s", p->kernel->params[expr->object].name);
      return;
    case TSRI_EXPR_ID:
      tsri_builder_add(&p->out, "%s", tsri_ir_id_infos[expr->op].spelling);
      if (tsri_ir_id_infos[expr->op].has_axis) tsri_builder_add(&p->out, ".%c", lanes[expr->lane]);
      return;
    case TSRI_EXPR_OP:
      print_op(p, expr);
      return;
    case TSRI_EXPR_AND_THEN:
    case TSRI_EXPR_OR_ELSE:
    case TSRI_EXPR_COND:
      print_lazy(p, expr);
      return;
    case TSRI_EXPR_LOAD:
      print_element(p, expr->space, expr->object, expr->a, expr->type.lanes);
      return;
    case TSRI_EXPR_EXTRACT:
      print_expr(p, expr->a);
      tsri_builder_add(&p->out, ".%c", lanes[expr->lane]);
      return;
    case TSRI_EXPR_INSERT:
      tsri_builder_add(&p->out, "insert.%c(", lanes[expr->lane]);
      print_args(p, expr, 2);
      break;
    case TSRI_EXPR_CONVERT:
      tsri_builder_add(&p->out, "%s(", tsri_ir_type_name((tsri_ir_type){expr->dtype, expr->type.lanes}));
      print_args(p, expr, 1);
      break;
    case TSRI_EXPR_BITCAST:
      tsri_builder_add(&p->out, "bitcast<%s>(", type);
      print_args(p, expr, 1);
      break;
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_VECTOR:
      tsri_builder_add(&p->out, "%s(", type);
      print_args(p, expr, expr->kind == TSRI_EXPR_SPLAT ? 1 : expr->type.lanes);
      break;
    default:
      tsri_builder_add(&p->out, "?(");
      break;
  }
  tsri_builder_add(&p->out, ")");
}

// --- Statements -----------------------------------------------------------------------------------------------------

static void print_block(printer *p, uint32_t first, int depth);

static void print_condition(printer *p, uint32_t value) {
  if (!value) {
    tsri_builder_add(&p->out, "true");
    return;
  }
  if (!p->kernel->exprs[value].is_uniform) tsri_builder_add(&p->out, "~");
  print_expr(p, value);
}

static void print_nested(printer *p, const tsri_ir_stmt *stmt, int depth) {
  bool is_if = stmt->kind == TSRI_STMT_IF;
  tsri_builder_add(&p->out, is_if ? "if " : "loop ");
  print_condition(p, stmt->value);
  tsri_builder_add(&p->out, " {\n");
  print_block(p, stmt->body, depth + 1);
  if (stmt->other) {
    tsri_builder_add(&p->out, "%*s} %s {\n", depth * 2, "", is_if ? "else" : "step");
    print_block(p, stmt->other, depth + 1);
  }
  tsri_builder_add(&p->out, "%*s}\n", depth * 2, "");
}

static void print_call(printer *p, const tsri_ir_stmt *stmt) {
  bool is_atomic = stmt->kind == TSRI_STMT_ATOMIC;
  if (stmt->var) {
    print_var(p, stmt->var);
    tsri_builder_add(&p->out, " = ");
  }
  tsri_builder_add(&p->out, "%s(",
                   is_atomic ? tsri_ir_atomic_infos[stmt->op].spelling : tsri_ir_collective_infos[stmt->op].spelling);
  if (is_atomic) {
    print_element(p, stmt->space, stmt->object, stmt->index, 1);
    tsri_builder_add(&p->out, ", ");
    if (stmt->compare) {
      print_expr(p, stmt->compare);
      tsri_builder_add(&p->out, ", ");
    }
  }
  print_expr(p, stmt->value);
  if (!is_atomic && stmt->compare) {
    tsri_builder_add(&p->out, ", ");
    print_expr(p, stmt->compare);
  }
  tsri_builder_add(&p->out, ")\n");
}

static void print_fragment(printer *p, uint32_t fragment) {
  tsri_builder_add(&p->out, "%s_%" PRIu32, p->kernel->fragments[fragment].name, fragment);
}

static void print_fragment_stmt(printer *p, const tsri_ir_stmt *stmt) {
  bool is_multiply = stmt->kind == TSRI_STMT_FRAGMENT_MULTIPLY_ADD, is_fill = stmt->kind == TSRI_STMT_FRAGMENT_FILL;
  tsri_builder_add(&p->out, "%s ",
                   is_multiply                              ? "multiply_add"
                   : is_fill                                ? "fill"
                   : stmt->kind == TSRI_STMT_FRAGMENT_STORE ? "store"
                                                            : "load");
  for (int i = 0; i < (is_multiply ? 3 : 1); i++) {
    if (i) tsri_builder_add(&p->out, ", ");
    print_fragment(p, stmt->fragments[i]);
  }
  if (!is_multiply && !is_fill) {
    tsri_builder_add(&p->out, ", ");
    print_element(p, stmt->space, stmt->object, stmt->index, 1);
  }
  if (!is_multiply) {
    tsri_builder_add(&p->out, is_fill ? ", " : stmt->op ? " columns " : " rows ");
    print_expr(p, stmt->value);
  }
  tsri_builder_add(&p->out, "\n");
}

static void print_stmt(printer *p, const tsri_ir_stmt *stmt, int depth) {
  tsri_builder_add(&p->out, "%*s", depth * 2, "");
  switch (stmt->kind) {
    case TSRI_STMT_ASSIGN:
      print_var(p, stmt->var);
      tsri_builder_add(&p->out, " = ");
      print_expr(p, stmt->value);
      tsri_builder_add(&p->out, "\n");
      break;
    case TSRI_STMT_STORE:
      print_element(p, stmt->space, stmt->object, stmt->index, p->kernel->exprs[stmt->value].type.lanes);
      tsri_builder_add(&p->out, " = ");
      print_expr(p, stmt->value);
      tsri_builder_add(&p->out, "\n");
      break;
    case TSRI_STMT_CLEAR:
      tsri_builder_add(&p->out, "clear %s_%" PRIu32 "\n", p->kernel->locals[stmt->object].name, stmt->object);
      break;
    case TSRI_STMT_IF:
    case TSRI_STMT_LOOP:
      print_nested(p, stmt, depth);
      break;
    case TSRI_STMT_BREAK:
      tsri_builder_add(&p->out, "break\n");
      break;
    case TSRI_STMT_CONTINUE:
      tsri_builder_add(&p->out, "continue\n");
      break;
    case TSRI_STMT_BARRIER:
      tsri_builder_add(&p->out, "barrier\n");
      break;
    case TSRI_STMT_ATOMIC:
    case TSRI_STMT_COLLECTIVE:
      print_call(p, stmt);
      break;
    case TSRI_STMT_FRAGMENT_FILL:
    case TSRI_STMT_FRAGMENT_LOAD:
    case TSRI_STMT_FRAGMENT_STORE:
    case TSRI_STMT_FRAGMENT_MULTIPLY_ADD:
      print_fragment_stmt(p, stmt);
      break;
    default:
      tsri_builder_add(&p->out, "?\n");
      break;
  }
}

static void print_block(printer *p, uint32_t first, int depth) {
  for (uint32_t id = first; id; id = p->kernel->stmts[id].next) print_stmt(p, &p->kernel->stmts[id], depth);
}

char *tsri_ir_print(const tsri_kernel *kernel) {
  static const char *const accesses[] = {"in", "out", "inout"};
  printer p = {.kernel = kernel};
  tsri_builder_add(&p.out, "kernel %s group %" PRIu32 "x%" PRIu32 "x%" PRIu32 "%s\n", kernel->variant,
                   kernel->group_size[0], kernel->group_size[1], kernel->group_size[2],
                   kernel->is_checked ? " checked" : "");
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    const tsri_ir_array *buffer = &kernel->buffers[i];
    tsri_builder_add(&p.out, "  %s %s %s[]\n", accesses[buffer->access], tsr_dtype_name((tsr_dtype)buffer->storage),
                     buffer->name);
  }
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    const tsri_ir_param *param = &kernel->params[i];
    tsri_builder_add(&p.out, "  %s %s at %" PRIu32 "\n", tsri_ir_type_name(param->type), param->name, param->offset);
  }
  for (uint32_t i = 0; i < kernel->shared_count; i++) {
    const tsri_ir_array *array = &kernel->shared[i];
    tsri_builder_add(&p.out, "  shared %s %s[%" PRIu32 "]\n", tsr_dtype_name((tsr_dtype)array->storage), array->name,
                     array->count);
  }
  for (uint32_t i = 0; i < kernel->local_count; i++) {
    const tsri_ir_array *array = &kernel->locals[i];
    tsri_builder_add(&p.out, "  local %s %s_%" PRIu32 "[%" PRIu32 "]\n", tsr_dtype_name((tsr_dtype)array->storage),
                     array->name, i, array->count);
  }
  for (uint32_t i = 0; i < kernel->fragment_count; i++) {
    const tsri_ir_fragment *f = &kernel->fragments[i];
    tsri_builder_add(&p.out, "  %s<%s, %u, %u, %u> %s_%" PRIu32 "\n", tsri_ir_role_spellings[f->role],
                     tsr_dtype_name((tsr_dtype)f->dtype), f->m, f->n, f->k, f->name, i);
  }
  tsri_builder_add(&p.out, "{\n");
  print_block(&p, kernel->body, 1);
  tsri_builder_add(&p.out, "}\n");
  return p.out.text;
}
