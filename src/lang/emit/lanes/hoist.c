// SPDX-License-Identifier: MIT
// Moves arithmetic whose operands do not change in a loop to before the loop.
//
// This is also correct for lanes that would not have executed it, because arithmetic of the language cannot fail. Loads are not moved.
#include "lang/emit/lanes/build.h"

typedef struct lane_hoister {
  lane_builder *b;
  const lane_loop *loop;
} lane_hoister;

bool lane_is_hoisted(const lane_builder *b, uint32_t expr, lane_value *out) {
  if (b->hoisted_at[expr] == 0) return false;
  *out = b->hoisted[b->hoisted_at[expr] - 1].value;
  return true;
}

// Whether the variable is not assigned in the loop. Of variables with many assignments, only the first two are known.
static bool is_fixed(const lane_hoister *h, uint32_t var) {
  const lane_var_plan *v = &h->b->plan.vars[var];
  if (v->assign_count > 2) return false;
  for (uint32_t i = 0; i < v->assign_count; i++) {
    if (v->assigns[i].pos >= h->loop->start && v->assigns[i].pos <= h->loop->end) return false;
  }
  return v->assign_count > 0 && v->assigns[0].pos < h->loop->start;
}

static void hoist(lane_hoister *h, uint32_t expr) {
  lane_builder *b = h->b;
  const tsri_ir_expr *e = &b->kernel->exprs[expr];
  bool is_plain = (e->kind == TSRI_EXPR_OP || e->kind == TSRI_EXPR_CONVERT) && e->type.lanes == 1;
  if (!is_plain || b->hoisted_at[expr] != 0 || b->hoisted_count == LANE_MAX_HOISTED) return;
  lane_value value = lane_eval_one(b, expr, NULL);
  b->hoisted[b->hoisted_count++] = (lane_hoisted){.expr = expr, .value = value};
  b->hoisted_at[expr] = (uint8_t)b->hoisted_count;
}

// Whether the expression stays the same in the loop. If it does not, its operands that do are hoisted.
static bool visit_expr(lane_hoister *h, uint32_t expr) {
  const tsri_ir_expr *e = &h->b->kernel->exprs[expr];
  switch ((tsri_ir_expr_kind)e->kind) {
    case TSRI_EXPR_NONE:
    case TSRI_EXPR_CONST:
    case TSRI_EXPR_SCALAR:
    case TSRI_EXPR_ID:
      return true;
    case TSRI_EXPR_VAR:
      return is_fixed(h, e->object);
    default:
      break;
  }
  bool is_same[4], all = e->kind == TSRI_EXPR_OP || e->kind == TSRI_EXPR_CONVERT || e->kind == TSRI_EXPR_BITCAST;
  for (int i = 0; i < 4; i++) {
    is_same[i] = e->args[i] == 0 || visit_expr(h, e->args[i]);
    all = all && is_same[i];
  }
  if (all) return true;
  for (int i = 0; i < 4; i++) {
    if (e->args[i] != 0 && is_same[i]) hoist(h, e->args[i]);
  }
  return false;
}

static void visit_root(lane_hoister *h, uint32_t expr) {
  if (expr != 0 && visit_expr(h, expr)) hoist(h, expr);
}

static void visit_block(lane_hoister *h, uint32_t stmt) {
  for (; stmt != 0; stmt = h->b->kernel->stmts[stmt].next) {
    const tsri_ir_stmt *s = &h->b->kernel->stmts[stmt];
    visit_root(h, s->index);
    visit_root(h, s->value);
    visit_root(h, s->compare);
    visit_block(h, s->body);
    visit_block(h, s->other);
  }
}

uint32_t lane_hoist(lane_builder *b, const tsri_ir_stmt *loop_stmt, uint32_t loop) {
  uint32_t first = b->hoisted_count;
  lane_hoister h = {.b = b, .loop = &b->plan.loops[loop]};
  visit_root(&h, loop_stmt->value);
  visit_block(&h, loop_stmt->body);
  visit_block(&h, loop_stmt->other);
  return first;
}

void lane_unhoist(lane_builder *b, uint32_t first) {
  while (b->hoisted_count > first) {
    const lane_hoisted *last = &b->hoisted[--b->hoisted_count];
    b->hoisted_at[last->expr] = 0;
    lane_value_release(b, &last->value);
  }
}
