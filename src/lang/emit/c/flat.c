// SPDX-License-Identifier: MIT
// Control flow around barriers without putting the barriers under conditions (option `flat_barriers`).
//
// The language lets a barrier stand in an if or after a continue when all items of the group decide alike. PoCL 3.1
// compiles that wrongly: in the branch with the barrier it decides later conditions once, for the first item. So here
//
//   if (c) { a; barrier(); b; }      becomes      on = c; if (on) a; barrier(); if (on) b;
//
// and a loop whose body has jumps keeps two flags: `on`, until a jump, and `go`, until a break. Barriers then run once more
// than needed, which is harmless: all items run them. There are no collectives left here (lower/collectives.h).
#include <inttypes.h>
#include <stdio.h>

#include "lang/emit/c/c.h"

static tsri_c_predicate *innermost(tsri_c_emitter *e) {
  return e->predicate_count ? &e->predicates[e->predicate_count - 1] : NULL;
}

static void put_flag(tsri_c_emitter *e, tsri_c_predicate flag) {
  tsri_c_addf(&e->body, "tsr_%s_%" PRIu32, flag.kind, flag.stmt);
}

// "if (flag) {", or "{" where everything runs.
static void begin_if_on(tsri_c_emitter *e) {
  tsri_c_put_indent(e);
  if (innermost(e)) {
    tsri_c_add(&e->body, "if (");
    put_flag(e, *innermost(e));
    tsri_c_add(&e->body, ") ");
  }
  tsri_c_add(&e->body, "{\n");
  e->indent++;
}

static void end_if_on(tsri_c_emitter *e) {
  e->indent--;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "}\n");
}

static bool push_flag(tsri_c_emitter *e, tsri_c_predicate flag) {
  if (e->predicate_count >= TSRI_C_MAX_DEPTH) {
    e->is_too_deep = true;
    return false;
  }
  e->predicates[e->predicate_count++] = flag;
  return true;
}

// Statements under one more flag.
static void put_under(tsri_c_emitter *e, tsri_c_predicate flag, uint32_t first) {
  if (!first || !push_flag(e, flag)) return;
  tsri_c_put_flat_block(e, first);
  e->predicate_count--;
}

static void put_flat_if(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  tsri_c_predicate yes = {"on", index}, no = {"else", index};
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "bool tsr_on_%" PRIu32 " = false, tsr_else_%" PRIu32 " = false;\n", index, index);
  begin_if_on(e);
  tsri_c_put_cuts(e, stmt->value);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "tsr_on_%" PRIu32 " = ", index);
  tsri_c_put_expr_bare(e, stmt->value);
  tsri_c_add(&e->body, ";\n");
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "tsr_else_%" PRIu32 " = !tsr_on_%" PRIu32 ";\n", index, index);
  end_if_on(e);
  put_under(e, yes, stmt->body);
  put_under(e, no, stmt->other);
}

static void put_flat_loop(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  tsri_c_predicate on = {"on", index}, go = {"go", index};
  uint32_t outer_loop = e->loop, outer_count = e->predicate_count;
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "bool tsr_go_%" PRIu32 " = ", index);
  if (innermost(e)) {
    put_flag(e, *innermost(e));
  } else {
    tsri_c_add(&e->body, "true");
  }
  tsri_c_add(&e->body, ";\n");
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "for (;;) {\n");
  if (!push_flag(e, go)) return;
  e->indent++;
  e->loop = index;
  if (stmt->value) {
    begin_if_on(e);
    tsri_c_put_cuts(e, stmt->value);
    tsri_c_put_indent(e);
    tsri_c_addf(&e->body, "tsr_go_%" PRIu32 " = ", index);
    tsri_c_put_expr_bare(e, stmt->value);
    tsri_c_add(&e->body, ";\n");
    end_if_on(e);
  }
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "if (!tsr_go_%" PRIu32 ") break;\n", index);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "bool tsr_on_%" PRIu32 " = true;\n", index);
  put_under(e, on, stmt->body);
  tsri_c_put_flat_block(e, stmt->other);  // the step, also after a continue
  e->predicate_count = outer_count;
  e->loop = outer_loop;
  end_if_on(e);
}

// Takes back every flag from here out to the loop's.
static void put_flat_jump(tsri_c_emitter *e, bool is_break) {
  begin_if_on(e);
  for (uint32_t i = e->predicate_count; i > 0; i--) {
    tsri_c_predicate flag = e->predicates[i - 1];
    bool is_go = flag.kind[0] == 'g';
    if (!is_go || is_break) {
      tsri_c_put_indent(e);
      put_flag(e, flag);
      tsri_c_add(&e->body, " = false;\n");
    }
    if (is_go) break;
  }
  end_if_on(e);
}

void tsri_c_put_flat_stmt(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  bool has_jump = (e->stmt_flags[index] & TSRI_C_HAS_JUMP) != 0;
  switch (stmt->kind) {
    case TSRI_STMT_IF:
      put_flat_if(e, index);
      break;
    case TSRI_STMT_LOOP:
      if (innermost(e) || has_jump) {
        put_flat_loop(e, index);
      } else {
        tsri_c_put_loop(e, index);
      }
      break;
    case TSRI_STMT_BREAK:
      put_flat_jump(e, true);
      break;
    case TSRI_STMT_CONTINUE:
      put_flat_jump(e, false);
      break;
    default:
      tsri_c_put_indent(e);
      tsri_c_addf(&e->body, "%s;\n", tsri_c_barrier(e));
      break;
  }
}

void tsri_c_put_flat_block(tsri_c_emitter *e, uint32_t first) {
  if (!tsri_c_enter(e)) return;
  bool is_open = false;
  for (uint32_t i = first; i; i = e->kernel->stmts[i].next) {
    bool is_collected = (e->stmt_flags[i] & TSRI_C_COLLECTED) != 0;
    if (is_collected && is_open) end_if_on(e);
    if (!is_collected && !is_open) begin_if_on(e);
    is_open = !is_collected;
    if (is_collected) {
      tsri_c_put_flat_stmt(e, i);
    } else {
      tsri_c_put_stmt(e, i);
    }
  }
  if (is_open) end_if_on(e);
  tsri_c_leave(e);
}
