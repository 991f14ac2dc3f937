// SPDX-License-Identifier: MIT
// An upper bound for the loop iterations of an item in a launch, from the kernel, the parameters and the launch's
// size. It understands loops that count from one number to another; other loops count as endless.
#include <math.h>
#include <string.h>

#include "lang/lang.h"

enum { MOST_STEPS = 20000, MOST_DEPTH = 48, COLLECTIVE_ROUNDS = 16, HALVINGS = 65 };

typedef struct bounder {
  const tsri_kernel *kernel;
  const uint32_t *groups;
  const void *params;
  int steps, depth;
  uint32_t active[MOST_DEPTH];  // variables that are being evaluated
  uint32_t active_count;
} bounder;

static double magnitude(bounder *b, uint32_t expr);
static bool is_not_less(bounder *b, uint32_t x, uint32_t y, int depth);

static double of_const(const tsri_ir_expr *x) {
  if (x->type.dtype == TSR_U32 || x->type.dtype == TSR_BOOL) return (double)(uint32_t)x->bits;
  if (x->type.dtype == TSR_I32) return fabs((double)(int32_t)(uint32_t)x->bits);
  return x->type.dtype == TSR_I64 ? fabs((double)(int64_t)x->bits) : (double)INFINITY;
}

static double of_param(const bounder *b, uint32_t index) {
  const tsri_ir_param *param = &b->kernel->params[index];
  const char *at = (const char *)b->params + param->offset;
  tsri_ir_expr value = {.type = param->type};
  uint32_t low = 0;
  if (tsr_dtype_bytes((tsr_dtype)param->type.dtype) == 8) {
    memcpy(&value.bits, at, sizeof value.bits);
  } else {
    memcpy(&low, at, sizeof low);
    value.bits = low;
  }
  return of_const(&value);
}

static double of_id(const bounder *b, const tsri_ir_expr *x) {
  double size = b->kernel->group_size[x->lane % 3], groups = b->groups[x->lane % 3];
  switch (x->op) {
    case TSRI_ID_GROUP:
    case TSRI_ID_GROUPS:
      return groups;
    case TSRI_ID_LOCAL:
      return size;
    case TSRI_ID_GLOBAL:
      return groups * size;
    default:
      return 128;
  }
}

static double of_var(bounder *b, uint32_t var) {
  for (uint32_t i = 0; i < b->active_count; i++) {
    if (b->active[i] == var) return (double)INFINITY;
  }
  if (b->active_count == MOST_DEPTH) return (double)INFINITY;
  b->active[b->active_count++] = var;
  double most = 0;
  for (uint32_t i = 1; i < b->kernel->stmt_count && most < (double)INFINITY; i++) {
    const tsri_ir_stmt *s = &b->kernel->stmts[i];
    if (s->var != var) continue;
    most = s->kind == TSRI_STMT_ASSIGN ? fmax(most, magnitude(b, s->value)) : (double)INFINITY;
  }
  b->active_count--;
  return most;
}

// The only value that the variable ever has: it is assigned once, outside of all loops. 0: there are several.
static uint32_t only_value(const bounder *b, uint32_t first, uint32_t var, int depth) {
  uint32_t value = 0;
  for (uint32_t i = first; i && depth <= MOST_DEPTH; i = b->kernel->stmts[i].next) {
    const tsri_ir_stmt *s = &b->kernel->stmts[i];
    if (s->kind == TSRI_STMT_ASSIGN && s->var == var) value = s->value;
    if (s->kind != TSRI_STMT_IF || value) continue;
    value = only_value(b, s->body, var, depth + 1);
    if (!value) value = only_value(b, s->other, var, depth + 1);
  }
  return value;
}

static uint32_t value_of(const bounder *b, const tsri_ir_expr *x) {
  uint32_t count = 0;
  if (x->kind != TSRI_EXPR_VAR) return 0;
  for (uint32_t i = 1; i < b->kernel->stmt_count; i++) count += b->kernel->stmts[i].var == x->object;
  return count == 1 ? only_value(b, b->kernel->body, x->object, 0) : 0;
}

static bool is_op(const tsri_ir_expr *x, tsri_ir_op op) { return x->kind == TSRI_EXPR_OP && x->op == op; }

// Whether both have the same value for certain, independent of where they are.
static bool is_equal(const bounder *b, const tsri_ir_expr *x, const tsri_ir_expr *y) {
  if (x->kind != y->kind) return false;
  if (x->kind == TSRI_EXPR_CONST) return x->bits == y->bits;
  return x->object == y->object && (x->kind == TSRI_EXPR_SCALAR || value_of(b, x));
}

