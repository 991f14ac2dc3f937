// SPDX-License-Identifier: MIT
// Uniformity analysis: which values are the same in all items that compute them, and where all items of a work-group
// arrive together.
//
// Everything is uniform at first; passes over the kernel find what is not, until nothing changes.
//
// A region is a part of the code that some items run without the others: each branch of an `if` whose condition
// varies, the body of a loop that items leave at different times, or the code after a `break` or `continue` that only
// some items take. All items are together in the root region, and join again at the end of a region. A variable's home
// is the smallest region that contains all its uses. A variable is uniform if all its assignments are in its home
// region itself, so that all items there execute them together, and assign uniform values.
#include <string.h>

#include "core/alloc.h"
#include "lang/front/check.h"

#define MOST_PASSES 64  // after that everything counts as varying; no real kernel comes near
#define ROOT        1u

typedef enum cause_kind { BY_IF, BY_RETURN, BY_LOOP, BY_BREAK, BY_CONTINUE } cause_kind;

typedef struct region {
  uint32_t parent, depth;
  uint32_t jump;  // an outer region further away, so that any ancestor is reached in few steps
} region;

// The current place of the walk and, outside the root region, what separated the items.
typedef struct flow {
  uint32_t region;
  cause_kind kind;
  tsri_ir_pos pos;
  uint32_t condition;
} flow;

typedef struct loop {
  uint32_t body;   // region of its body
  uint32_t exits;  // divergent breaks and continues found so far
  bool has_divergent_break;
  flow cause;  // the last of these exits; `region` is not set
} loop;

// What this pass knows about a variable or local array.
typedef struct home {
  uint32_t region;    // smallest region that contains all uses so far; 0: none yet
  uint32_t assigned;  // region of the assignments; 0: none yet
  bool is_torn;       // there are assignments in several regions
} home;

typedef struct uniformity {
  tsri_checker *c;
  tsri_item_array regions;
  home *homes;         // of variables, then of local arrays
  bool *local_varies;  // one per local array
  bool has_changed, reports;
  bool has_mistakes;  // a pass has found an error, which the last pass reports
} uniformity;

// --- Regions --------------------------------------------------------------------------------------------------------

static region *region_at(const uniformity *a, uint32_t id) { return (region *)a->regions.items + id; }

static uint32_t new_region(uniformity *a, uint32_t parent) {
  uint32_t id = tsri_item_array_add(&a->regions);
  if (!id) return ROOT;  // memory is out: noticed at the end of the pass
  const region *outer = region_at(a, parent), *far = region_at(a, outer->jump), *farther = region_at(a, far->jump);
  // As in a skew-binary counter: two jumps of equal length are joined to one of twice the length plus one.
  bool carries = outer->depth - far->depth == far->depth - farther->depth;
  *region_at(a, id) = (region){parent, outer->depth + 1, carries ? far->jump : parent};
  return id;
}

// The ancestor of `id` at that depth, or `id` itself.
static uint32_t region_at_depth(const uniformity *a, uint32_t id, uint32_t depth) {
  while (region_at(a, id)->depth > depth) {
    const region *inner = region_at(a, id);
    id = region_at(a, inner->jump)->depth >= depth ? inner->jump : inner->parent;
  }
  return id;
}

// The innermost region that contains both. Regions of equal depth have jumps of equal length.
static uint32_t common_region(const uniformity *a, uint32_t x, uint32_t y) {
  uint32_t depth = region_at(a, x)->depth < region_at(a, y)->depth ? region_at(a, x)->depth : region_at(a, y)->depth;
  x = region_at_depth(a, x, depth);
  y = region_at_depth(a, y, depth);
  while (x != y) {
    const region *inner_x = region_at(a, x), *inner_y = region_at(a, y);
    bool can_jump = inner_x->jump != inner_y->jump;
    x = can_jump ? inner_x->jump : inner_x->parent;
    y = can_jump ? inner_y->jump : inner_y->parent;
  }
  return x;
}

