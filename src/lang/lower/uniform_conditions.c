// SPDX-License-Identifier: MIT
// The analysis repeats WGSL's own: it must not know more than that does.
#include "lang/lower/uniform_conditions.h"

#include "core/error.h"
#include "lang/lower/collectives.h"
#include "lang/lower/hoist_build.h"

#define DECIDED_BY_ONE 1u  // IF or LOOP: its condition must be the same for all items, but WGSL cannot see that it is
#define DIVERGES       2u  // LOOP: items may leave or skip at different times

typedef struct condition_analysis {
  const tsri_kernel *kernel;
  uint8_t *expr_varies, *var_varies;  // may differ between items, as far as WGSL knows
  uint8_t *stmt_flags;
  bool has_changed, has_found;
} condition_analysis;

// Where the walk is.
typedef struct condition_flow {
  bool varies;        // only some of the items may be here
  uint32_t loop;      // innermost; 0: none
  bool guards_break;  // that loop has a barrier, so that leaving it must be uniform
} condition_flow;

static bool leaf_varies(const condition_analysis *a, const tsri_ir_expr *x) {
  if (x->kind == TSRI_EXPR_VAR) return a->var_varies[x->object];
  return x->kind == TSRI_EXPR_ID && !tsri_ir_id_infos[x->op].is_uniform;
}

static bool expr_varies(const condition_analysis *a, const tsri_ir_expr *x) {
  switch (x->kind) {
    case TSRI_EXPR_NONE:
    case TSRI_EXPR_CONST:
    case TSRI_EXPR_SCALAR:
      return false;
    case TSRI_EXPR_VAR:
    case TSRI_EXPR_ID:
      return leaf_varies(a, x);
    case TSRI_EXPR_LOAD:
      if (x->op == TSRI_LOAD_FOR_ALL) return false;
      return x->space != TSRI_SPACE_BUFFER || a->kernel->buffers[x->object].access != TSRI_ACCESS_IN ||
             a->expr_varies[x->a];
    default:
      break;
  }
  for (int i = 0; i < 4; i++) {
    if (a->expr_varies[x->args[i]]) return true;
  }
  return false;
}

static void find_exprs(condition_analysis *a) {
  const tsri_kernel *k = a->kernel;
  for (uint32_t i = 1; i < k->expr_count; i++) {
    a->expr_varies[i] = k->exprs[i].kind != TSRI_EXPR_CONST && expr_varies(a, &k->exprs[i]);
  }
}

static void mark_var(condition_analysis *a, uint32_t var) {
  if (var == 0 || a->var_varies[var]) return;
  a->var_varies[var] = 1;
  a->has_changed = true;
}

static void mark_stmt(condition_analysis *a, uint32_t stmt, uint8_t flag) {
  if (stmt == 0 || (a->stmt_flags[stmt] & flag)) return;
  a->stmt_flags[stmt] |= flag;
  a->has_changed = true;
  a->has_found |= flag == DECIDED_BY_ONE;
}

// Is there a BREAK or CONTINUE of the loop around it?
static bool has_jump(const tsri_kernel *k, uint32_t first) {
  for (uint32_t i = first; i; i = k->stmts[i].next) {
    const tsri_ir_stmt *s = &k->stmts[i];
    if (s->kind == TSRI_STMT_BREAK || s->kind == TSRI_STMT_CONTINUE) return true;
    if (s->kind == TSRI_STMT_IF && (has_jump(k, s->body) || has_jump(k, s->other))) return true;
  }
  return false;
}

static void walk(condition_analysis *a, uint32_t first, condition_flow at);

static void walk_if(condition_analysis *a, uint32_t index, condition_flow at) {
  const tsri_kernel *k = a->kernel;
  const tsri_ir_stmt *s = &k->stmts[index];
  bool must = s->has_barrier || (at.guards_break && (has_jump(k, s->body) || has_jump(k, s->other)));
  if (a->expr_varies[s->value]) {
    if (must) {
      mark_stmt(a, index, DECIDED_BY_ONE);
    } else {
      at.varies = true;
    }
  }
  walk(a, s->body, at);
  walk(a, s->other, at);
}

