// SPDX-License-Identifier: MIT
// For each expression, variable and array, two facts are determined together: whether it may be negative, and whether some use needs its value as the language
// defines it ("exact"). Both are "no" at first, and spread until nothing changes. Variables and arrays have one answer for the whole kernel, for all
// assignments and uses.
#include "lang/lower/narrow.h"

#include "core/alloc.h"

typedef struct narrow_fact {
  bool may_be_negative, is_exact;
} narrow_fact;

typedef struct narrow_finder {
  const tsri_kernel *kernel;
  narrow_fact *exprs, *vars, *shared, *locals;  // by index in the kernel
  bool has_changed;
} narrow_finder;

static void spread(narrow_finder *f, bool *to, bool value) {
  if (!value || *to) return;
  *to = true;
  f->has_changed = true;
}

static bool is_half(uint8_t dtype) { return dtype == TSR_F16 || dtype == TSR_BF16; }

// The facts of a shared or local array. NULL: a buffer, which is used outside of the kernel as well.
static narrow_fact *array_fact(narrow_finder *f, uint8_t space, uint32_t object) {
  if (space == TSRI_SPACE_BUFFER) return NULL;
  return space == TSRI_SPACE_SHARED ? &f->shared[object] : &f->locals[object];
}

// --- Signs ------------------------------------------------------------------------------------------------------------

static bool is_same_value(const narrow_finder *f, uint32_t a, uint32_t b) {
  const tsri_ir_expr *x = &f->kernel->exprs[a], *y = &f->kernel->exprs[b];
  return a == b || (x->kind == TSRI_EXPR_VAR && y->kind == TSRI_EXPR_VAR && x->object == y->object);
}

static bool product_may_be_negative(const narrow_finder *f, uint32_t a, uint32_t b) {
  return !is_same_value(f, a, b) && (f->exprs[a].may_be_negative || f->exprs[b].may_be_negative);
}

static bool operation_may_be_negative(const narrow_finder *f, const tsri_ir_expr *x) {
  bool a = f->exprs[x->a].may_be_negative, b = f->exprs[x->b].may_be_negative;
  switch ((tsri_ir_op)x->op) {
    case TSRI_OP_ABS:
    case TSRI_OP_EXP:
    case TSRI_OP_EXP2:
    case TSRI_OP_SQRT:
    case TSRI_OP_RSQRT:
      return false;
    case TSRI_OP_ADD:
    case TSRI_OP_DIV:
    case TSRI_OP_MIN:
      return a || b;
    case TSRI_OP_MAX:
    case TSRI_OP_LOOSE_MAX:
      return a && b;
    case TSRI_OP_MUL:
      return product_may_be_negative(f, x->a, x->b);
    case TSRI_OP_FMA:
      return product_may_be_negative(f, x->a, x->b) || f->exprs[x->c].may_be_negative;
    case TSRI_OP_LOG1P:
      return a;
    case TSRI_OP_SELECT:
      return b || f->exprs[x->c].may_be_negative;
    default:
      return true;
  }
}

static bool any_operand_may_be_negative(const narrow_finder *f, const tsri_ir_expr *x, uint32_t first) {
  uint32_t count = tsri_ir_operands(x);
  for (uint32_t i = first; i < count; i++) {
    if (f->exprs[x->args[i]].may_be_negative) return true;
  }
  return false;
}

static bool may_be_negative(narrow_finder *f, const tsri_ir_expr *x) {
  if (x->type.dtype != TSR_F32) return true;
  const narrow_fact *array = NULL;
  switch ((tsri_ir_expr_kind)x->kind) {
    case TSRI_EXPR_CONST:
      return (x->bits & 0x80000000u) != 0;
    case TSRI_EXPR_VAR:
      return f->vars[x->object].may_be_negative;
    case TSRI_EXPR_OP:
      return operation_may_be_negative(f, x);
    case TSRI_EXPR_COND:
      return any_operand_may_be_negative(f, x, 1);
    case TSRI_EXPR_CONVERT:
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_VECTOR:
    case TSRI_EXPR_EXTRACT:
    case TSRI_EXPR_INSERT:
      return any_operand_may_be_negative(f, x, 0);
    case TSRI_EXPR_LOAD:
      array = array_fact(f, x->space, x->object);
      return !array || array->may_be_negative;
    default:
      return true;
  }
}

// --- Needs ------------------------------------------------------------------------------------------------------------

// Whether operand `i` must be exact although the operation's result need not be.
static bool operation_needs_exact(const narrow_finder *f, const tsri_ir_expr *x, uint32_t i) {
  switch ((tsri_ir_op)x->op) {
    case TSRI_OP_MUL:
    case TSRI_OP_DIV:
    case TSRI_OP_MIN:
    case TSRI_OP_MAX:
    case TSRI_OP_LOOSE_MAX:
    case TSRI_OP_NEG:
    case TSRI_OP_ABS:
    case TSRI_OP_SQRT:
    case TSRI_OP_RSQRT:
      return false;
    case TSRI_OP_SELECT:
      return i == 0;
    case TSRI_OP_ADD:
    case TSRI_OP_LOG1P:
      return any_operand_may_be_negative(f, x, 0);
    case TSRI_OP_FMA:
      return product_may_be_negative(f, x->a, x->b) || f->exprs[x->c].may_be_negative;
    default:
      return true;
  }
}

