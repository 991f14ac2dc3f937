// SPDX-License-Identifier: MIT
// Statements as structured control flow: a selection's blocks meet at its merge block, a loop has a header, a test, a
// body, a block to continue at and a merge block.
#include "lang/emit/spirv/spirv.h"

// Describes the access of a statement. Emits the index before the other operands.
static tsri_spv_place place_of(tsri_spv *s, const tsri_ir_stmt *stmt, uint32_t lanes) {
  (void)tsri_spv_expr(s, stmt->index);
  return tsri_spv_place_of(s, stmt->space, stmt->object, stmt->index, lanes);
}

// Assigns a variable; does nothing if there is none.
static void assign(tsri_spv *s, uint32_t var, tsri_spv_id value) {
  if (var) tsri_spv_store(s, tsri_spv_var(s, var), value);
}

static void clear(tsri_spv *s, uint32_t object) {
  tsri_spv_store(s, s->locals_held[object].variable, s->local_zeros[object]);
}

static void store(tsri_spv *s, const tsri_ir_stmt *stmt) {
  tsri_spv_place place = place_of(s, stmt, s->kernel->exprs[stmt->value].type.lanes);
  tsri_spv_store_place(s, place, tsri_spv_expr(s, stmt->value));
}

static void atomic(tsri_spv *s, const tsri_ir_stmt *stmt) {
  tsri_spv_place place = place_of(s, stmt, 1);
  tsri_spv_id compare = stmt->compare ? tsri_spv_expr(s, stmt->compare) : 0;
  tsri_spv_id value = tsri_spv_expr(s, stmt->value);
  tsri_spv_id old = tsri_spv_atomic_place(s, place, (tsri_ir_atomic)stmt->op, value, compare);
  assign(s, stmt->var, old);
}

static void collective(tsri_spv *s, const tsri_ir_stmt *stmt) {
  tsri_ir_type type = s->kernel->exprs[stmt->value].type;
  tsri_spv_id value = tsri_spv_expr(s, stmt->value);
  tsri_spv_id lane = stmt->compare ? tsri_spv_expr(s, stmt->compare) : 0;
  tsri_spv_id result = tsri_spv_collective(s, (tsri_ir_collective)stmt->op, type, value, lane);
  assign(s, stmt->var, result);
}

static void barrier(tsri_spv *s) {
  bool is_shared_only = !tsri_ir_shares_buffers(s->kernel);
  tsri_spv_id scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  tsri_spv_id semantics = tsri_spv_u32(s, is_shared_only ? SPV_SEMANTICS_SHARED : SPV_SEMANTICS_BARRIER);
  SPV_PUT(&s->code, SPV_OP_CONTROL_BARRIER, scope, scope, semantics);
}

static void branch(tsri_spv *s, const tsri_ir_stmt *stmt) {
  tsri_spv_id condition = tsri_spv_expr(s, stmt->value);
  tsri_spv_id yes = tsri_spv_new_id(s), no = tsri_spv_new_id(s), merge = tsri_spv_new_id(s);
  tsri_spv_branch_if(s, condition, yes, no, merge);
  tsri_spv_begin_block(s, yes);
  tsri_spv_stmts(s, stmt->body);
  bool yes_ends = s->is_ended;
  tsri_spv_branch(s, merge);
  tsri_spv_begin_block(s, no);
  tsri_spv_stmts(s, stmt->other);
  bool no_ends = s->is_ended;
  tsri_spv_branch(s, merge);
  tsri_spv_begin_block(s, merge);
  if (yes_ends && no_ends) {  // the merge block is unreachable
    tsri_spv_put_op(&s->code, SPV_OP_UNREACHABLE, NULL, 0);
    s->is_ended = true;
  }
}

static void loop(tsri_spv *s, const tsri_ir_stmt *stmt) {
  tsri_spv_loop outer = s->loop;
  tsri_spv_id header = tsri_spv_new_id(s), test = tsri_spv_new_id(s), body = tsri_spv_new_id(s);
  s->loop = (tsri_spv_loop){.merge = tsri_spv_new_id(s), .step = tsri_spv_new_id(s)};
  tsri_spv_loop loop = s->loop;

  tsri_spv_branch(s, header);
  tsri_spv_begin_block(s, header);
  SPV_PUT(&s->code, SPV_OP_LOOP_MERGE, loop.merge, loop.step, 0);
  tsri_spv_branch(s, test);
  tsri_spv_begin_block(s, test);
  if (stmt->value) {
    tsri_spv_id condition = tsri_spv_expr(s, stmt->value);
    SPV_PUT(&s->code, SPV_OP_BRANCH_CONDITIONAL, condition, body, loop.merge);
    s->is_ended = true;
  }
  tsri_spv_branch(s, body);
  tsri_spv_begin_block(s, body);
  tsri_spv_stmts(s, stmt->body);
  tsri_spv_branch(s, loop.step);
  tsri_spv_begin_block(s, loop.step);
  tsri_spv_stmts(s, stmt->other);
  tsri_spv_branch(s, header);
  tsri_spv_begin_block(s, loop.merge);
  s->loop = outer;
}

static void statement(tsri_spv *s, const tsri_ir_stmt *stmt) {
  uint8_t kind = stmt->kind;
  if (kind == TSRI_STMT_ASSIGN) assign(s, stmt->var, tsri_spv_expr(s, stmt->value));
  else if (kind == TSRI_STMT_STORE) store(s, stmt);
  else if (kind == TSRI_STMT_CLEAR) clear(s, stmt->object);
  else if (kind == TSRI_STMT_IF) branch(s, stmt);
  else if (kind == TSRI_STMT_LOOP) loop(s, stmt);
  else if (kind == TSRI_STMT_BREAK) tsri_spv_branch(s, s->loop.merge);
  else if (kind == TSRI_STMT_CONTINUE) tsri_spv_branch(s, s->loop.step);
  else if (kind == TSRI_STMT_BARRIER) barrier(s);
  else if (kind == TSRI_STMT_ATOMIC) atomic(s, stmt);
  else if (kind == TSRI_STMT_COLLECTIVE) collective(s, stmt);
  else if (kind >= TSRI_STMT_FRAGMENT_FIRST) tsri_spv_fragment_stmt(s, stmt);
}

// Statements after a BREAK or CONTINUE in a block are unreachable, and left out.
void tsri_spv_stmts(tsri_spv *s, uint32_t first) {
  s->is_too_deep |= ++s->depth > TSRI_SPV_MAX_DEPTH;
  for (uint32_t i = first; i && !s->is_ended && !s->is_too_deep; i = s->kernel->stmts[i].next) {
    statement(s, &s->kernel->stmts[i]);
  }
  s->depth--;
}