static void walk_loop(condition_analysis *a, uint32_t index, condition_flow at) {
  const tsri_ir_stmt *s = &a->kernel->stmts[index];
  bool varies = s->value && a->expr_varies[s->value];
  if (varies && s->has_barrier) mark_stmt(a, index, DECIDED_BY_ONE);
  at.varies |= (varies && !s->has_barrier) || (a->stmt_flags[index] & DIVERGES);
  at.loop = index;
  at.guards_break = s->has_barrier;
  walk(a, s->body, at);
  walk(a, s->other, at);
}

static void walk(condition_analysis *a, uint32_t first, condition_flow at) {
  const tsri_kernel *k = a->kernel;
  for (uint32_t i = first; i; i = k->stmts[i].next) {
    const tsri_ir_stmt *s = &k->stmts[i];
    switch (s->kind) {
      case TSRI_STMT_ASSIGN:
        if (at.varies || a->expr_varies[s->value]) mark_var(a, s->var);
        break;
      case TSRI_STMT_ATOMIC:
      case TSRI_STMT_COLLECTIVE:
        mark_var(a, s->var);
        break;
      case TSRI_STMT_BREAK:
      case TSRI_STMT_CONTINUE:
        if (at.varies) mark_stmt(a, at.loop, DIVERGES);
        break;
      case TSRI_STMT_IF:
        walk_if(a, i, at);
        break;
      case TSRI_STMT_LOOP:
        walk_loop(a, i, at);
        break;
      default:
        break;
    }
  }
}

static void analyse(condition_analysis *a) {
  for (a->has_changed = true; a->has_changed;) {
    a->has_changed = false;
    find_exprs(a);
    walk(a, a->kernel->body, (condition_flow){0});
  }
}

// --- Writing ----------------------------------------------------------------------------------------------------------

static void add_shared_word(hoister *h) {
  h->shared[h->shared_count++] = (tsri_ir_array){.name = "decision",
                                                 .storage = TSR_U32,
                                                 .is_loaded = true,
                                                 .is_stored = true,
                                                 .count = 1,
                                                 .dim_count = 1,
                                                 .dims = {1}};
}

// if (item == 0) decision = u32(value); and its load for all.
static uint32_t lower_condition(hoister *h, uint32_t index, uint32_t value, list *before) {
  rewriter *w = &h->w;
  const condition_analysis *a = h->context;
  if (!(a->stmt_flags[index] & DECIDED_BY_ONE)) return value;
  uint32_t place = h->shared_count - 1;
  uint32_t is_first = test(w, TSRI_OP_EQ, tsri_hoist_item_number(h, before), number(w, 0));
  tsri_ir_stmt store = {.kind = TSRI_STMT_STORE,
                        .space = TSRI_SPACE_SHARED,
                        .object = place,
                        .index = number(w, 0),
                        .value = cast(w, value, TSRI_EXPR_CONVERT, u32_type)};
  append(w, before, put_if(w, NULL, is_first, put_stmt(w, store), 0));
  tsri_ir_expr load = {.kind = TSRI_EXPR_LOAD,
                       .op = TSRI_LOAD_FOR_ALL,
                       .space = TSRI_SPACE_SHARED,
                       .dtype = TSR_U32,
                       .is_uniform = true,
                       .type = u32_type,
                       .object = place,
                       .a = number(w, 0)};
  return test(w, TSRI_OP_NE, put(w, load), number(w, 0));
}

tsr_status tsri_lower_uniform_conditions(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.condition = lower_condition};
  *out_kernel = NULL;
  if (!(kernel->needs & TSRI_NEEDS_BARRIER)) return TSR_OK;
  condition_analysis a = {.kernel = kernel,
                          .expr_varies = tsri_calloc(kernel->expr_count + 1u, 1),
                          .var_varies = tsri_calloc(kernel->var_count + 1u, 1),
                          .stmt_flags = tsri_calloc(kernel->stmt_count + 1u, 1)};
  bool has_memory = a.expr_varies && a.var_varies && a.stmt_flags;
  if (has_memory) analyse(&a);
  tsr_status status = TSR_OK;
  if (!has_memory) status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to look at it", kernel->variant);
  else if (a.has_found) status = tsri_hoist(kernel, &pass, add_shared_word, &a, out_kernel);
  tsri_free(a.expr_varies);
  tsri_free(a.var_varies);
  tsri_free(a.stmt_flags);
  return status;
}
