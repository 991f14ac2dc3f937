// SPDX-License-Identifier: MIT
// Analyses a kernel before it is translated: lifetimes of variables, loops that lanes leave at different times, and whether groups may be merged.
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/lanes/build.h"

typedef struct walk {
  lane_plan *plan;
  const tsri_kernel *kernel;
  uint32_t pos;
  uint32_t loop;  // innermost
  uint32_t ifs;   // around, inside that loop
  bool in_step;   // in the loop's `other`
  bool has_failed;
} walk;

// --- Accesses ---------------------------------------------------------------------------------------------------------

static void note_access(walk *w, uint32_t var) {
  lane_plan *plan = w->plan;
  if (plan->access_count == plan->access_capacity) {
    uint32_t capacity = plan->access_capacity * 2 + 64;
    lane_access *grown = tsri_realloc(plan->accesses, capacity * sizeof *grown);
    if (!grown) {
      w->has_failed = true;
      return;
    }
    plan->accesses = grown;
    plan->access_capacity = capacity;
  }
  plan->accesses[plan->access_count++] = (lane_access){.var = var, .pos = w->pos, .loop = w->loop};
}

static void note_read(walk *w, uint32_t var) {
  lane_var_plan *v = &w->plan->vars[var];
  if (v->first_read == 0) v->first_read = w->pos;
  v->last_read = w->pos;
  note_access(w, var);
}

static void note_assign(walk *w, uint32_t var, uint32_t stmt) {
  if (var == 0) return;
  lane_var_plan *v = &w->plan->vars[var];
  if (v->assign_count < 2) {
    bool skips = w->loop != 0 && w->plan->loops[w->loop].has_continue && !w->in_step;
    v->assigns[v->assign_count] =
        (lane_assign){.stmt = stmt, .pos = w->pos, .loop = w->loop, .is_step = w->loop != 0 && w->ifs == 0 && !skips};
  }
  v->assign_count++;
  note_access(w, var);
}

static void walk_expr(walk *w, uint32_t expr) {
  if (expr == 0) return;
  const tsri_ir_expr *e = &w->kernel->exprs[expr];
  if (e->kind == TSRI_EXPR_VAR) note_read(w, e->object);
  if (e->kind == TSRI_EXPR_VAR || e->kind == TSRI_EXPR_CONST || e->kind == TSRI_EXPR_SCALAR ||
      e->kind == TSRI_EXPR_ID) {
    return;
  }
  for (int i = 0; i < 4; i++) walk_expr(w, e->args[i]);
}

// --- Statements ---------------------------------------------------------------------------------------------------------

static void walk_block(walk *w, uint32_t stmt);

// Whether the loop's own breaks and continues differ between lanes; nested loops have their own.
static void find_exits(const tsri_kernel *kernel, uint32_t stmt, bool varies, lane_loop *loop) {
  for (; stmt != 0; stmt = kernel->stmts[stmt].next) {
    const tsri_ir_stmt *s = &kernel->stmts[stmt];
    if (s->kind == TSRI_STMT_BREAK) loop->has_break = true;
    if (s->kind == TSRI_STMT_CONTINUE) loop->has_continue = true;
    if ((s->kind == TSRI_STMT_BREAK || s->kind == TSRI_STMT_CONTINUE) && varies) loop->is_divergent = true;
    if (s->kind == TSRI_STMT_IF) {
      bool inner = varies || !kernel->exprs[s->value].is_uniform;
      find_exits(kernel, s->body, inner, loop);
      find_exits(kernel, s->other, inner, loop);
    }
  }
}

static uint32_t add_loop(walk *w, const tsri_ir_stmt *s) {
  lane_plan *plan = w->plan;
  if (plan->loop_count >= plan->loop_capacity) {
    uint32_t capacity = plan->loop_capacity * 2 + 16;
    lane_loop *grown = tsri_realloc(plan->loops, capacity * sizeof *grown);
    if (!grown) {
      w->has_failed = true;
      return 0;
    }
    plan->loops = grown;
    plan->loop_capacity = capacity;
  }
  lane_loop *loop = &plan->loops[plan->loop_count];
  *loop = (lane_loop){.parent = w->loop, .start = w->pos};
  loop->depth = w->loop != 0 ? plan->loops[w->loop].depth + 1 : 1;
  if (s->value != 0 && !w->kernel->exprs[s->value].is_uniform) loop->is_divergent = true;
  find_exits(w->kernel, s->body, false, loop);
  return plan->loop_count++;
}

static void walk_loop(walk *w, uint32_t stmt) {
  const tsri_ir_stmt *s = &w->kernel->stmts[stmt];
  uint32_t loop = add_loop(w, s);
  if (w->has_failed) return;
  walk outside = *w;
  w->plan->stmt_loop[stmt] = loop;
  w->loop = loop;
  w->ifs = 0;
  w->in_step = false;
  walk_expr(w, s->value);
  walk_block(w, s->body);
  w->in_step = true;
  walk_block(w, s->other);
  w->plan->loops[loop].end = ++w->pos;
  w->loop = outside.loop;
  w->ifs = outside.ifs;
  w->in_step = outside.in_step;
}

