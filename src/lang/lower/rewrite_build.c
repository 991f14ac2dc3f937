// SPDX-License-Identifier: MIT
#include "lang/lower/rewrite_build.h"

bool tsri_rewrite_grow(void **data, uint32_t *capacity, uint32_t count, size_t size) {
  if (count < *capacity) return true;
  uint32_t wanted = *capacity * 2 + 64;
  void *grown = tsri_realloc(*data, wanted * size);
  if (!grown) return false;
  *data = grown;
  *capacity = wanted;
  return true;
}

bool tsri_rewrite_copy(rewriter *w) {
  const tsri_kernel *k = w->from;
  w->expr_capacity = k->expr_count * 2 + 1024;
  w->stmt_capacity = k->stmt_count * 2 + 256;
  w->exprs = tsri_calloc(w->expr_capacity, sizeof *w->exprs);
  w->stmts = tsri_calloc(w->stmt_capacity, sizeof *w->stmts);
  if (!w->exprs || !w->stmts) return false;
  if (k->expr_count) memcpy(w->exprs, k->exprs, k->expr_count * sizeof *w->exprs);
  if (k->stmt_count) memcpy(w->stmts, k->stmts, k->stmt_count * sizeof *w->stmts);
  w->expr_count = k->expr_count ? k->expr_count : 1;
  w->stmt_count = k->stmt_count ? k->stmt_count : 1;
  return true;
}

uint32_t tsri_rewrite_put(rewriter *w, tsri_ir_expr expr) {
  void *data = w->exprs;
  if (!tsri_rewrite_grow(&data, &w->expr_capacity, w->expr_count, sizeof expr)) w->has_failed = true;
  w->exprs = data;
  if (w->has_failed) return 0;
  w->exprs[w->expr_count] = expr;
  return w->expr_count++;
}

uint32_t tsri_rewrite_number(rewriter *w, uint32_t value) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = u32_type, .bits = value});
}

uint32_t tsri_rewrite_variable(rewriter *w, uint32_t var, tsri_ir_type type) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = type, .object = var});
}

uint32_t tsri_rewrite_op(rewriter *w, tsri_ir_op code, tsri_ir_type type, uint32_t a, uint32_t b, uint32_t c) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_OP, .op = (uint8_t)code, .type = type, .a = a, .b = b, .c = c});
}

uint32_t tsri_rewrite_cast(rewriter *w, uint32_t a, tsri_ir_expr_kind kind, tsri_ir_type type) {
  return put(w, (tsri_ir_expr){.kind = (uint8_t)kind, .dtype = type.dtype, .type = type, .a = a});
}

uint32_t tsri_rewrite_put_stmt(rewriter *w, tsri_ir_stmt stmt) {
  void *data = w->stmts;
  if (!tsri_rewrite_grow(&data, &w->stmt_capacity, w->stmt_count, sizeof stmt)) w->has_failed = true;
  w->stmts = data;
  if (w->has_failed) return 0;
  w->stmts[w->stmt_count] = stmt;
  return w->stmt_count++;
}

void tsri_rewrite_assign(rewriter *w, list *to, uint32_t var, uint32_t value) {
  append(w, to, put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_ASSIGN, .var = var, .value = value}));
}

uint32_t tsri_rewrite_put_if(rewriter *w, const tsri_ir_stmt *like, uint32_t condition, uint32_t body, uint32_t other) {
  tsri_ir_stmt stmt = {.kind = TSRI_STMT_IF, .value = condition, .body = body, .other = other};
  if (like) stmt.is_uniform = like->is_uniform, stmt.has_barrier = like->has_barrier, stmt.pos = like->pos;
  return put_stmt(w, stmt);
}
