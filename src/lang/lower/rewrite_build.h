// SPDX-License-Identifier: MIT
// Making a kernel out of another: expressions and statements that are added to copies of the original's, one short name for
// each. Included by the passes in this folder only.
#ifndef TSRI_LANG_REWRITE_H
#define TSRI_LANG_REWRITE_H

#include <string.h>

#include "core/alloc.h"
#include "lang/ir/ir.h"

typedef struct list {
  uint32_t first, last;
} list;

typedef struct rewriter {
  const tsri_kernel *from;
  tsri_ir_expr *exprs;
  tsri_ir_stmt *stmts;
  uint32_t expr_count, expr_capacity, stmt_count, stmt_capacity;
  bool has_failed;  // no memory, or nested too deep
} rewriter;

// --- Expressions ------------------------------------------------------------------------------------------------------

static const tsri_ir_type u32_type = {TSR_U32, 1}, bool_type = {TSR_BOOL, 1};

static inline bool grow(void **data, uint32_t *capacity, uint32_t count, size_t size) {
  if (count < *capacity) return true;
  uint32_t wanted = *capacity * 2 + 64;
  void *grown = tsri_realloc(*data, wanted * size);
  if (!grown) return false;
  *data = grown;
  *capacity = wanted;
  return true;
}

// The original's expressions and statements, to be changed and added to. False: no memory.
static inline bool copy_kernel(rewriter *w) {
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

static inline uint32_t put(rewriter *w, tsri_ir_expr expr) {
  void *data = w->exprs;
  if (!grow(&data, &w->expr_capacity, w->expr_count, sizeof expr)) w->has_failed = true;
  w->exprs = data;
  if (w->has_failed) return 0;
  w->exprs[w->expr_count] = expr;
  return w->expr_count++;
}

static inline uint32_t number(rewriter *w, uint32_t value) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = u32_type, .bits = value});
}

static inline uint32_t variable(rewriter *w, uint32_t var, tsri_ir_type type) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = type, .object = var});
}

static inline uint32_t word(rewriter *w, uint32_t var) { return variable(w, var, u32_type); }

static inline uint32_t op(rewriter *w, tsri_ir_op code, tsri_ir_type type, uint32_t a, uint32_t b, uint32_t c) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_OP, .op = (uint8_t)code, .type = type, .a = a, .b = b, .c = c});
}

static inline uint32_t add(rewriter *w, uint32_t a, uint32_t b) { return op(w, TSRI_OP_ADD, u32_type, a, b, 0); }
static inline uint32_t mul(rewriter *w, uint32_t a, uint32_t b) { return op(w, TSRI_OP_MUL, u32_type, a, b, 0); }
static inline uint32_t test(rewriter *w, tsri_ir_op code, uint32_t a, uint32_t b) {
  return op(w, code, bool_type, a, b, 0);
}

static inline uint32_t lazily(rewriter *w, tsri_ir_expr_kind kind, uint32_t a, uint32_t b) {
  return put(w, (tsri_ir_expr){.kind = (uint8_t)kind, .type = bool_type, .a = a, .b = b});
}

static inline uint32_t cast(rewriter *w, uint32_t a, tsri_ir_expr_kind kind, tsri_ir_type type) {
  return put(w, (tsri_ir_expr){.kind = (uint8_t)kind, .dtype = type.dtype, .type = type, .a = a});
}

static inline uint32_t id(rewriter *w, tsri_ir_id which, uint32_t axis) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_ID,
                               .op = (uint8_t)which,
                               .lane = (uint8_t)axis,
                               .is_uniform = tsri_ir_id_infos[which].is_uniform,
                               .type = u32_type});
}

// --- Statements -------------------------------------------------------------------------------------------------------

static inline uint32_t put_stmt(rewriter *w, tsri_ir_stmt stmt) {
  void *data = w->stmts;
  if (!grow(&data, &w->stmt_capacity, w->stmt_count, sizeof stmt)) w->has_failed = true;
  w->stmts = data;
  if (w->has_failed) return 0;
  w->stmts[w->stmt_count] = stmt;
  return w->stmt_count++;
}

static inline void append(rewriter *w, list *to, uint32_t stmt) {
  if (!stmt) return;
  if (to->last) w->stmts[to->last].next = stmt;
  else to->first = stmt;
  to->last = stmt;
}

static inline void assign(rewriter *w, list *to, uint32_t var, uint32_t value) {
  append(w, to, put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_ASSIGN, .var = var, .value = value}));
}

// `like`: whose flags it takes, since it stands in its place.
static inline uint32_t put_if(rewriter *w, const tsri_ir_stmt *like, uint32_t condition, uint32_t body,
                              uint32_t other) {
  tsri_ir_stmt stmt = {.kind = TSRI_STMT_IF, .value = condition, .body = body, .other = other};
  if (like) stmt.is_uniform = like->is_uniform, stmt.has_barrier = like->has_barrier, stmt.pos = like->pos;
  return put_stmt(w, stmt);
}

static inline uint32_t put_break_if(rewriter *w, uint32_t condition) {
  return put_if(w, NULL, condition, put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_BREAK}), 0);
}

static inline void join(rewriter *w, list *to, list more) {
  if (!more.first) return;
  append(w, to, more.first);
  to->last = more.last;
}

#endif
