// SPDX-License-Identifier: MIT
// Statements of the C family, as each item runs them.
#include "lang/emit/c/c.h"

static void put_var(void *emitter, tsri_builder *out, uint32_t var) { tsri_c_put_var(emitter, out, var); }

static void put_array(void *emitter, tsri_builder *out, tsri_ir_space space, uint32_t object) {
  tsri_c_put_array(emitter, out, space, object);
}

static void put_expr(void *emitter, tsri_builder *out, uint32_t expr, bool is_bare) {
  (void)out;  // expressions stand in the body alone
  tsri_c_put_expr(emitter, expr, is_bare);
}

static int indentation(const void *emitter) { return ((const tsri_c_emitter *)emitter)->indent; }

static const tsri_phrase_dialect phrases = {put_var, put_array, put_expr, indentation};

void tsri_c_put(tsri_c_emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tsri_phrase_put(&phrases, e, &e->body, format, args);
  va_end(args);
}

void tsri_c_define_phrase(tsri_c_emitter *e, const char *name, const char *format, ...) {
  tsri_builder text = {0};
  va_list args;
  va_start(args, format);
  tsri_phrase_put(&phrases, e, &text, format, args);
  va_end(args);
  tsri_c_define(e, name, &text);
  tsri_builder_deinit(&text);
}

bool tsri_c_enter(tsri_c_emitter *e) {
  if (e->depth >= TSRI_C_MAX_DEPTH) {
    e->is_too_deep = true;
    return false;
  }
  e->depth++;
  return true;
}

void tsri_c_leave(tsri_c_emitter *e) { e->depth--; }

// --- Simple statements ----------------------------------------------------------------------------------------------

static void put_one_store(tsri_c_emitter *e, const tsri_ir_stmt *stmt, tsri_ir_space space, tsr_dtype storage) {
  if (tsri_c_is_half_pointer(e, storage)) {
    tsri_c_put(e, "vstore_half_rte(%b, %b, (%shalf *)%a);\n", stmt->value, stmt->index, e->spell->space[space], space,
               stmt->object);
    return;
  }
  tsri_c_put(e, "%a[%b] = ", space, stmt->object, stmt->index);
  tsri_c_put_pattern(e, tsri_c_encode_pattern(storage), TSR_F32, &stmt->value, true);
  tsri_c_put(e, ";\n");
}

static void put_store(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(e->kernel, space, stmt->object)->storage;
  uint32_t lanes = e->kernel->exprs[stmt->value].type.lanes;
  if (lanes == 1) {
    put_one_store(e, stmt, space, storage);
  } else {
    tsri_c_name name = tsri_c_store(e, space, storage, lanes);
    tsri_c_put(e, "%s(%a, %b, %b);\n", name.text, space, stmt->object, stmt->index, stmt->value);
  }
}

static void put_atomic(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  tsr_dtype dtype = (tsr_dtype)tsri_ir_array_of(e->kernel, space, stmt->object)->storage;
  tsri_c_name name = tsri_c_atomic(e, (tsri_ir_atomic)stmt->op, space, dtype);
  tsri_c_put(e, stmt->var ? "%v = " : "(void)", stmt->var);
  tsri_c_put(e, "%s(%a, %b", name.text, space, stmt->object, stmt->index);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) tsri_c_put(e, ", %b", stmt->compare);
  tsri_c_put(e, ", %b);\n", stmt->value);
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

// Can the step stand in the head of a for?
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

// A step that is more than assignments follows the body. A CONTINUE must still reach it: then the body stands in a
// do … while (false), where `continue` goes to its end and a BREAK leaves a flag.
void tsri_c_put_loop(tsri_c_emitter *e, uint32_t index) {
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

void tsri_c_put_stmt(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  tsri_c_put(e, "%i");
  switch (stmt->kind) {
    case TSRI_STMT_ASSIGN:
      tsri_c_put(e, "%v = %b;\n", stmt->var, stmt->value);
      break;
    case TSRI_STMT_STORE:
      put_store(e, stmt);
      break;
    case TSRI_STMT_CLEAR:
      tsri_c_put(e, "for (u32 tsr_i = 0; tsr_i < %uu; tsr_i++) %a[tsr_i] = 0;\n", e->kernel->locals[stmt->object].count,
                 TSRI_SPACE_LOCAL, stmt->object);
      break;
    case TSRI_STMT_IF:
      put_if(e, stmt);
      break;
    case TSRI_STMT_LOOP:
      tsri_c_put_loop(e, index);
      break;
    case TSRI_STMT_BREAK:
      put_break(e);
      break;
    case TSRI_STMT_CONTINUE:
      tsri_c_put(e, "continue;\n");
      break;
    case TSRI_STMT_BARRIER:
      tsri_c_put(e, "%s;\n", tsri_ir_shares_buffers(e->kernel) ? e->spell->barrier : e->spell->shared_barrier);
      break;
    case TSRI_STMT_ATOMIC:
      put_atomic(e, stmt);
      break;
    case TSRI_STMT_COLLECTIVE:
      tsri_c_put_collective(e, stmt);
      break;
    case TSRI_STMT_FRAGMENT_FILL:
    case TSRI_STMT_FRAGMENT_LOAD:
    case TSRI_STMT_FRAGMENT_STORE:
    case TSRI_STMT_FRAGMENT_MULTIPLY_ADD:
      tsri_c_put_fragment_stmt(e, stmt);
      break;
    default:
      tsri_c_put(e, ";\n");
      break;
  }
}

void tsri_c_put_block(tsri_c_emitter *e, uint32_t first) {
  if (!tsri_c_enter(e)) return;
  e->indent++;
  for (uint32_t i = first; i; i = e->kernel->stmts[i].next) tsri_c_put_stmt(e, i);
  e->indent--;
  tsri_c_leave(e);
}
