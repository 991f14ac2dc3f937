// SPDX-License-Identifier: MIT
// Makes a kernel that can be launched in slices: its group numbers start at a parameter, and the number of groups is
// that of the whole launch. The result is an ordinary kernel that every device can run.
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "lang/lang.h"

enum { MORE_PARAMS = 6, MOST_NEW = 4 };  // MOST_NEW: expressions that replace one

typedef struct slicer {
  const tsri_kernel *from;
  tsri_ir_expr *exprs;
  uint32_t count;
  uint32_t *places;  // new indices of the original's expressions
} slicer;

static uint32_t put(slicer *s, tsri_ir_expr expr) {
  s->exprs[s->count] = expr;
  return s->count++;
}

static tsri_ir_expr word(tsri_ir_expr like, tsri_ir_expr_kind kind) {
  return (tsri_ir_expr){.kind = (uint8_t)kind, .is_uniform = true, .type = like.type, .pos = like.pos};
}

static tsri_ir_expr parameter(const slicer *s, tsri_ir_expr like, uint32_t number) {
  tsri_ir_expr expr = word(like, TSRI_EXPR_SCALAR);
  expr.object = s->from->param_count + number;
  return expr;
}

static tsri_ir_expr operation(tsri_ir_expr like, tsri_ir_op op, uint32_t a, uint32_t b) {
  tsri_ir_expr expr = word(like, TSRI_EXPR_OP);
  expr.op = (uint8_t)op;
  expr.is_uniform = like.is_uniform;
  expr.a = a;
  expr.b = b;
  return expr;
}

// The expressions for a group's number, the number of groups, or an item's number in the whole launch.
static uint32_t put_id(slicer *s, tsri_ir_expr id) {
  if (id.op == TSRI_ID_GROUPS) return put(s, parameter(s, id, 3u + id.lane));
  if (id.op != TSRI_ID_GROUP && id.op != TSRI_ID_GLOBAL) return put(s, id);
  uint32_t uint32 = put(s, id), first = put(s, parameter(s, id, id.lane));
  if (id.op == TSRI_ID_GLOBAL) {
    tsri_ir_expr size = word(id, TSRI_EXPR_CONST);
    size.bits = s->from->group_size[id.lane];
    uint32_t items = put(s, size);
    tsri_ir_expr product = operation(id, TSRI_OP_MUL, first, items);
    product.is_uniform = true;
    first = put(s, product);
  }
  return put(s, operation(id, TSRI_OP_ADD, uint32, first));
}

static void rewrite_exprs(slicer *s) {
  s->count = 1;
  for (uint32_t i = 1; i < s->from->expr_count; i++) {
    tsri_ir_expr expr = s->from->exprs[i];
    if (expr.kind == TSRI_EXPR_ID) {
      s->places[i] = put_id(s, expr);
      continue;
    }
    for (int k = 0; k < 4 && expr.kind > TSRI_EXPR_ID; k++) expr.args[k] = s->places[expr.args[k]];
    s->places[i] = put(s, expr);
  }
}

static void rewrite_stmts(const slicer *s, tsri_ir_stmt *stmts) {
  for (uint32_t i = 0; i < s->from->stmt_count; i++) {
    stmts[i] = s->from->stmts[i];
    stmts[i].index = s->places[stmts[i].index];
    stmts[i].value = s->places[stmts[i].value];
    stmts[i].compare = s->places[stmts[i].compare];
  }
}

static void add_params(const tsri_kernel *from, tsri_ir_param *params) {
  static const char *const names[MORE_PARAMS] = {"first_x", "first_y", "first_z", "all_x", "all_y", "all_z"};
  if (from->param_count) memcpy(params, from->params, from->param_count * sizeof *params);
  for (uint32_t i = 0; i < MORE_PARAMS; i++) {
    params[from->param_count + i] = (tsri_ir_param){
        .name = names[i], .declared = TSR_U32, .type = {TSR_U32, 1}, .offset = from->params_bytes + 4 * i};
  }
}

static uint32_t count_ids(const tsri_kernel *kernel) {
  uint32_t count = 0;
  for (uint32_t i = 1; i < kernel->expr_count; i++) count += kernel->exprs[i].kind == TSRI_EXPR_ID;
  return count;
}

tsr_status tsri_kernel_slice(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  *out_kernel = NULL;
  if (kernel->param_count + MORE_PARAMS > TSRI_LANG_MAX_PARAMS) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %u parameters leave no room for those of a slice", kernel->variant,
                     kernel->param_count);
  }
  size_t exprs = (size_t)kernel->expr_count + (size_t)MOST_NEW * count_ids(kernel) + 1;
  size_t params = (size_t)kernel->param_count + MORE_PARAMS, stmts = (size_t)kernel->stmt_count + 1;
  uint32_t *places = tsri_calloc((size_t)kernel->expr_count + 1, sizeof *places);
  tsri_kernel *sliced = tsri_calloc(
      1, sizeof *sliced + exprs * sizeof(tsri_ir_expr) + params * sizeof(tsri_ir_param) + stmts * sizeof(tsri_ir_stmt));
  if (!places || !sliced) {
    tsri_free(places);
    tsri_free(sliced);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to launch it in slices", kernel->variant);
  }
  tsri_ir_expr *new_exprs = (tsri_ir_expr *)(sliced + 1);
  tsri_ir_param *new_params = (tsri_ir_param *)(new_exprs + exprs);
  tsri_ir_stmt *new_stmts = (tsri_ir_stmt *)(new_params + params);
  slicer s = {.from = kernel, .exprs = new_exprs, .places = places};
  rewrite_exprs(&s);
  rewrite_stmts(&s, new_stmts);
  add_params(kernel, new_params);
  tsri_free(places);
  *sliced = *kernel;
  sliced->base = NULL;
  sliced->exprs = new_exprs;
  sliced->expr_count = s.count;
  sliced->params = new_params;
  sliced->param_count = (uint32_t)params;
  sliced->params_bytes += 4 * MORE_PARAMS;
  sliced->stmts = new_stmts;
  *out_kernel = sliced;
  return TSR_OK;
}
