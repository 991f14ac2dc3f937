// SPDX-License-Identifier: MIT
// Which results more arithmetic may follow: those are kept as they were rounded (tsr_keep), since WGSL lets a compiler make
// one of what stands one after the other. It may look through variables, arrays and choices, so they are followed; what
// only ends up in memory needs nothing. And which zeros meet arithmetic that a compiler would take for x * 0 = 0, and which
// negations are added to something, for x + -x = 0.
#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"

// Where values wait: a variable or an array from which arithmetic takes its operands.
typedef struct places {
  uint8_t *vars, *arrays;
  bool has_changed;
} places;

static void mark(places *p, uint8_t *flags, uint8_t more) {
  p->has_changed |= (more & ~*flags) != 0;
  *flags |= more;
}

// What the operands of an operation are marked with. 0 may be 0 still after abs, min and the like.
static uint8_t marks_before(const tsri_ir_expr *x, tsr_dtype operand, uint8_t marks) {
  bool is_arithmetic = tsri_wgsl_op_rounds((tsri_ir_op)x->op, operand) || x->op == TSRI_OP_FMA;
  bool adds = x->op == TSRI_OP_ADD || x->op == TSRI_OP_FMA;
  uint8_t counts = is_arithmetic ? TSRI_WGSL_COUNTS : marks & TSRI_WGSL_COUNTS;
  return TSRI_WGSL_KEPT | counts | (adds ? TSRI_WGSL_ADDED : 0);
}

// Gives its operand on, or one of them, as it is.
static bool gives_on(const tsri_ir_expr *x, tsr_dtype from) {
  switch (x->kind) {
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_VECTOR:
    case TSRI_EXPR_EXTRACT:
    case TSRI_EXPR_INSERT:
      return true;
    case TSRI_EXPR_CONVERT:
      return x->dtype == from;
    default:
      return x->kind == TSRI_EXPR_OP && x->op == TSRI_OP_SELECT;
  }
}

// Operands stand before what uses them.
static void go_back(tsri_wgsl *w, places *p) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = k->expr_count; i-- > 1;) {
    const tsri_ir_expr *x = &k->exprs[i];
    uint8_t marks = w->marks[i];
    if (x->kind == TSRI_EXPR_VAR) mark(p, &p->vars[x->object], marks);
    if (x->kind == TSRI_EXPR_LOAD) {
      mark(p, &p->arrays[tsri_wgsl_array_number(w, (tsri_ir_space)x->space, x->object)], marks);
    }
    uint32_t count = tsri_ir_plain_operands(x);
    if (count == 0) continue;
    tsr_dtype operand = (tsr_dtype)k->exprs[x->a].type.dtype;
    bool passes = gives_on(x, operand);
    if (!passes && x->kind != TSRI_EXPR_OP) continue;
    if (!passes) marks = marks_before(x, operand, marks);
    for (uint32_t a = 0; a < count; a++) w->marks[x->args[a]] |= marks;
  }
}

static void follow_stmts(tsri_wgsl *w, const places *p) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *s = &k->stmts[i];
    uint8_t marks = s->kind == TSRI_STMT_ATOMIC ? TSRI_WGSL_KEPT : 0;
    if (s->kind == TSRI_STMT_ASSIGN) marks = p->vars[s->var];
    if (s->kind == TSRI_STMT_STORE) {
      marks = p->arrays[tsri_wgsl_array_number(w, (tsri_ir_space)s->space, s->object)];
    }
    w->marks[s->value] |= marks;
  }
}

void tsri_wgsl_find_kept(tsri_wgsl *w) {
  const tsri_kernel *k = w->kernel;
  places p = {.vars = tsri_calloc(k->var_count + 1u, 1),
              .arrays = tsri_calloc(k->buffer_count + k->shared_count + k->local_count + 1u, 1)};
  w->is_out_of_memory |= !p.vars || !p.arrays;
  p.has_changed = p.vars && p.arrays;
  while (p.has_changed) {
    p.has_changed = false;
    follow_stmts(w, &p);
    go_back(w, &p);
  }
  tsri_free(p.vars);
  tsri_free(p.arrays);
}
