// SPDX-License-Identifier: MIT
// What a group does together: collectives on devices, and in plain C whole groups with their barriers.
//
// Plain C has no items that run side by side. There a group is cut at its barriers: what lies between two of them is a
// loop over the items, whose variables live in an array. Control flow around a barrier is the same for all items, so it
// is decided once, for item 0.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"
#include "lang/lower/collective.h"

// --- Helpers: @ stands for the operation ----------------------------------------------------------------------------

// Halves the values that are left, in shared memory. The last barrier lets the next collective use it.
static const char group_tree[] =
    "TSR_FN $t tsr_group_@_$t($t v, $S$t *s, u32 lid, u32 n) {\n"
    "  s[lid] = v;\n  $B;\n"
    "  for (u32 left = n; left > 1u;) {\n"
    "    u32 half_ = (left + 1u) / 2u;\n"
    "    if (lid + half_ < left) s[lid] = tsr_@_$t(s[lid], s[lid + half_]);\n"
    "    $B;\n    left = half_;\n  }\n"
    "  v = s[0];\n  $B;\n  return v;\n}\n";

// One value per subgroup goes through shared memory.
static const char group_native[] =
    "TSR_FN $t tsr_group_native_@_$t($t v, $S$t *s, u32 lid, u32 n) {\n"
    "  v = tsr_subgroup_@_$t(v);\n  if (n == $Z) return v;\n"
    "  if ((lid & ($Z - 1u)) == 0u) s[lid / $Z] = v;\n  $B;\n"
    "  v = s[0];\n  for (u32 k = 1u; k < n / $Z; k++) v = tsr_@_$t(v, s[k]);\n  $B;\n  return v;\n}\n";

static const char subgroup_butterfly[] =
    "TSR_FN $t tsr_subgroup_@_$t($t v) {\n"
    "  for (u32 m = $Z / 2u; m > 0u; m >>= 1) v = tsr_@_$t(v, tsr_swap_$t(v, m));\n  return v;\n}\n";
static const char subgroup_simd_sum[] = "TSR_FN $t tsr_subgroup_@_$t($t v) { return simd_sum(v); }\n";
static const char subgroup_reduce[] = "TSR_FN $t tsr_subgroup_@_$t($t v) { return sub_group_reduce_@(v); }\n";
static const char subgroup_reduce_nan[] =  // OpenCL's min and max drop NaN
    "TSR_FN $t tsr_subgroup_@_$t($t v) {\n"
    "  return sub_group_any(tsr_isnan_$t(v)) ? tsr_from_$t($i | ($i >> 1)) : sub_group_reduce_@(v);\n}\n";

static const char run_fallback[] =
    "TSR_FN $t tsr_run_@_$t($t v, $S$t *s, u32 lid, u32 n) {\n"
    "  s[lid] = v;\n  $B;\n"
    "  u32 k = lid & ~($Z - 1u), end = k + $Z < n ? k + $Z : n;\n"
    "  v = s[k];\n  for (k++; k < end; k++) v = tsr_@_$t(v, s[k]);\n  $B;\n  return v;\n}\n";
static const char run_shuffle[] =
    "TSR_FN $t tsr_run_shuffle_$t($t v, u32 lane, $S$t *s, u32 lid, u32 n) {\n"
    "  s[lid] = v;\n  $B;\n"
    "  u32 k = (lid & ~($Z - 1u)) | (lane & ($Z - 1u));\n"
    "  v = k < n ? s[k] : ($t)0;\n  $B;\n  return v;\n}\n";
static const char native_shuffle[] =
    "TSR_FN $t tsr_subgroup_shuffle_$t($t v, u32 lane) { return tsr_lane_$t(v, lane & ($Z - 1u)); }\n";

// Plain C: the values are in `s` already. The tree is the devices', so that sums round alike.
static const char plain_group[] =
    "TSR_FN void tsr_group_@_$t($t *s, u32 n) {\n"
    "  for (u32 left = n; left > 1u;) {\n    u32 half_ = (left + 1u) / 2u;\n"
    "    for (u32 i = 0; i + half_ < left; i++) s[i] = tsr_@_$t(s[i], s[i + half_]);\n    left = half_;\n  }\n}\n";
static const char plain_run[] =
    "TSR_FN $t tsr_run_@_$t(const $t *s, u32 lid, u32 n) {\n"
    "  u32 k = lid & ~($Z - 1u), end = k + $Z < n ? k + $Z : n;\n"
    "  $t v = s[k];\n  for (k++; k < end; k++) v = tsr_@_$t(v, s[k]);\n  return v;\n}\n";
static const char plain_shuffle[] =
    "TSR_FN $t tsr_run_shuffle_$t(const $t *s, u32 lane, u32 lid, u32 n) {\n"
    "  u32 k = (lid & ~($Z - 1u)) | (lane & ($Z - 1u));\n  return k < n ? s[k] : ($t)0;\n}\n";

