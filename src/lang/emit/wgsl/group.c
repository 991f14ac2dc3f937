// SPDX-License-Identifier: MIT
// Collectives, through workgroup memory: WGSL promises nothing about which items form a subgroup.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/collective.h"

// In templates: # the value type, @ its dtype's name, % the operation's name, {a, b} the operation on two values,
// N items of the group, Z items of a subgroup.

// Halves the values that are left. The load at the end has a barrier before and after, and is uniform by definition.
static const char group_tree[] =
    "fn tsr_group_%_@(v: #, lid: u32) -> # {\n  tsr_pool_@[lid] = v;\n  workgroupBarrier();\n  var left = Nu;\n"
    "  loop {\n    if (left <= 1u) { break; }\n    let half_ = (left + 1u) / 2u;\n    if (lid + half_ < left) {\n"
    "      let a = tsr_pool_@[lid];\n      let b = tsr_pool_@[lid + half_];\n      tsr_pool_@[lid] = {a, b};\n    }\n"
    "    workgroupBarrier();\n    left = half_;\n  }\n  return workgroupUniformLoad(&tsr_pool_@[0]);\n}\n";

static const char run_reduce[] =
    "fn tsr_run_%_@(v: #, lid: u32) -> # {\n  tsr_pool_@[lid] = v;\n  workgroupBarrier();\n  var k = lid & ~(Zu - "
    "1u);\n"
    "  let end = min(k + Zu, Nu);\n  var a = tsr_pool_@[k];\n  loop {\n    k = k + 1u;\n    if (k >= end) { break; }\n"
    "    let b = tsr_pool_@[k];\n    a = {a, b};\n  }\n  workgroupBarrier();\n  return a;\n}\n";

static const char run_shuffle[] =
    "fn tsr_run_%_@(v: #, lane: u32, lid: u32) -> # {\n  tsr_pool_@[lid] = v;\n  workgroupBarrier();\n"
    "  let k = (lid & ~(Zu - 1u)) | (lane & (Zu - 1u));\n  var a: #;\n  if (k < Nu) { a = tsr_pool_@[k]; }\n"
    "  workgroupBarrier();\n  return a;\n}\n";

// Bools are 0 and 1 in workgroup memory, where the larger is "any" and the smaller "all".
static tsri_ir_op kept_op(const tsri_collective_way *way) {
  return way->op == TSRI_OP_OR ? TSRI_OP_MAX : way->op == TSRI_OP_AND ? TSRI_OP_MIN : way->op;
}

static const char *name_of(const tsri_collective_way *way) {
  return way->is_shuffle ? "shuffle" : tsri_collective_name(way);
}

static void put_template(tsri_wgsl *w, tsri_c_text *out, const char *pattern, const tsri_collective_way *way,
                         tsr_dtype dtype) {
  tsri_wgsl_operands operands = {{"a", "b", ""}};
  for (const char *p = pattern; *p; p++) {
    bool is_number = (*p == 'N' || *p == 'Z') && p[1] == 'u';
    if (*p == '#') {
      tsri_c_add(out, tsri_wgsl_type(w, (tsri_ir_type){(uint8_t)dtype, 1}));
    } else if (*p == '@') {
      tsri_c_add(out, tsr_dtype_name(dtype));
    } else if (*p == '%') {
      tsri_c_add(out, name_of(way));
    } else if (is_number) {
      tsri_c_addf(out, "%" PRIu32, *p == 'N' ? w->items : w->options->subgroup_size);
    } else if (strncmp(p, "{a, b}", 6) == 0) {
      tsri_wgsl_put_pattern(w, out, tsri_wgsl_op_pattern(w, kept_op(way), dtype, false), &operands, "");
      p += 5;
    } else {
      tsri_c_add_bytes(out, p, 1);
    }
  }
}

static void define(tsri_wgsl *w, const char *name, const char *pattern, const tsri_collective_way *way,
                   tsr_dtype dtype) {
  w->pools |= 1u << dtype;
  if (!tsri_wgsl_want(w, name)) return;
  tsri_c_text text = {0};
  put_template(w, &text, pattern, way, dtype);
  if (text.data) tsri_c_add(&w->helpers, text.data);
  w->is_out_of_memory |= text.is_out_of_memory;
  tsri_free(text.data);
}

void tsri_wgsl_put_collective(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_collective_way way = tsri_collective_way_of((tsri_ir_collective)s->op);
  tsr_dtype dtype = way.is_bool ? TSR_U32 : (tsr_dtype)w->kernel->exprs[s->value].type.dtype;
  char name[TSRI_C_NAME_BYTES];
  snprintf(name, sizeof name, "tsr_%s_%s_%s", way.is_group ? "group" : "run", name_of(&way), tsr_dtype_name(dtype));
  define(w, name, way.is_shuffle ? run_shuffle : way.is_group ? group_tree : run_reduce, &way, dtype);

  tsri_wgsl_put_indent(w);
  tsri_wgsl_put_name(&w->body, w->kernel->vars[s->var].name, "", s->var);
  tsri_c_addf(&w->body, " = %s(%s", name, way.is_bool ? "u32(" : "");
  tsri_wgsl_put_value(w, &w->body, s->value);
  if (way.is_bool) tsri_c_add(&w->body, ")");
  if (way.is_shuffle) {
    tsri_c_add(&w->body, s->op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR ? ", tsr_lid ^ " : ", ");
    tsri_wgsl_put_value(w, &w->body, s->compare);
  }
  tsri_c_add(&w->body, way.is_bool ? ", tsr_lid) != 0u;\n" : ", tsr_lid);\n");
}
