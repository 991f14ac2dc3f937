// SPDX-License-Identifier: MIT
// Statements of the C family, as each item runs them.
#include <inttypes.h>

#include "lang/emit/c/c.h"

void tsri_c_put_indent(tsri_c_emitter *e) {
  for (int i = 0; i < e->indent && i < 40; i++) tsri_builder_string(&e->body, "  ");
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

// "sum_7 = …", without the semicolon.
static void put_assignment(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_c_put_var(e, &e->body, stmt->var);
  tsri_builder_string(&e->body, " = ");
  tsri_c_put_expr_bare(e, stmt->value);
}

static void put_plain_store(tsri_c_emitter *e, const tsri_ir_stmt *stmt, tsri_ir_space space, tsr_dtype storage) {
  if (tsri_c_is_half_pointer(e, storage)) {
    tsri_builder_string(&e->body, "vstore_half_rte(");
    tsri_c_put_expr_bare(e, stmt->value);
    tsri_builder_string(&e->body, ", ");
    tsri_c_put_expr_bare(e, stmt->index);
    tsri_builder_add(&e->body, ", (%shalf *)", e->spell->space[space]);
    tsri_c_put_array(e, &e->body, space, stmt->object);
    tsri_builder_string(&e->body, ");\n");
    return;
  }
  tsri_c_put_array(e, &e->body, space, stmt->object);
  tsri_builder_string(&e->body, "[");
  tsri_c_put_expr_bare(e, stmt->index);
  tsri_builder_string(&e->body, "] = ");
  tsri_c_put_pattern(e, tsri_c_encode_pattern(storage), TSR_F32, &stmt->value, true);
  tsri_builder_string(&e->body, ";\n");
}

static void put_store(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(e->kernel, space, stmt->object)->storage;
  uint32_t lanes = e->kernel->exprs[stmt->value].type.lanes;
  if (lanes == 1) {
    put_plain_store(e, stmt, space, storage);
    return;
  }
  tsri_c_name name = tsri_c_store(e, space, storage, lanes);
  tsri_builder_add(&e->body, "%s(", name.text);
  tsri_c_put_array(e, &e->body, space, stmt->object);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr_bare(e, stmt->index);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr_bare(e, stmt->value);
  tsri_builder_string(&e->body, ");\n");
}

static void put_clear(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_array *array = &e->kernel->locals[stmt->object];
  tsri_builder_add(&e->body, "for (u32 tsr_i = 0; tsr_i < %" PRIu32 "u; tsr_i++) ", array->count);
  tsri_c_put_array(e, &e->body, TSRI_SPACE_LOCAL, stmt->object);
  tsri_builder_string(&e->body, "[tsr_i] = 0;\n");
}

static void put_atomic(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_ir_space space = (tsri_ir_space)stmt->space;
  tsr_dtype dtype = (tsr_dtype)tsri_ir_array_of(e->kernel, space, stmt->object)->storage;
  tsri_c_name name = tsri_c_atomic(e, (tsri_ir_atomic)stmt->op, space, dtype);
  if (stmt->var) {
    tsri_c_put_var(e, &e->body, stmt->var);
    tsri_builder_string(&e->body, " = ");
  } else {
    tsri_builder_string(&e->body, "(void)");
  }
  tsri_builder_add(&e->body, "%s(", name.text);
  tsri_c_put_array(e, &e->body, space, stmt->object);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr_bare(e, stmt->index);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) {
    tsri_builder_string(&e->body, ", ");
    tsri_c_put_expr_bare(e, stmt->compare);
  }
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr_bare(e, stmt->value);
  tsri_builder_string(&e->body, ");\n");
}

// --- Control flow ---------------------------------------------------------------------------------------------------

static void put_if(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_builder_string(&e->body, "if (");
  tsri_c_put_expr_bare(e, stmt->value);
  tsri_builder_string(&e->body, ") {\n");
  tsri_c_put_block(e, stmt->body);
  if (stmt->other) {
    tsri_c_put_indent(e);
    tsri_builder_string(&e->body, "} else {\n");
    tsri_c_put_block(e, stmt->other);
  }
  tsri_c_put_indent(e);
  tsri_builder_string(&e->body, "}\n");
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
  tsri_builder_string(&e->body, "for (;");
  if (stmt->value) {
    tsri_builder_string(&e->body, " ");
    tsri_c_put_expr_bare(e, stmt->value);
  }
  tsri_builder_string(&e->body, ";");
  for (uint32_t i = has_step ? stmt->other : 0; i; i = e->kernel->stmts[i].next) {
    tsri_builder_string(&e->body, i == stmt->other ? " " : ", ");
    put_assignment(e, &e->kernel->stmts[i]);
  }
  tsri_builder_string(&e->body, ") {\n");
}

// A step that is more than assignments follows the body. A CONTINUE must still reach it: then the body stands in a
// do … while (false), where `continue` goes to its end and a BREAK leaves a flag.
void tsri_c_put_loop(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  bool is_simple = is_simple_step(e, stmt->other);
  bool is_flagged = !is_simple && (e->stmt_flags[index] & TSRI_C_HAS_CONTINUE);
  uint32_t outer = e->loop;
  e->loop = index;
  put_loop_head(e, stmt, is_simple);
  if (is_flagged) {
    e->stmt_flags[index] |= TSRI_C_FLAGGED;
    e->indent++;
    tsri_c_put_indent(e);
    tsri_builder_add(&e->body, "bool tsr_leave_%" PRIu32 " = false;\n", index);
    tsri_c_put_indent(e);
    tsri_builder_string(&e->body, "do {\n");
  }
  tsri_c_put_block(e, stmt->body);
  if (is_flagged) {
    tsri_c_put_indent(e);
    tsri_builder_string(&e->body, "} while (false);\n");
    tsri_c_put_indent(e);
    tsri_builder_add(&e->body, "if (tsr_leave_%" PRIu32 ") break;\n", index);
    e->indent--;
  }
  e->loop = outer;
  if (!is_simple) tsri_c_put_block(e, stmt->other);
  tsri_c_put_indent(e);
  tsri_builder_string(&e->body, "}\n");
}

static void put_break(tsri_c_emitter *e) {
  if (e->stmt_flags[e->loop] & TSRI_C_FLAGGED) {
    tsri_builder_add(&e->body, "{ tsr_leave_%" PRIu32 " = true; break; }\n", e->loop);
  } else {
    tsri_builder_string(&e->body, "break;\n");
  }
}

// --- All of them ----------------------------------------------------------------------------------------------------

void tsri_c_put_stmt(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  tsri_c_put_indent(e);
  switch (stmt->kind) {
    case TSRI_STMT_ASSIGN:
      put_assignment(e, stmt);
      tsri_builder_string(&e->body, ";\n");
      break;
    case TSRI_STMT_STORE:
      put_store(e, stmt);
      break;
    case TSRI_STMT_CLEAR:
      put_clear(e, stmt);
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
      tsri_builder_string(&e->body, "continue;\n");
      break;
    case TSRI_STMT_BARRIER:
      tsri_builder_add(&e->body, "%s;\n",
                       tsri_ir_shares_buffers(e->kernel) ? e->spell->barrier : e->spell->shared_barrier);
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
      tsri_builder_string(&e->body, ";\n");
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