static void note_use(const uniformity *a, uint32_t slot, uint32_t where, bool is_assignment) {
  home *h = &a->homes[slot];
  h->region = h->region && h->region != where ? common_region(a, h->region, where) : where;
  if (!is_assignment) return;
  h->is_torn = h->is_torn || (h->assigned && h->assigned != where);
  h->assigned = where;
}

// --- Values ---------------------------------------------------------------------------------------------------------

static bool load_is_uniform(const uniformity *a, const tsri_ir_expr *expr) {
  const tsri_checker *c = a->c;
  if (!tsri_expr_at(c, expr->a)->is_uniform) return false;
  if (expr->space == TSRI_SPACE_BUFFER)
    return tsri_array_at(c, TSRI_SPACE_BUFFER, expr->object)->access == TSRI_ACCESS_IN;
  return expr->space == TSRI_SPACE_LOCAL && !a->local_varies[expr->object];
}

// Operands have smaller indices than the expressions that use them, so one sweep is enough.
static void sweep_values(uniformity *a) {
  tsri_checker *c = a->c;
  for (uint32_t id = 1; id < c->exprs.count; id++) {
    tsri_ir_expr *expr = tsri_expr_at(c, id);
    bool is_uniform = true;
    if (expr->kind == TSRI_EXPR_VAR) {
      is_uniform = tsri_var_at(c, expr->object)->is_uniform;
    } else if (expr->kind == TSRI_EXPR_ID) {
      is_uniform = tsri_ir_id_infos[expr->op].is_uniform;
    } else if (expr->kind == TSRI_EXPR_LOAD) {
      is_uniform = load_is_uniform(a, expr);
    } else {
      for (uint32_t i = tsri_ir_operands(expr); i-- > 0;)
        is_uniform = is_uniform && tsri_expr_at(c, expr->args[i])->is_uniform;
    }
    expr->is_uniform = is_uniform;
  }
}

static void vary(uniformity *a, bool *is_uniform) {
  if (*is_uniform) a->has_changed = true;
  *is_uniform = false;
}

static void vary_local(uniformity *a, uint32_t array) {
  if (!a->local_varies[array]) a->has_changed = true;
  a->local_varies[array] = true;
}

static uint32_t local_slot(const uniformity *a, uint32_t array) { return a->c->vars.count + array; }

// Notes which variables and local arrays an expression reads.
static void note_reads(const uniformity *a, uint32_t id, uint32_t where) {
  const tsri_ir_expr *expr = tsri_expr_at(a->c, id);
  if (!id) return;
  if (expr->kind == TSRI_EXPR_VAR) note_use(a, expr->object, where, false);
  if (expr->kind == TSRI_EXPR_LOAD && expr->space == TSRI_SPACE_LOCAL) {
    note_use(a, local_slot(a, expr->object), where, false);
  }
  for (uint32_t i = tsri_ir_operands(expr); i-- > 0;) note_reads(a, expr->args[i], where);
}

// At the end of a pass: marks the variables and local arrays as varying that only some of the items using them have assigned.
static void judge_homes(uniformity *a) {
  tsri_checker *c = a->c;
  for (uint32_t slot = 1; slot < c->vars.count + c->arrays[TSRI_SPACE_LOCAL].count; slot++) {
    const home *h = &a->homes[slot];
    if (!h->assigned || (!h->is_torn && h->assigned == h->region)) continue;
    if (slot < c->vars.count) {
      vary(a, &tsri_var_at(c, slot)->is_uniform);
    } else {
      vary_local(a, slot - c->vars.count);
    }
  }
}

// --- Messages -------------------------------------------------------------------------------------------------------

// The first leaf of the expression that differs between items; 0: none.
static uint32_t varying_leaf(const tsri_checker *c, uint32_t id) {
  const tsri_ir_expr *expr = tsri_expr_at(c, id);
  if (!id || expr->is_uniform) return 0;
  for (uint32_t i = 0; i < tsri_ir_operands(expr); i++) {
    uint32_t found = varying_leaf(c, expr->args[i]);
    if (found) return found;
  }
  return id;
}