// Whether it has the form p / q * q, which is at most p.
static bool is_multiple(const bounder *b, const tsri_ir_expr *x) {
  const tsri_ir_expr *exprs = b->kernel->exprs;
  if (!is_op(x, TSRI_OP_MUL) || !is_op(&exprs[x->a], TSRI_OP_DIV)) return false;
  return is_equal(b, &exprs[exprs[x->a].b], &exprs[x->b]);
}

// Whether x >= y for certain; both are u32.
static bool is_not_less(bounder *b, uint32_t x, uint32_t y, int depth) {
  const tsri_ir_expr *left = &b->kernel->exprs[x], *right = &b->kernel->exprs[y];
  if (++b->steps > MOST_STEPS || depth > MOST_DEPTH) return false;
  if (magnitude(b, y) == 0) return true;
  uint32_t left_value = value_of(b, left), right_value = value_of(b, right);
  if (is_equal(b, left, right)) return true;
  if (is_multiple(b, right) && is_not_less(b, x, b->kernel->exprs[right->a].a, depth + 1)) return true;
  if (is_op(right, TSRI_OP_MIN) && (is_not_less(b, x, right->a, depth + 1) || is_not_less(b, x, right->b, depth + 1))) {
    return true;
  }
  if (is_op(left, TSRI_OP_MIN)) return is_not_less(b, left->a, y, depth + 1) && is_not_less(b, left->b, y, depth + 1);
  bool is_sum = is_op(left, TSRI_OP_ADD) && magnitude(b, x) <= (double)UINT32_MAX;  // the sum does not wrap
  if (is_sum && (is_not_less(b, left->a, y, depth + 1) || is_not_less(b, left->b, y, depth + 1))) return true;
  if (right_value && is_not_less(b, x, right_value, depth + 1)) return true;
  return left_value && is_not_less(b, left_value, y, depth + 1);
}

static double of_op(bounder *b, const tsri_ir_expr *x) {
  switch (x->op) {
    case TSRI_OP_SUB:
      if (x->type.dtype != TSR_U32) return magnitude(b, x->a) + magnitude(b, x->b);
      return is_not_less(b, x->a, x->b, 0) ? magnitude(b, x->a) : (double)INFINITY;  // otherwise it may wrap
    case TSRI_OP_ADD:
      return magnitude(b, x->a) + magnitude(b, x->b);
    case TSRI_OP_MUL:
      return magnitude(b, x->a) * magnitude(b, x->b);
    case TSRI_OP_NEG:
    case TSRI_OP_DIV:
    case TSRI_OP_REM:
    case TSRI_OP_ABS:
    case TSRI_OP_SHR:
      return x->type.dtype == TSR_U32 && x->op == TSRI_OP_NEG ? (double)INFINITY : magnitude(b, x->a);
    case TSRI_OP_MIN:
      return x->type.dtype == TSR_U32 ? fmin(magnitude(b, x->a), magnitude(b, x->b))
                                      : fmax(magnitude(b, x->a), magnitude(b, x->b));
    case TSRI_OP_MAX:
      return fmax(magnitude(b, x->a), magnitude(b, x->b));
    case TSRI_OP_SELECT:
      return fmax(magnitude(b, x->b), magnitude(b, x->c));
    default:
      return (double)INFINITY;
  }
}

// An upper bound for |value| of an integer expression.
static double magnitude(bounder *b, uint32_t expr) {
  const tsri_ir_expr *x = &b->kernel->exprs[expr];
  double result = (double)INFINITY;
  if (++b->steps > MOST_STEPS || x->type.lanes != 1 || b->depth >= MOST_DEPTH) return result;
  b->depth++;
  switch (x->kind) {
    case TSRI_EXPR_CONST:
      result = of_const(x);
      break;
    case TSRI_EXPR_VAR:
      result = of_var(b, x->object);
      break;
    case TSRI_EXPR_SCALAR:
      result = of_param(b, x->object);
      break;
    case TSRI_EXPR_ID:
      result = of_id(b, x);
      break;
    case TSRI_EXPR_OP:
      result = of_op(b, x);
      break;
    case TSRI_EXPR_COND:
      result = fmax(magnitude(b, x->b), magnitude(b, x->c));
      break;
    case TSRI_EXPR_CONVERT:
      if (tsr_dtype_kind_of((tsr_dtype)x->type.dtype) == TSR_KIND_FLOAT) break;
      result = magnitude(b, x->a);
      // A negative number becomes a large one; a large one may become smaller.
      if (x->type.dtype == TSR_U32 && b->kernel->exprs[x->a].type.dtype != TSR_U32) {
        if (b->kernel->exprs[x->a].kind != TSRI_EXPR_CONST) result = fmax(result, (double)UINT32_MAX);
      }
      break;
    default:
      break;
  }
  b->depth--;
  return result;
}

