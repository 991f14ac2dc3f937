// SPDX-License-Identifier: MIT
// Statements that a whole group executes together: collectives of subgroups on devices that have them (lower/collectives.h has turned the others into
// statements), and in plain C the whole body of kernels with barriers.
//
// Plain C has no items that run at the same time. So a group is divided at its barriers: the code between two of them is a loop over the items, whose variables
// are in an array. Control flow around a barrier is the same for all items, so it is decided once, for item 0.
#include "lang/emit/c/c.h"
#include "lang/lower/collective.h"

// --- On a device ----------------------------------------------------------------------------------------------------

void tsri_c_put_collective(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_collective_way way = tsri_collective_way_of((tsri_ir_collective)stmt->op);
  tsr_dtype dtype = way.is_bool ? TSR_U32 : (tsr_dtype)e->kernel->exprs[stmt->value].type.dtype;
  const char *op = way.is_shuffle ? "shuffle" : way.is_ballot ? "ballot" : tsri_collective_name(&way);
  tsri_c_name name = tsri_c_need(e, tsri_c_named("tsr_subgroup_%s_%s", op, tsr_dtype_name(dtype)));
  e->uses_subgroups = true;
  tsri_c_put(e, "%v = %s(%s%e", stmt->var, name.text, way.is_bool ? "(u32)" : "", stmt->value);
  if (way.is_shuffle) {
    bool is_xor = stmt->op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR;
    e->uses_lid |= is_xor;
    tsri_c_put(e, is_xor ? ", tsr_lid ^ %e" : ", %e", stmt->compare);
  }
  tsri_c_put(e, way.is_bool ? ") != 0u;\n" : ");\n");
}

// --- Plain C: a group -----------------------------------------------------------------------------------------------

static void begin_items(tsri_c_emitter *e) {
  tsri_c_put(e, "%ifor (u32 tsr_lid = 0; tsr_lid < %uu; tsr_lid++) {\n", e->items);
  e->indent++;
  if (e->has_groups) tsri_c_put(e, "%itsr_item_t *tsr_item = &tsr_state->items[tsr_lid];\n");
}

static void end_items(tsri_c_emitter *e) {
  e->indent--;
  tsri_c_put(e, "%i}\n");
}

// bool tsr_c<stmt>, decided for item 0.
static void put_condition(tsri_c_emitter *e, uint32_t index, uint32_t value) {
  tsri_c_put(e, "%ibool tsr_c%u = true;\n", index);
  if (!value) return;
  tsri_c_put(e, "%i{\n");
  e->indent++;
  tsri_c_put(e, "%iconst u32 tsr_lid = 0;\n%iconst tsr_item_t *tsr_item = tsr_state->items;\n");
  tsri_c_put(e, "%i(void)tsr_lid, (void)tsr_item;\n%itsr_c%u = %b;\n", index, value);
  e->indent--;
  tsri_c_put(e, "%i}\n");
}

static void put_nested(tsri_c_emitter *e, uint32_t first) {
  e->indent++;
  tsri_c_put_group_block(e, first);
  e->indent--;
}

static void put_group_if(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  put_condition(e, index, stmt->value);
  tsri_c_put(e, "%iif (tsr_c%u) {\n", index);
  put_nested(e, stmt->body);
  tsri_c_put(e, "%i} else {\n");
  put_nested(e, stmt->other);
  tsri_c_put(e, "%i}\n");
}

static void put_group_loop(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  uint32_t outer = e->loop;
  e->loop = index;
  e->stmt_flags[index] |= TSRI_C_FLAGGED;
  tsri_c_put(e, "%ifor (;;) {\n");
  e->indent++;
  put_condition(e, index, stmt->value);
  tsri_c_put(e, "%iif (!tsr_c%u) break;\n%ibool tsr_leave_%u = false;\n%ido {\n", index, index);
  put_nested(e, stmt->body);
  tsri_c_put(e, "%i} while (false);\n%iif (tsr_leave_%u) break;\n", index);
  e->loop = outer;
  tsri_c_put_group_block(e, stmt->other);
  e->indent--;
  tsri_c_put(e, "%i}\n");
}

void tsri_c_put_group_block(tsri_c_emitter *e, uint32_t first) {
  bool is_in_items = false;
  e->is_too_deep |= ++e->depth > TSRI_C_MAX_DEPTH;
  for (uint32_t i = first; i && !e->is_too_deep; i = e->kernel->stmts[i].next) {
    bool is_collected = (e->stmt_flags[i] & TSRI_MARK_COLLECTED) != 0;
    uint8_t kind = e->kernel->stmts[i].kind;
    if (is_collected && is_in_items) end_items(e);
    if (!is_collected && !is_in_items) begin_items(e);
    is_in_items = !is_collected;
    if (is_collected && kind == TSRI_STMT_IF) put_group_if(e, i);
    else if (is_collected && kind == TSRI_STMT_LOOP) put_group_loop(e, i);
    else if (kind != TSRI_STMT_BARRIER) tsri_c_put_stmt(e, i);  // the end of a loop over items is a barrier
  }
  if (is_in_items) end_items(e);
  e->depth--;
}