static void note_cause(tsri_checker *c, const flow *why) {
  static const char *const whats[] = {
      [BY_IF] = "this condition may differ between the items of a group",
      [BY_RETURN] = "some items of a group may return here",
      [BY_LOOP] = "the number of rounds of this loop may differ between the items of a group",
      [BY_BREAK] = "some items of a group may leave the loop here",
      [BY_CONTINUE] = "some items of a group may go on to the next round here",
  };
  static const char axes[] = "xyz";
  uint32_t leaf = varying_leaf(c, why->condition);
  const tsri_ir_expr *expr = tsri_expr_at(c, leaf);
  const char *what = whats[why->kind];
  const char *var = leaf && expr->kind == TSRI_EXPR_VAR ? tsri_var_at(c, expr->object)->name : tsri_temp_name;
  if (leaf && expr->kind == TSRI_EXPR_ID) {
    const tsri_ir_id_info *info = &tsri_ir_id_infos[expr->op];
    tsri_diag_note(c->diag, why->pos, "%s: it depends on %s%.*s", what, info->spelling, info->has_axis ? 2 : 0,
                   (const char[]){'.', axes[expr->lane]});
  } else if (var != tsri_temp_name && var != tsri_flag_name) {
    tsri_diag_note(c->diag, why->pos, "%s: it depends on '%s'", what, var);
  } else if (leaf && expr->kind == TSRI_EXPR_LOAD) {
    tsri_diag_note(c->diag, why->pos, "%s: it depends on an element of '%s'", what,
                   tsri_array_at(c, expr->space, expr->object)->name);
  } else {
    tsri_diag_note(c->diag, why->pos, "%s", what);
  }
}

static const char *spelling_of(const tsri_ir_stmt *stmt) {
  switch (stmt->kind) {
    case TSRI_STMT_BARRIER:
      return "barrier";
    case TSRI_STMT_COLLECTIVE:
      return tsri_ir_collective_infos[stmt->op].spelling;
#define TSRI_X(name, spelling, least, most, form) \
  case TSRI_STMT_FRAGMENT_##name:                 \
    return spelling;
      TSRI_IR_FRAGMENT_OPS(TSRI_X)
#undef TSRI_X
    default:
      return "this";
  }
}

static void report(uniformity *a, const tsri_ir_stmt *stmt, const flow *why) {
  static const char *const hints[] = {
      [BY_IF] = "move it out of the if; items with nothing to do can pass on a neutral value",
      [BY_RETURN] = "predicate the store instead of returning early: if (i < n) { … } around what only some items do",
      [BY_LOOP] = "let every item run the same number of rounds, and test inside the loop",
      [BY_BREAK] = "leave the loop together: break when group_any(…) or group_all(…) says so",
      [BY_CONTINUE] = "put the rest of the body into an if, and this after it",
  };
  tsri_checker *c = a->c;
  tsri_diag_error(c->diag, stmt->pos, "%s() stands where not all items of a group arrive", spelling_of(stmt));
  note_cause(c, why);
  tsri_diag_hint(c->diag, "%s", hints[why->kind]);
}

// Barriers, collective operations and matrix fragments: all items of the group must arrive.
static void expect_all_items(uniformity *a, const tsri_ir_stmt *stmt, const flow *at) {
  if (at->region == ROOT) return;
  a->has_mistakes = true;
  if (a->reports) report(a, stmt, at);
}

// --- Statements -----------------------------------------------------------------------------------------------------

static bool walk_block(uniformity *a, uint32_t first, flow at, loop *around);

static bool is_uniform_expr(const uniformity *a, uint32_t id) { return !id || tsri_expr_at(a->c, id)->is_uniform; }

// The state `from` inside a new region.
static flow part(uniformity *a, flow from, cause_kind kind, tsri_ir_pos pos, uint32_t condition) {
  uint32_t inner = new_region(a, from.region);
  if (from.region != ROOT) {  // diagnostics explain the first separation
    from.region = inner;
    return from;
  }
  return (flow){inner, kind, pos, condition};
}