// Writes a helper from its template; the name is what stands before the first bracket.
static tsri_c_name define_from(tsri_c_emitter *e, const char *pattern, const char *op, tsr_dtype dtype) {
  tsri_c_text with_op = {0}, text = {0};
  for (const char *p = pattern; *p; p++) {
    if (*p == '@') {
      tsri_c_add(&with_op, op);
    } else {
      tsri_c_add_bytes(&with_op, p, 1);
    }
  }
  tsri_c_name name = {""};
  const char *start = with_op.data ? strstr(with_op.data, "tsr_") : NULL;
  if (start) {
    size_t bytes = strcspn(start, "(") - strlen("$t");
    snprintf(name.text, sizeof name.text, "%.*s%s", (int)bytes, start, tsr_dtype_name(dtype));
    if (tsri_c_want(e, name.text)) {
      tsri_c_expand(e, &text, with_op.data, dtype);
      tsri_c_define(e, name.text, &text);
    }
  }
  e->helpers.is_out_of_memory |= with_op.is_out_of_memory;
  tsri_free(with_op.data);
  tsri_free(text.data);
  return name;
}

// --- Which helper serves a collective -------------------------------------------------------------------------------

// Has the device the operation on this type in hardware?
static bool is_native(const tsri_c_emitter *e, const char *op, tsr_dtype dtype) {
  if (!e->native_subgroups) return false;
  if (tsri_c_is(e, TSRI_C_METAL) && tsr_dtype_bytes(dtype) > 4) return false;
  return op || !tsri_c_is(e, TSRI_C_OPENCL) || e->options->subgroup_shuffle;
}

static const char *subgroup_template(const tsri_c_emitter *e, const char *op, tsr_dtype dtype) {
  bool is_sum = strcmp(op, "add") == 0;
  if (tsri_c_is(e, TSRI_C_OPENCL)) {
    return !is_sum && tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT ? subgroup_reduce_nan : subgroup_reduce;
  }
  return is_sum && tsri_c_is(e, TSRI_C_METAL) ? subgroup_simd_sum : subgroup_butterfly;
}

static void need_pool(tsri_c_emitter *e, tsr_dtype dtype, uint32_t entries) {
  uint32_t bytes = (uint32_t)tsr_dtype_bytes(dtype);
  if (bytes > e->pool_bytes) e->pool_bytes = bytes;
  if (entries > e->pool_entries) e->pool_entries = entries;
  e->pool_types |= 1u << dtype;
}

// --- On a device ----------------------------------------------------------------------------------------------------

static void put_pool_arguments(tsri_c_emitter *e, tsr_dtype dtype) {
  e->uses_lid = true;
  tsri_c_addf(&e->body, ", (%s%s *)tsr_pool, tsr_lid, %" PRIu32 "u)", e->spell->space[TSRI_SPACE_SHARED],
              tsr_dtype_name(dtype), e->items);
}

static void put_value(tsri_c_emitter *e, const tsri_ir_stmt *stmt, bool is_bool) {
  tsri_c_add(&e->body, is_bool ? "(u32)" : "");
  if (e->flat_collective) {
    tsri_c_addf(&e->body, "tsr_v%" PRIu32, e->flat_collective);
  } else {
    tsri_c_put_expr(e, stmt->value);
  }
}

static void put_lane(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  if (stmt->op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR) {
    e->uses_lid = true;
    tsri_c_add(&e->body, "tsr_lid ^ ");
  }
  if (e->flat_collective) {
    tsri_c_addf(&e->body, "tsr_k%" PRIu32, e->flat_collective);
  } else {
    tsri_c_put_expr(e, stmt->compare);
  }
}

void tsri_c_put_collective(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_collective_way way = tsri_collective_way_of((tsri_ir_collective)stmt->op);
  const char *op = way.is_shuffle ? NULL : tsri_collective_name(&way);
  tsr_dtype dtype = way.is_bool ? TSR_U32 : (tsr_dtype)e->kernel->exprs[stmt->value].type.dtype;
  bool native = is_native(e, op, dtype), has_pool = true;
  tsri_c_name name;
  if (!op) {
    name = define_from(e, native ? native_shuffle : run_shuffle, "", dtype);
    has_pool = !native;
  } else {
    if (native) name = define_from(e, subgroup_template(e, op, dtype), op, dtype);
    if (way.is_group) name = define_from(e, native ? group_native : group_tree, op, dtype);
    if (!way.is_group && !native) name = define_from(e, run_fallback, op, dtype);
    has_pool = way.is_group || !native;
  }
  if (has_pool) need_pool(e, dtype, native ? e->items / e->options->subgroup_size : e->items);

  if (e->flat_collective) {
    tsri_c_addf(&e->body, "tsr_r%" PRIu32, e->flat_collective);
  } else {
    tsri_c_put_var(e, &e->body, stmt->var);
  }
  tsri_c_addf(&e->body, " = %s(", name.text);
  put_value(e, stmt, way.is_bool);
  if (!op) {
    tsri_c_add(&e->body, ", ");
    put_lane(e, stmt);
  }
  if (has_pool) {
    put_pool_arguments(e, dtype);
  } else {
    tsri_c_add(&e->body, ")");
  }
  tsri_c_add(&e->body, way.is_bool ? " != 0u;\n" : ";\n");
}

