// SPDX-License-Identifier: MIT
// Which conditions WGSL takes for uniform. It refuses a barrier where its own analysis cannot see that all items of a group
// arrive, and that analysis knows less than ours: what comes from memory that is written counts as varying.
//
// This one knows no more than WGSL's. Where it finds that a condition around a barrier varies, item 0 decides for all
// through workgroupUniformLoad (emit/wgsl/stmt.c): the checked form promises that they agree.
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/collectives.h"

#define LOADS_UNIFORM 1u  // of a statement: as tsri_wgsl.loads_uniform says
#define DIVERGES      2u  // LOOP: items may leave or skip at different times

typedef struct analysis {
  tsri_wgsl *w;
  uint8_t *expr_varies;
  bool has_changed;
} analysis;

// Where the walk is.
typedef struct flow {
  bool varies;        // only some of the items may be here
  uint32_t loop;      // innermost; 0: none
  bool guards_break;  // that loop has a barrier, so that leaving it must be uniform
} flow;

static bool leaf_varies(const analysis *a, const tsri_ir_expr *x) {
  if (x->kind == TSRI_EXPR_VAR) return a->w->varies[x->object];
  return x->kind == TSRI_EXPR_ID && !tsri_ir_id_infos[x->op].is_uniform;
}

static bool expr_varies(const analysis *a, const tsri_ir_expr *x) {
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
      return x->space != TSRI_SPACE_BUFFER || a->w->kernel->buffers[x->object].access != TSRI_ACCESS_IN ||
             a->expr_varies[x->a];
    default:
      break;
  }
  for (int i = 0; i < 4; i++) {
    if (a->expr_varies[x->args[i]]) return true;
  }
  return false;
}

static void find_exprs(analysis *a) {
  const tsri_kernel *k = a->w->kernel;
  for (uint32_t i = 1; i < k->expr_count; i++) {
    a->expr_varies[i] = k->exprs[i].kind != TSRI_EXPR_CONST && expr_varies(a, &k->exprs[i]);
  }
}

static void mark_var(analysis *a, uint32_t var) {
  if (var == 0 || a->w->varies[var]) return;
  a->w->varies[var] = 1;
  a->has_changed = true;
}

static void mark_stmt(analysis *a, uint32_t stmt, uint8_t flag) {
  if (stmt == 0 || (a->w->loads_uniform[stmt] & flag)) return;
  a->w->loads_uniform[stmt] |= flag;
  a->has_changed = true;
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

static void walk(analysis *a, uint32_t first, flow at);

static void walk_if(analysis *a, uint32_t index, flow at) {
  const tsri_kernel *k = a->w->kernel;
  const tsri_ir_stmt *s = &k->stmts[index];
  bool must = s->has_barrier || (at.guards_break && (has_jump(k, s->body) || has_jump(k, s->other)));
  if (a->expr_varies[s->value]) {
    if (must) {
      mark_stmt(a, index, LOADS_UNIFORM);
    } else {
      at.varies = true;
    }
  }
  walk(a, s->body, at);
  walk(a, s->other, at);
}

static void walk_loop(analysis *a, uint32_t index, flow at) {
  const tsri_ir_stmt *s = &a->w->kernel->stmts[index];
  bool varies = s->value && a->expr_varies[s->value];
  if (varies && s->has_barrier) mark_stmt(a, index, LOADS_UNIFORM);
  at.varies |= (varies && !s->has_barrier) || (a->w->loads_uniform[index] & DIVERGES);
  at.loop = index;
  at.guards_break = s->has_barrier;
  walk(a, s->body, at);
  walk(a, s->other, at);
}

static void walk(analysis *a, uint32_t first, flow at) {
  const tsri_kernel *k = a->w->kernel;
  for (uint32_t i = first; i; i = k->stmts[i].next) {
    const tsri_ir_stmt *s = &k->stmts[i];
    switch (s->kind) {
      case TSRI_STMT_ASSIGN:
        if (at.varies || a->expr_varies[s->value]) mark_var(a, s->var);
        break;
      case TSRI_STMT_ATOMIC:
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

void tsri_wgsl_find_uniform(tsri_wgsl *w) {
  if (!(w->kernel->needs & TSRI_NEEDS_BARRIER)) return;
  analysis a = {.w = w, .expr_varies = tsri_calloc(w->kernel->expr_count + 1u, 1), .has_changed = true};
  if (!a.expr_varies) {
    w->is_out_of_memory = true;
    return;
  }
  while (a.has_changed) {
    a.has_changed = false;
    find_exprs(&a);
    walk(&a, w->kernel->body, (flow){0});
  }
  tsri_free(a.expr_varies);
}