// --- Loops ------------------------------------------------------------------------------------------------------------

static bool assigns(const bounder *b, uint32_t first, uint32_t var, int depth) {
  if (depth > MOST_DEPTH) return true;
  for (uint32_t i = first; i; i = b->kernel->stmts[i].next) {
    const tsri_ir_stmt *s = &b->kernel->stmts[i];
    if (s->var == var) return true;
    if (assigns(b, s->body, var, depth + 1) || assigns(b, s->other, var, depth + 1)) return true;
  }
  return false;
}

// The value of `var` when the loop begins: the assignment directly before it. 0: not known.
static uint32_t start_of(const bounder *b, const tsri_ir_stmt *loop, uint32_t var) {
  for (uint32_t i = 1; i < b->kernel->stmt_count; i++) {
    const tsri_ir_stmt *s = &b->kernel->stmts[i];
    bool is_before = s->next && &b->kernel->stmts[s->next] == loop;
    if (is_before && s->kind == TSRI_STMT_ASSIGN && s->var == var) return s->value;
  }
  return 0;
}

// Whether both are the same variable, which does not change in the loop.
static bool is_same_in(const bounder *b, const tsri_ir_stmt *loop, uint32_t x, uint32_t y) {
  const tsri_ir_expr *left = &b->kernel->exprs[x], *right = &b->kernel->exprs[y];
  if (left->kind != TSRI_EXPR_VAR || right->kind != TSRI_EXPR_VAR || left->object != right->object) return false;
  return !assigns(b, loop->body, left->object, 0) && !assigns(b, loop->other, left->object, 0);
}

// An upper bound for the distance from `start`, the value when the loop begins (0: unknown), to `bound`.
static double distance(bounder *b, const tsri_ir_stmt *loop, uint32_t start, uint32_t bound) {
  const tsri_ir_expr *x = &b->kernel->exprs[bound];
  if (x->type.dtype == TSR_U32 && is_op(x, TSRI_OP_MIN)) {
    return fmin(distance(b, loop, start, x->a), distance(b, loop, start, x->b));
  }
  if (start && is_op(x, TSRI_OP_ADD) && is_same_in(b, loop, start, x->a)) return magnitude(b, x->b);
  return magnitude(b, bound);
}

// How often `var = step` can happen before it passes a bound at distance `most`; infinity if that is not known.
static double rounds_of_step(bounder *b, const tsri_ir_stmt *loop, uint32_t var, const tsri_ir_expr *step,
                             double most) {
  const tsri_ir_expr *exprs = b->kernel->exprs;
  if (step->kind != TSRI_EXPR_OP || exprs[step->a].kind != TSRI_EXPR_VAR || exprs[step->a].object != var) {
    return (double)INFINITY;
  }
  const tsri_ir_expr *by = &exprs[step->b];
  bool is_known = by->kind == TSRI_EXPR_CONST || by->kind == TSRI_EXPR_SCALAR ||
                  (by->kind == TSRI_EXPR_ID && by->op == TSRI_ID_GROUPS);
  bool is_signed = by->type.dtype != TSR_U32;
  double amount = is_known ? magnitude(b, step->b) : 0, least = 0, smallest = (double)INFINITY;
  if (!(amount >= 1)) return (double)INFINITY;
  if (is_signed && by->kind == TSRI_EXPR_SCALAR) return (double)INFINITY;  // it may count down
  if (is_signed && by->kind == TSRI_EXPR_CONST && (int64_t)(int32_t)by->bits < 0) return (double)INFINITY;
  for (uint32_t i = 1; i < b->kernel->stmt_count; i++) {  // the value before the loop
    const tsri_ir_stmt *s = &b->kernel->stmts[i];
    if (s->var != var || i == loop->other) continue;
    if (s->kind != TSRI_STMT_ASSIGN) return (double)INFINITY;
    if (is_signed) least = fmax(least, magnitude(b, s->value));
    smallest = fmin(smallest, exprs[s->value].kind == TSRI_EXPR_CONST ? of_const(&exprs[s->value]) : 0);
  }
  switch (step->op) {
    case TSRI_OP_ADD:
      return (most + least) / amount + 2;
    case TSRI_OP_MUL:
      return amount >= 2 && smallest >= 1 ? HALVINGS : (double)INFINITY;
    case TSRI_OP_SHL:
      return smallest >= 1 ? HALVINGS : (double)INFINITY;
    default:
      return (double)INFINITY;
  }
}