static void walk_simple(uniformity *a, const tsri_ir_stmt *stmt, const flow *at) {
  tsri_checker *c = a->c;
  bool is_uniform = is_uniform_expr(a, stmt->value) && is_uniform_expr(a, stmt->index);
  bool is_local = stmt->space == TSRI_SPACE_LOCAL && (stmt->kind == TSRI_STMT_STORE || stmt->kind == TSRI_STMT_CLEAR);
  bool varies =
      stmt->kind == TSRI_STMT_ATOMIC ||
      (stmt->kind == TSRI_STMT_COLLECTIVE && tsri_ir_collective_infos[stmt->op].scope == TSRI_SCOPE_SUBGROUP) ||
      (stmt->kind == TSRI_STMT_ASSIGN && !is_uniform);
  note_reads(a, stmt->value, at->region);
  note_reads(a, stmt->index, at->region);
  note_reads(a, stmt->compare, at->region);
  if (stmt->var) note_use(a, stmt->var, at->region, true);
  if (stmt->var && varies) vary(a, &tsri_var_at(c, stmt->var)->is_uniform);
  if (!is_local) return;
  note_use(a, local_slot(a, stmt->object), at->region, true);
  if (!is_uniform) vary_local(a, stmt->object);
}

static bool walk_if(uniformity *a, const tsri_ir_stmt *stmt, flow at, loop *around) {
  note_reads(a, stmt->value, at.region);
  if (is_uniform_expr(a, stmt->value)) {
    bool has_barrier = walk_block(a, stmt->body, at, around);
    return walk_block(a, stmt->other, at, around) || has_barrier;
  }
  cause_kind kind = stmt->op ? BY_RETURN : BY_IF;
  bool has_barrier = walk_block(a, stmt->body, part(a, at, kind, stmt->pos, stmt->value), around);
  return walk_block(a, stmt->other, part(a, at, kind, stmt->pos, stmt->value), around) || has_barrier;
}

static bool walk_loop(uniformity *a, uint32_t id, flow at) {
  tsri_ir_stmt stmt = *tsri_stmt_at(a->c, id);
  if (!is_uniform_expr(a, stmt.value)) {
    at = part(a, at, BY_LOOP, tsri_expr_at(a->c, stmt.value)->pos, stmt.value);
  } else if (stmt.op) {
    // `op` records a divergent break that an earlier pass found, `object` and `index` where it was.
    at = part(a, at, BY_BREAK, stmt.object, stmt.index);
  }
  note_reads(a, stmt.value, at.region);
  loop inner = {.body = at.region};
  bool has_barrier = walk_block(a, stmt.body, at, &inner);
  if (inner.has_divergent_break && !stmt.op) {
    tsri_ir_stmt *changed = tsri_stmt_at(a->c, id);
    changed->op = 1;
    changed->object = inner.cause.pos;
    changed->index = inner.cause.condition;
    a->has_changed = true;
  }
  return walk_block(a, stmt.other, at, NULL) || has_barrier;
}

static void walk_jump(const tsri_ir_stmt *stmt, const flow *at, loop *around) {
  if (!around || at->region == around->body) return;  // all items in the loop take this exit
  bool is_break = stmt->kind == TSRI_STMT_BREAK;
  around->has_divergent_break = around->has_divergent_break || is_break;
  around->exits++;
  around->cause = (flow){0, is_break ? BY_BREAK : BY_CONTINUE, stmt->pos, at->condition};
}