// --- Plain C: a group -----------------------------------------------------------------------------------------------

static void begin_items(tsri_c_emitter *e) {
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "for (u32 tsr_lid = 0; tsr_lid < %" PRIu32 "u; tsr_lid++) {\n", e->items);
  e->indent++;
  if (!e->has_groups) return;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "tsr_item_t *tsr_item = &tsr_state->items[tsr_lid];\n");
}

static void end_items(tsri_c_emitter *e) {
  e->indent--;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "}\n");
}

// bool tsr_c<stmt>, decided for item 0.
static void put_condition(tsri_c_emitter *e, uint32_t index, uint32_t value) {
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "bool tsr_c%" PRIu32 " = true;\n", index);
  if (!value) return;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "{\n");
  e->indent++;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "const u32 tsr_lid = 0;\n");
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "const tsr_item_t *tsr_item = tsr_state->items;\n");
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "(void)tsr_lid, (void)tsr_item;\n");
  tsri_c_put_cuts(e, value);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "tsr_c%" PRIu32 " = ", index);
  tsri_c_put_expr_bare(e, value);
  tsri_c_add(&e->body, ";\n");
  e->indent--;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "}\n");
}

static void put_nested(tsri_c_emitter *e, uint32_t first) {
  e->indent++;
  tsri_c_put_group_block(e, first);
  e->indent--;
}

static void put_group_if(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  put_condition(e, index, stmt->value);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "if (tsr_c%" PRIu32 ") {\n", index);
  put_nested(e, stmt->body);
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "} else {\n");
  put_nested(e, stmt->other);
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "}\n");
}

static void put_group_loop(tsri_c_emitter *e, uint32_t index) {
  const tsri_ir_stmt *stmt = &e->kernel->stmts[index];
  uint32_t outer = e->loop;
  e->loop = index;
  e->stmt_flags[index] |= TSRI_C_FLAGGED;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "for (;;) {\n");
  e->indent++;
  put_condition(e, index, stmt->value);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "if (!tsr_c%" PRIu32 ") break;\n", index);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "bool tsr_leave_%" PRIu32 " = false;\n", index);
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "do {\n");
  put_nested(e, stmt->body);
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "} while (false);\n");
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "if (tsr_leave_%" PRIu32 ") break;\n", index);
  e->loop = outer;
  tsri_c_put_group_block(e, stmt->other);
  e->indent--;
  tsri_c_put_indent(e);
  tsri_c_add(&e->body, "}\n");
}

// Every item puts its value in the pool; then every item takes its result.
static void put_group_collective(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_collective_way way = tsri_collective_way_of((tsri_ir_collective)stmt->op);
  const char *op = way.is_shuffle ? NULL : tsri_collective_name(&way);
  tsr_dtype dtype = way.is_bool ? TSR_U32 : (tsr_dtype)e->kernel->exprs[stmt->value].type.dtype;
  const char *type = tsr_dtype_name(dtype);
  need_pool(e, dtype, e->items);
  begin_items(e);
  tsri_c_put_cuts(e, stmt->value);
  tsri_c_put_cuts(e, stmt->compare);
  tsri_c_put_indent(e);
  tsri_c_addf(&e->body, "tsr_state->pool_%s[tsr_lid] = ", type);
  put_value(e, stmt, way.is_bool);
  tsri_c_add(&e->body, ";\n");
  if (!op) {
    tsri_c_put_indent(e);
    tsri_c_add(&e->body, "tsr_state->lanes[tsr_lid] = ");
    put_lane(e, stmt);
    tsri_c_add(&e->body, ";\n");
  }
  end_items(e);

  tsri_c_name name = define_from(e, !op ? plain_shuffle : way.is_group ? plain_group : plain_run, op ? op : "", dtype);
  if (way.is_group) {
    tsri_c_put_indent(e);
    tsri_c_addf(&e->body, "%s(tsr_state->pool_%s, %" PRIu32 "u);\n", name.text, type, e->items);
  }
  begin_items(e);
  tsri_c_put_indent(e);
  tsri_c_put_var(e, &e->body, stmt->var);
  if (way.is_group) {
    tsri_c_addf(&e->body, " = tsr_state->pool_%s[0]", type);
  } else {
    tsri_c_addf(&e->body, " = %s(tsr_state->pool_%s, %stsr_lid, %" PRIu32 "u)", name.text, type,
                op ? "" : "tsr_state->lanes[tsr_lid], ", e->items);
  }
  tsri_c_add(&e->body, way.is_bool ? " != 0u;\n" : ";\n");
  end_items(e);
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
    case TSRI_STMT_COLLECTIVE:
      put_group_collective(e, stmt);
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
    bool is_collected = (e->stmt_flags[i] & TSRI_C_COLLECTED) != 0;
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