static bool needs_exact_operand(const narrow_finder *f, const tsri_ir_expr *x, bool is_exact, uint32_t i) {
  if ((x->kind == TSRI_EXPR_CONVERT || x->kind == TSRI_EXPR_BITCAST) && is_half(x->dtype)) return false;
  if (is_exact) return true;
  switch ((tsri_ir_expr_kind)x->kind) {
    case TSRI_EXPR_OP:
      return operation_needs_exact(f, x, i);
    case TSRI_EXPR_COND:
      return i == 0;
    case TSRI_EXPR_CONVERT:
      return x->type.dtype != TSR_F32;
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_VECTOR:
    case TSRI_EXPR_EXTRACT:
    case TSRI_EXPR_INSERT:
      return false;
    default:
      return true;
  }
}

static void spread_expression(narrow_finder *f, uint32_t i) {
  const tsri_ir_expr *x = &f->kernel->exprs[i];
  narrow_fact *mine = &f->exprs[i], *array = x->kind == TSRI_EXPR_LOAD ? array_fact(f, x->space, x->object) : NULL;
  spread(f, &mine->may_be_negative, may_be_negative(f, x));
  if (x->kind == TSRI_EXPR_VAR) spread(f, &f->vars[x->object].is_exact, mine->is_exact);
  if (array) spread(f, &array->is_exact, mine->is_exact);
  uint32_t count = tsri_ir_operands(x);
  for (uint32_t k = 0; k < count; k++) {
    spread(f, &f->exprs[x->args[k]].is_exact, needs_exact_operand(f, x, mine->is_exact, k));
  }
}

// For a value that is stored in a variable or array: it must be as exact as the readers of that place need.
static void spread_kept(narrow_finder *f, narrow_fact *place, uint32_t value) {
  spread(f, &place->may_be_negative, f->exprs[value].may_be_negative);
  spread(f, &f->exprs[value].is_exact, place->is_exact);
}

// Nothing is known about atomics and fragments: what they write may be anything, and what they read must be exact.
static void spread_unknown(narrow_finder *f, const tsri_ir_stmt *stmt) {
  bool has_array = stmt->kind != TSRI_STMT_FRAGMENT_FILL && stmt->kind != TSRI_STMT_FRAGMENT_MULTIPLY_ADD;
  narrow_fact *array = has_array ? array_fact(f, stmt->space, stmt->object) : NULL;
  if (!array) return;
  spread(f, &array->may_be_negative, true);
  spread(f, &array->is_exact, true);
}

static void spread_statement(narrow_finder *f, const tsri_ir_stmt *stmt) {
  bool is_assigned = stmt->kind == TSRI_STMT_ASSIGN, is_stored = stmt->kind == TSRI_STMT_STORE;
  narrow_fact *array = is_stored ? array_fact(f, stmt->space, stmt->object) : NULL;
  if (is_assigned) spread_kept(f, &f->vars[stmt->var], stmt->value);
  if (array) spread_kept(f, array, stmt->value);
  bool is_rounded =
      is_stored && is_half(tsri_ir_array_of(f->kernel, (tsri_ir_space)stmt->space, stmt->object)->storage);
  bool is_free = is_assigned || array || is_rounded;
  if (stmt->kind == TSRI_STMT_ATOMIC || stmt->kind >= TSRI_STMT_FRAGMENT_FIRST) spread_unknown(f, stmt);
  if (!is_free && stmt->value) spread(f, &f->exprs[stmt->value].is_exact, true);
  if (stmt->index) spread(f, &f->exprs[stmt->index].is_exact, true);
  if (stmt->compare) spread(f, &f->exprs[stmt->compare].is_exact, true);
  if (!is_assigned && stmt->var) spread(f, &f->vars[stmt->var].may_be_negative, true);
}

// --- All of it --------------------------------------------------------------------------------------------------------

static bool has_halves(const tsri_kernel *kernel) { return (kernel->needs & (TSRI_NEEDS_F16 | TSRI_NEEDS_BF16)) != 0; }

bool *tsri_narrow_find(const tsri_kernel *kernel) {
  if (!has_halves(kernel)) return NULL;
  narrow_finder f = {.kernel = kernel};
  size_t shared_at = (size_t)kernel->expr_count + kernel->var_count, locals_at = shared_at + kernel->shared_count;
  f.exprs = tsri_calloc(locals_at + kernel->local_count + 1, sizeof *f.exprs);
  bool *narrow = tsri_calloc((size_t)kernel->expr_count + 1, sizeof *narrow);
  if (f.exprs && narrow) {
    f.vars = f.exprs + kernel->expr_count;
    f.shared = f.exprs + shared_at;
    f.locals = f.exprs + locals_at;
    do {
      f.has_changed = false;
      for (uint32_t i = 1; i < kernel->stmt_count; i++) spread_statement(&f, &kernel->stmts[i]);
      for (uint32_t i = kernel->expr_count; i-- > 1;) spread_expression(&f, i);
    } while (f.has_changed);
    for (uint32_t i = 1; i < kernel->expr_count; i++) {
      narrow[i] = kernel->exprs[i].type.dtype == TSR_F32 && !f.exprs[i].is_exact;
    }
  } else {
    tsri_free(narrow);
    narrow = NULL;
  }
  tsri_free(f.exprs);
  return narrow;
}
