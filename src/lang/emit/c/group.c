// SPDX-License-Identifier: MIT
// What a group does together: collectives of subgroups on devices that have them (lower/collectives.h makes the others of
// statements), and in plain C whole groups with their barriers.
//
// Plain C has no items that run side by side. There a group is cut at its barriers: what lies between two of them is a
// loop over the items, whose variables live in an array. Control flow around a barrier is the same for all items, so it
// is decided once, for item 0.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"
#include "lang/lower/collective.h"

// --- Helpers: @ stands for the operation ----------------------------------------------------------------------------

static const char subgroup_butterfly[] =
    "TSR_FN $t tsr_subgroup_@_$t($t v) {\n"
    "  for (u32 m = $Z / 2u; m > 0u; m >>= 1) v = tsr_@_$t(v, tsr_swap_$t(v, m));\n  return v;\n}\n";
static const char subgroup_simd_sum[] = "TSR_FN $t tsr_subgroup_@_$t($t v) { return simd_sum(v); }\n";
static const char subgroup_reduce[] = "TSR_FN $t tsr_subgroup_@_$t($t v) { return sub_group_reduce_@(v); }\n";
static const char subgroup_reduce_nan[] =  // OpenCL's min and max drop NaN
    "TSR_FN $t tsr_subgroup_@_$t($t v) {\n"
    "  return sub_group_any(tsr_isnan_$t(v)) ? tsr_from_$t($i | ($i >> 1)) : sub_group_reduce_@(v);\n}\n";

static const char native_shuffle[] =
    "TSR_FN $t tsr_subgroup_shuffle_$t($t v, u32 lane) { return tsr_lane_$t(v, lane & ($Z - 1u)); }\n";

// Writes a helper from its template; the name is what stands before the first bracket.
static tsri_c_name define_from(tsri_c_emitter *e, const char *pattern, const char *op, tsr_dtype dtype) {
  tsri_builder with_op = {0}, text = {0};
  for (const char *p = pattern; *p; p++) {
    if (*p == '@') {
      tsri_builder_string(&with_op, op);
    } else {
      tsri_builder_put(&with_op, p, 1);
    }
  }
  tsri_c_name name = {""};
  const char *start = with_op.text ? strstr(with_op.text, "tsr_") : NULL;
  if (start) {
    size_t bytes = strcspn(start, "(") - strlen("$t");
    snprintf(name.text, sizeof name.text, "%.*s%s", (int)bytes, start, tsr_dtype_name(dtype));
    if (tsri_c_want(e, name.text)) {
      tsri_c_expand(e, &text, with_op.text, dtype);
      tsri_c_define(e, name.text, &text);
    }
  }
  e->helpers.has_failed |= with_op.has_failed;
  tsri_free(with_op.text);
  tsri_free(text.text);
  return name;
}

// --- On a device ----------------------------------------------------------------------------------------------------

static const char *subgroup_template(const tsri_c_emitter *e, const char *op, tsr_dtype dtype) {
  bool is_sum = strcmp(op, "add") == 0;
  if (tsri_c_is(e, TSRI_C_OPENCL)) {
    return !is_sum && tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT ? subgroup_reduce_nan : subgroup_reduce;
  }
  return is_sum && tsri_c_is(e, TSRI_C_METAL) ? subgroup_simd_sum : subgroup_butterfly;
}

void tsri_c_put_collective(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_collective_way way = tsri_collective_way_of((tsri_ir_collective)stmt->op);
  tsr_dtype dtype = way.is_bool ? TSR_U32 : (tsr_dtype)e->kernel->exprs[stmt->value].type.dtype;
  const char *op = tsri_collective_name(&way);
  const char *pattern = way.is_shuffle ? native_shuffle : subgroup_template(e, op, dtype);
  e->uses_subgroups = true;
  tsri_c_put(e, "%v = %s(%s%e", stmt->var, define_from(e, pattern, op, dtype).text, way.is_bool ? "(u32)" : "",
             stmt->value);
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

static void put_group_stmt(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  switch (stmt->kind) {
    case TSRI_STMT_IF:
      put_group_if(e, index);
      break;
    case TSRI_STMT_LOOP:
      put_group_loop(e, index);
      break;
    case TSRI_STMT_BARRIER:
      break;  // the end of a loop over items is one
    default:
      tsri_c_put_stmt(e, index);
      break;
  }
}

void tsri_c_put_group_block(tsri_c_emitter *e, uint32_t first) {
  if (!tsri_c_enter(e)) return;
  bool is_in_items = false;
  for (uint32_t i = first; i; i = e->kernel->stmts[i].next) {
    bool is_collected = (e->stmt_flags[i] & TSRI_MARK_COLLECTED) != 0;
    if (is_collected && is_in_items) end_items(e);
    if (!is_collected && !is_in_items) begin_items(e);
    is_in_items = !is_collected;
    if (is_collected) {
      put_group_stmt(e, i);
    } else {
      tsri_c_put_stmt(e, i);
    }
  }
  if (is_in_items) end_items(e);
  tsri_c_leave(e);
}