// Whether the step halves the variable, which must stay above 0.
static bool halves(const bounder *b, uint32_t var, const tsri_ir_expr *step) {
  const tsri_ir_expr *exprs = b->kernel->exprs;
  if (step->kind != TSRI_EXPR_OP || exprs[step->a].kind != TSRI_EXPR_VAR || exprs[step->a].object != var) return false;
  const tsri_ir_expr *by = &exprs[step->b];
  if (by->kind != TSRI_EXPR_CONST) return false;
  return (step->op == TSRI_OP_SHR && by->bits >= 1) ||
         (step->op == TSRI_OP_DIV && by->bits >= 2 && by->bits < 0x7fffffff);
}

static double rounds_of_condition(bounder *b, const tsri_ir_stmt *loop, uint32_t condition) {
  const tsri_ir_expr *exprs = b->kernel->exprs, *x = &exprs[condition];
  if (x->kind == TSRI_EXPR_AND_THEN || (x->kind == TSRI_EXPR_OP && x->op == TSRI_OP_AND)) {
    return fmin(rounds_of_condition(b, loop, x->a), rounds_of_condition(b, loop, x->b));
  }
  if (x->kind != TSRI_EXPR_OP) return (double)INFINITY;
  bool is_up = x->op == TSRI_OP_LT || x->op == TSRI_OP_LE, is_down = x->op == TSRI_OP_GT || x->op == TSRI_OP_GE;
  if (!is_up && !is_down) return (double)INFINITY;
  uint32_t left = x->a, right = x->b;
  double ahead = 0;
  if (is_up && is_op(&exprs[left], TSRI_OP_ADD) && exprs[exprs[left].a].kind == TSRI_EXPR_VAR) {
    ahead = magnitude(b, exprs[left].b);  // i + ahead < n; while i + ahead wraps there may be more iterations
    left = exprs[left].a;
  }
  if (exprs[left].kind != TSRI_EXPR_VAR) {  // n > i
    left = x->b;
    right = x->a;
    is_up = !is_up;
  }
  const tsri_ir_stmt *step = &b->kernel->stmts[loop->other];
  if (exprs[left].kind != TSRI_EXPR_VAR || !loop->other || step->next || step->kind != TSRI_STMT_ASSIGN)
    return (double)INFINITY;
  uint32_t var = exprs[left].object;
  if (step->var != var || assigns(b, loop->body, var, 0)) return (double)INFINITY;
  const tsri_ir_expr *value = &exprs[step->value];
  if (is_up) {
    double most = distance(b, loop, start_of(b, loop, var), right) + ahead;
    return rounds_of_step(b, loop, var, value, most);
  }
  bool stays_above_0 =
      x->op == TSRI_OP_GT && exprs[right].kind == TSRI_EXPR_CONST && exprs[right].type.dtype == TSR_U32;
  return stays_above_0 && halves(b, var, value) ? HALVINGS : (double)INFINITY;
}

static double rounds_of_block(bounder *b, uint32_t first, int depth) {
  double rounds = 0;
  if (depth > MOST_DEPTH) return (double)INFINITY;
  for (uint32_t i = first; i && rounds < (double)INFINITY; i = b->kernel->stmts[i].next) {
    const tsri_ir_stmt *s = &b->kernel->stmts[i];
    if (s->kind == TSRI_STMT_COLLECTIVE) rounds += COLLECTIVE_ROUNDS;
    if (s->kind != TSRI_STMT_IF && s->kind != TSRI_STMT_LOOP) continue;
    double inside = rounds_of_block(b, s->body, depth + 1) + rounds_of_block(b, s->other, depth + 1);
    if (s->kind == TSRI_STMT_IF) rounds += inside;
    else rounds += s->value ? rounds_of_condition(b, s, s->value) * (1 + inside) : (double)INFINITY;
  }
  return rounds;
}

double tsri_kernel_rounds(const tsri_kernel *kernel, const uint32_t groups[3], const void *params) {
  bounder b = {.kernel = kernel, .groups = groups, .params = params};
  return rounds_of_block(&b, kernel->body, 0);
}