static void walk_block(walk *w, uint32_t stmt) {
  for (; stmt != 0 && !w->has_failed; stmt = w->kernel->stmts[stmt].next) {
    const tsri_ir_stmt *s = &w->kernel->stmts[stmt];
    w->plan->stmt_pos[stmt] = ++w->pos;
    if (s->kind == TSRI_STMT_LOOP) {
      walk_loop(w, stmt);
      continue;
    }
    walk_expr(w, s->index);
    walk_expr(w, s->value);
    walk_expr(w, s->compare);
    if (s->kind == TSRI_STMT_IF) {
      w->ifs++;
      walk_block(w, s->body);
      walk_block(w, s->other);
      w->ifs--;
    } else if (s->kind == TSRI_STMT_ASSIGN || s->kind == TSRI_STMT_ATOMIC || s->kind == TSRI_STMT_COLLECTIVE) {
      note_assign(w, s->var, stmt);
    }
  }
}

// --- How long registers are needed --------------------------------------------------------------------------------------

static uint32_t common_loop(const lane_plan *plan, uint32_t a, uint32_t b) {
  while (a != b) {
    if (a == 0 || b == 0) return 0;
    if (plan->loops[a].depth >= plan->loops[b].depth) {
      a = plan->loops[a].parent;
    } else {
      b = plan->loops[b].parent;
    }
  }
  return a;
}

// A variable that is used both in a loop and outside it keeps its register for the whole loop: other iterations must
// not overwrite its value.
static void find_lifetimes(lane_plan *plan) {
  for (uint32_t i = 0; i < plan->access_count; i++) {
    const lane_access *a = &plan->accesses[i];
    lane_var_plan *v = &plan->vars[a->var];
    v->home = v->is_seen ? common_loop(plan, v->home, a->loop) : a->loop;
    if (!v->is_seen) v->first = a->pos;
    v->is_seen = true;
    v->last = a->pos;
  }
  for (uint32_t i = 0; i < plan->access_count; i++) {
    const lane_access *a = &plan->accesses[i];
    lane_var_plan *v = &plan->vars[a->var];
    if (a->loop == v->home) continue;
    uint32_t loop = a->loop;
    while (plan->loops[loop].parent != v->home) loop = plan->loops[loop].parent;
    if (plan->loops[loop].start < v->first) v->first = plan->loops[loop].start;
    if (plan->loops[loop].end > v->last) v->last = plan->loops[loop].end;
  }
}

static void list_lifetimes(lane_plan *plan, uint32_t var_count) {
  for (uint32_t i = 1; i < var_count; i++) {
    lane_var_plan *v = &plan->vars[i];
    if (!v->is_seen) continue;
    v->next_born = plan->born[v->first];
    plan->born[v->first] = i;
    v->next_dead = plan->dead[v->last];
    plan->dead[v->last] = i;
  }
}

// --- Merging groups -----------------------------------------------------------------------------------------------------

static bool is_id(const tsri_kernel *kernel, uint32_t expr, tsri_ir_id id) {
  const tsri_ir_expr *e = &kernel->exprs[expr];
  return expr != 0 && e->kind == TSRI_EXPR_ID && e->op == (uint8_t)id && e->lane == 0;
}

static bool is_group_start(const tsri_kernel *kernel, uint32_t expr) {
  const tsri_ir_expr *e = &kernel->exprs[expr];
  if (expr == 0 || e->kind != TSRI_EXPR_OP || e->op != TSRI_OP_MUL || e->type.lanes != 1) return false;
  uint32_t size = is_id(kernel, e->a, TSRI_ID_GROUP) ? e->b : is_id(kernel, e->b, TSRI_ID_GROUP) ? e->a : 0;
  return size != 0 && kernel->exprs[size].kind == TSRI_EXPR_CONST && kernel->exprs[size].bits == kernel->group_size[0];
}

bool lane_is_global_x(const tsri_kernel *kernel, uint32_t expr) {
  if (is_id(kernel, expr, TSRI_ID_GLOBAL)) return true;
  const tsri_ir_expr *e = &kernel->exprs[expr];
  if (e->kind != TSRI_EXPR_OP || e->op != TSRI_OP_ADD || e->type.lanes != 1) return false;
  return (is_group_start(kernel, e->a) && is_id(kernel, e->b, TSRI_ID_LOCAL)) ||
         (is_group_start(kernel, e->b) && is_id(kernel, e->a, TSRI_ID_LOCAL));
}

static bool asks_for_group(const tsri_kernel *kernel, uint32_t expr) {
  return is_id(kernel, expr, TSRI_ID_GROUP) || is_id(kernel, expr, TSRI_ID_LOCAL);
}