static bool walk_block(uniformity *a, uint32_t first, flow at, loop *around) {
  bool has_any = false;
  for (uint32_t id = first; id; id = tsri_stmt_at(a->c, id)->next) {
    tsri_ir_stmt *stmt = tsri_stmt_at(a->c, id);
    uint32_t exits = around ? around->exits : 0;
    bool has_barrier = false;
    stmt->is_uniform = at.region == ROOT;
    switch (stmt->kind) {
      case TSRI_STMT_IF:
        has_barrier = walk_if(a, stmt, at, around);
        break;
      case TSRI_STMT_LOOP:
        has_barrier = walk_loop(a, id, at);
        break;
      case TSRI_STMT_BREAK:
      case TSRI_STMT_CONTINUE:
        walk_jump(stmt, &at, around);
        break;
      case TSRI_STMT_BARRIER:
      case TSRI_STMT_COLLECTIVE:
        has_any = true;
        expect_all_items(a, stmt, &at);
        walk_simple(a, stmt, &at);
        break;
      case TSRI_STMT_FRAGMENT_FILL:
      case TSRI_STMT_FRAGMENT_LOAD:
      case TSRI_STMT_FRAGMENT_STORE:
      case TSRI_STMT_FRAGMENT_MULTIPLY_ADD:
        expect_all_items(a, stmt, &at);
        walk_simple(a, stmt, &at);
        break;
      default:
        walk_simple(a, stmt, &at);
    }
    stmt->has_barrier = has_barrier;
    has_any = has_any || has_barrier;
    if (around && around->exits != exits)
      at = part(a, at, around->cause.kind, around->cause.pos, around->cause.condition);
  }
  return has_any;
}

// Clears `op`, `object` and `index` of IF and LOOP, which held notes of the passes and of check_stmt.c.
static void forget_notes(tsri_checker *c) {
  for (uint32_t id = 1; id < c->stmts.count; id++) {
    tsri_ir_stmt *stmt = tsri_stmt_at(c, id);
    if (stmt->kind == TSRI_STMT_IF || stmt->kind == TSRI_STMT_LOOP) stmt->op = 0, stmt->object = 0, stmt->index = 0;
  }
}

static void give_up(uniformity *a) {
  tsri_checker *c = a->c;
  for (uint32_t i = 1; i < c->vars.count; i++) vary(a, &tsri_var_at(c, i)->is_uniform);
  for (uint32_t i = 1; i < c->arrays[TSRI_SPACE_LOCAL].count; i++) vary_local(a, i);
  for (uint32_t i = 1; i < c->stmts.count; i++) {
    if (tsri_stmt_at(c, i)->kind == TSRI_STMT_LOOP) tsri_stmt_at(c, i)->op = 1;
  }
}

static void one_pass(uniformity *a, uint32_t body) {
  size_t slots = (size_t)a->c->vars.count + a->c->arrays[TSRI_SPACE_LOCAL].count;
  a->has_changed = false;
  a->regions.count = ROOT;
  (void)new_region(a, 0);
  memset(a->homes, 0, slots * sizeof *a->homes);
  sweep_values(a);
  walk_block(a, body, (flow){.region = ROOT}, NULL);
  judge_homes(a);
}

bool tsri_check_uniform(tsri_checker *c, uint32_t body) {
  uint32_t local_count = c->arrays[TSRI_SPACE_LOCAL].count;
  size_t slots = (size_t)c->vars.count + local_count;
  uniformity a = {.c = c};
  bool ok = tsri_item_array_init(&a.regions, sizeof(region), 32, UINT32_MAX);
  char *memory = tsri_calloc(1, slots * sizeof(home) + local_count);
  ok = ok && memory;
  a.homes = (home *)memory;
  a.local_varies = ok ? (bool *)(memory + slots * sizeof(home)) : NULL;
  for (uint32_t i = 1; i < c->vars.count; i++) tsri_var_at(c, i)->is_uniform = true;
  for (int pass = 0; ok && (pass == 0 || a.has_changed); pass++) {
    if (pass == MOST_PASSES) give_up(&a);
    one_pass(&a, body);
    ok = !a.regions.has_failed;
  }
  if (ok && a.has_mistakes) {
    a.reports = true;
    one_pass(&a, body);
  }
  if (ok) forget_notes(c);
  tsri_free(memory);
  tsri_item_array_deinit(&a.regions);
  return ok;
}
