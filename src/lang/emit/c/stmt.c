// SPDX-License-Identifier: MIT
// Statements of the C family, as each item runs them.
#include "lang/emit/c/c.h"

static void put_expr(void *emitter, tsri_builder *out, uint32_t expr, bool is_bare) {
  (void)out;  // expressions are only in the body
  tsri_c_put_expr(emitter, expr, is_bare);
}

static int indentation(const void *emitter) { return ((const tsri_c_emitter *)emitter)->indent; }

void tsri_c_put(tsri_c_emitter *e, const char *format, ...) {
  static const tsri_phrase_dialect phrases = {tsri_c_put_var, tsri_c_put_array, put_expr, indentation};
  va_list args;
  va_start(args, format);
  tsri_phrase_put(&phrases, e, &e->body, format, args);
  va_end(args);
}

// --- Control flow ---------------------------------------------------------------------------------------------------

static void put_if(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_c_put(e, "if (%b) {\n", stmt->value);
  tsri_c_put_block(e, stmt->body);
  if (stmt->other) {
    tsri_c_put(e, "%i} else {\n");
    tsri_c_put_block(e, stmt->other);
  }
  tsri_c_put(e, "%i}\n");
}

// Whether the loop's step can be written in the head of a for.
static bool is_simple_step(const tsri_c_emitter *e, uint32_t first) {
  uint32_t count = 0;
  for (uint32_t i = first; i; i = e->kernel->stmts[i].next) {
    if (e->kernel->stmts[i].kind != TSRI_STMT_ASSIGN || ++count > 4) return false;
  }
  return true;
}

static void put_loop_head(tsri_c_emitter *e, const tsri_ir_stmt *stmt, bool has_step) {
  tsri_c_put(e, stmt->value ? "for (; %b;" : "for (;;", stmt->value);
  for (uint32_t i = has_step ? stmt->other : 0; i; i = e->kernel->stmts[i].next) {
    const tsri_ir_stmt *step = &e->kernel->stmts[i];
    tsri_c_put(e, "%s %v = %b", i == stmt->other ? "" : ",", step->var, step->value);
  }
  tsri_c_put(e, ") {\n");
}

// If the step is more than assignments, it is written after the body. A CONTINUE must still reach it: then the body is in a do … while (false), where
// `continue` jumps to its end, and a BREAK sets a flag.
static void put_loop(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  bool is_simple = is_simple_step(e, stmt->other);
  bool is_flagged = !is_simple && (e->stmt_flags[index] & TSRI_MARK_HAS_CONTINUE);
  uint32_t outer = e->loop;
  e->loop = index;
  put_loop_head(e, stmt, is_simple);
  if (is_flagged) {
    e->stmt_flags[index] |= TSRI_C_FLAGGED;
    e->indent++;
    tsri_c_put(e, "%ibool tsr_leave_%u = false;\n%ido {\n", index);
  }
  tsri_c_put_block(e, stmt->body);
  if (is_flagged) {
    tsri_c_put(e, "%i} while (false);\n%iif (tsr_leave_%u) break;\n", index);
    e->indent--;
  }
  e->loop = outer;
  if (!is_simple) tsri_c_put_block(e, stmt->other);
  tsri_c_put(e, "%i}\n");
}

static void put_break(tsri_c_emitter *e) {
  bool is_flagged = (e->stmt_flags[e->loop] & TSRI_C_FLAGGED) != 0;
  tsri_c_put(e, is_flagged ? "{ tsr_leave_%u = true; break; }\n" : "break;\n", e->loop);
}

// --- All of them ----------------------------------------------------------------------------------------------------

static void put_clear(tsri_c_emitter *e, uint32_t object) {
  tsri_c_put(e, "for (u32 tsr_i = 0; tsr_i < %uu; tsr_i++) %a[tsr_i] = 0;\n", e->kernel->locals[object].count,
             TSRI_SPACE_LOCAL, object);
}

static void put_barrier(tsri_c_emitter *e) {
  tsri_c_put(e, "%s;\n", tsri_ir_shares_buffers(e->kernel) ? e->spell->barrier : e->spell->shared_barrier);
}

void tsri_c_put_stmt(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  uint8_t kind = stmt->kind;
  tsri_c_put(e, "%i");
  if (kind == TSRI_STMT_ASSIGN) tsri_c_put(e, "%v = %b;\n", stmt->var, stmt->value);
  else if (kind == TSRI_STMT_STORE) tsri_c_put_store(e, stmt);
  else if (kind == TSRI_STMT_CLEAR) put_clear(e, stmt->object);
  else if (kind == TSRI_STMT_IF) put_if(e, stmt);
  else if (kind == TSRI_STMT_LOOP) put_loop(e, index);
  else if (kind == TSRI_STMT_BREAK) put_break(e);
  else if (kind == TSRI_STMT_CONTINUE) tsri_c_put(e, "continue;\n");
  else if (kind == TSRI_STMT_BARRIER) put_barrier(e);
  else if (kind == TSRI_STMT_ATOMIC) tsri_c_put_atomic(e, stmt);
  else if (kind == TSRI_STMT_COLLECTIVE) tsri_c_put_collective(e, stmt);
  else if (kind >= TSRI_STMT_FRAGMENT_FIRST) tsri_c_put_fragment_stmt(e, stmt);
  else tsri_c_put(e, ";\n");
}

void tsri_c_put_block(tsri_c_emitter *e, uint32_t first) {
  e->is_too_deep |= ++e->depth > TSRI_C_MAX_DEPTH;
  e->indent++;
  for (uint32_t i = first; i && !e->is_too_deep; i = e->kernel->stmts[i].next) tsri_c_put_stmt(e, i);
  e->indent--;
  e->depth--;
}