// Whether groups may be merged: the kernel must not depend on which group an item is in, except through global.x.
static bool may_merge(const tsri_kernel *kernel, uint8_t *is_part) {
  const uint32_t together = TSRI_NEEDS_BARRIER | TSRI_NEEDS_GROUP_OPS | TSRI_NEEDS_SUBGROUPS;
  if (kernel->group_size[1] != 1 || kernel->group_size[2] != 1) return false;
  if ((kernel->needs & together) != 0 || kernel->shared_count != 0) return false;
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    const tsri_ir_expr *e = &kernel->exprs[i];
    if (e->kind != TSRI_EXPR_OP || !lane_is_global_x(kernel, i)) continue;
    is_part[i] = 1;
    is_part[is_group_start(kernel, e->a) ? e->a : e->b] = 1;
  }
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    const tsri_ir_expr *e = &kernel->exprs[i];
    if (e->kind < TSRI_EXPR_OP || is_part[i]) continue;
    for (int k = 0; k < 4; k++) {
      if (asks_for_group(kernel, e->args[k])) return false;
    }
  }
  for (uint32_t i = 1; i < kernel->stmt_count; i++) {
    const tsri_ir_stmt *s = &kernel->stmts[i];
    if (asks_for_group(kernel, s->value) || asks_for_group(kernel, s->index) || asks_for_group(kernel, s->compare)) {
      return false;
    }
  }
  return true;
}

// --- The plan -----------------------------------------------------------------------------------------------------------

bool lane_plan_init(lane_plan *plan, const tsri_kernel *kernel) {
  *plan = (lane_plan){.loop_count = 1};
  size_t stmts = (size_t)kernel->stmt_count + 1;
  plan->stmt_pos = tsri_calloc(2 * stmts, sizeof *plan->stmt_pos);
  plan->vars = tsri_calloc((size_t)kernel->var_count + 1, sizeof *plan->vars);
  uint8_t *is_part = tsri_calloc((size_t)kernel->expr_count + 1, 1);
  if (!plan->stmt_pos || !plan->vars || !is_part) {
    tsri_free(is_part);
    return false;
  }
  plan->stmt_loop = plan->stmt_pos + stmts;
  walk w = {.plan = plan, .kernel = kernel};
  walk_block(&w, kernel->body);
  plan->is_merged = may_merge(kernel, is_part);
  tsri_free(is_part);
  plan->pos_count = w.pos + 1;
  plan->born = tsri_calloc(2 * (size_t)plan->pos_count, sizeof *plan->born);
  if (w.has_failed || !plan->born) return false;
  plan->dead = plan->born + plan->pos_count;
  find_lifetimes(plan);
  list_lifetimes(plan, kernel->var_count);
  return true;
}

void lane_plan_deinit(lane_plan *plan) {
  tsri_free(plan->stmt_pos);
  tsri_free(plan->vars);
  tsri_free(plan->loops);
  tsri_free(plan->accesses);
  tsri_free(plan->born);
}

static bool is_read_within(const lane_plan *plan, const lane_var_plan *v, uint32_t loop) {
  return v->first_read == 0 || loop == 0 ||
         (v->first_read >= plan->loops[loop].start && v->last_read <= plan->loops[loop].end);
}

bool lane_plan_is_single(const lane_plan *plan, uint32_t var) {
  const lane_var_plan *v = &plan->vars[var];
  return v->assign_count == 1 && is_read_within(plan, v, v->assigns[0].loop);
}

// var + uniform, uniform + var or var - uniform
static bool is_step_of(const tsri_kernel *kernel, uint32_t stmt, uint32_t var) {
  const tsri_ir_stmt *s = &kernel->stmts[stmt];
  if (s->kind != TSRI_STMT_ASSIGN) return false;
  const tsri_ir_expr *e = &kernel->exprs[s->value];
  if (e->kind != TSRI_EXPR_OP || (e->op != TSRI_OP_ADD && e->op != TSRI_OP_SUB) || e->type.lanes != 1) return false;
  const tsri_ir_expr *x = &kernel->exprs[e->a], *y = &kernel->exprs[e->b];
  if (x->kind == TSRI_EXPR_VAR && x->object == var) return y->is_uniform;
  return e->op == TSRI_OP_ADD && y->kind == TSRI_EXPR_VAR && y->object == var && x->is_uniform;
}

bool lane_plan_is_counter(const lane_plan *plan, const tsri_kernel *kernel, uint32_t var) {
  const lane_var_plan *v = &plan->vars[var];
  if (v->assign_count != 2) return false;
  const lane_assign *start = &v->assigns[0], *step = &v->assigns[1];
  if (step->loop == 0 || !step->is_step || plan->loops[step->loop].parent != start->loop) return false;
  if (v->last_read > plan->loops[step->loop].end || v->first_read <= start->pos) return false;
  return is_read_within(plan, v, start->loop) && is_step_of(kernel, step->stmt, var);
}
