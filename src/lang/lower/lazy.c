// SPDX-License-Identifier: MIT
#include "lang/lower/lazy.h"

#include "core/error.h"
#include "lang/lower/expand.h"
#include "lang/lower/hoist_build.h"

static bool is_lazy(const tsri_ir_expr *x) {
  return x->kind == TSRI_EXPR_AND_THEN || x->kind == TSRI_EXPR_OR_ELSE || x->kind == TSRI_EXPR_COND;
}

// Marks the expressions that are worth a branch. Returns whether the kernel has any lazy expression.
static bool find_work(const tsri_kernel *k, bool *has_work) {
  bool any_is_lazy = false;
  for (uint32_t i = 1; i < k->expr_count; i++) {
    const tsri_ir_expr *x = &k->exprs[i];
    uint32_t count = tsri_ir_operands(x);
    has_work[i] = x->kind == TSRI_EXPR_LOAD || (x->kind == TSRI_EXPR_OP && tsri_expand_is_long((tsri_ir_op)x->op));
    for (uint32_t j = 0; j < count; j++) has_work[i] |= has_work[x->args[j]];
    any_is_lazy |= is_lazy(x);
  }
  return any_is_lazy;
}

static uint32_t all_lanes(rewriter *w, uint32_t condition, uint32_t lanes) {
  if (lanes == 1) return condition;
  tsri_ir_type type = {TSR_BOOL, (uint8_t)lanes};
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .type = type, .a = condition});
}

static uint32_t lower_expr(hoister *h, uint32_t index, list *before) {
  const bool *has_work = h->context;
  tsri_ir_expr x = h->w.exprs[index];
  if (!is_lazy(&x)) return 0;
  bool is_cond = x.kind == TSRI_EXPR_COND, is_branch = has_work[x.b] || h->before[x.b].first != 0;
  if (is_cond) is_branch |= has_work[x.c] || h->before[x.c].first != 0;
  if (is_branch) return tsri_hoist_branch(h, &x, before);
  for (uint32_t i = 0; i < tsri_ir_operands(&x); i++) x.args[i] = h->places[x.args[i]];
  x.op = (uint8_t)(is_cond ? TSRI_OP_SELECT : x.kind == TSRI_EXPR_AND_THEN ? TSRI_OP_AND : TSRI_OP_OR);
  x.kind = TSRI_EXPR_OP;
  if (is_cond) x.a = all_lanes(&h->w, x.a, x.type.lanes);
  return put(&h->w, x);
}

tsr_status tsri_lower_lazy(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  static const tsri_hoist_pass pass = {.expr = lower_expr};
  bool *has_work = tsri_calloc(kernel->expr_count + 1u, sizeof *has_work);
  *out_kernel = NULL;
  if (!has_work) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to look at it", kernel->variant);
  tsr_status status = find_work(kernel, has_work) ? tsri_hoist(kernel, &pass, NULL, has_work, out_kernel) : TSR_OK;
  tsri_free(has_work);
  return status;
}
