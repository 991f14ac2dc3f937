// SPDX-License-Identifier: MIT
// Helpers for making a kernel out of another one: functions that add expressions and statements to copies of the original's. Included by the passes in this
// folder only.
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
  bool has_failed;  // out of memory, or nested too deeply
} rewriter;

// --- Expressions ------------------------------------------------------------------------------------------------------

static const tsri_ir_type u32_type = {TSR_U32, 1}, bool_type = {TSR_BOOL, 1};

// These functions are not inline (rewrite_build.c).
// Makes room for one more item of an array. False: no memory.
bool tsri_rewrite_grow(void **data, uint32_t *capacity, uint32_t count, size_t size);
// The original's expressions and statements, to be changed and added to. False: no memory.
bool tsri_rewrite_copy(rewriter *w);
uint32_t tsri_rewrite_put(rewriter *w, tsri_ir_expr expr);
uint32_t tsri_rewrite_number(rewriter *w, uint32_t value);
uint32_t tsri_rewrite_variable(rewriter *w, uint32_t var, tsri_ir_type type);
uint32_t tsri_rewrite_op(rewriter *w, tsri_ir_op code, tsri_ir_type type, uint32_t a, uint32_t b, uint32_t c);
uint32_t tsri_rewrite_cast(rewriter *w, uint32_t a, tsri_ir_expr_kind kind, tsri_ir_type type);
uint32_t tsri_rewrite_put_stmt(rewriter *w, tsri_ir_stmt stmt);
void tsri_rewrite_assign(rewriter *w, list *to, uint32_t var, uint32_t value);
uint32_t tsri_rewrite_put_if(rewriter *w, const tsri_ir_stmt *like, uint32_t condition, uint32_t body, uint32_t other);

static inline bool copy_kernel(rewriter *w) { return tsri_rewrite_copy(w); }
static inline uint32_t put(rewriter *w, tsri_ir_expr expr) { return tsri_rewrite_put(w, expr); }
static inline uint32_t number(rewriter *w, uint32_t value) { return tsri_rewrite_number(w, value); }
static inline uint32_t variable(rewriter *w, uint32_t var, tsri_ir_type type) {
  return tsri_rewrite_variable(w, var, type);
}
static inline uint32_t word(rewriter *w, uint32_t var) { return variable(w, var, u32_type); }

static inline uint32_t op(rewriter *w, tsri_ir_op code, tsri_ir_type type, uint32_t a, uint32_t b, uint32_t c) {
  return tsri_rewrite_op(w, code, type, a, b, c);
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
  return tsri_rewrite_cast(w, a, kind, type);
}

static inline uint32_t id(rewriter *w, tsri_ir_id which, uint32_t axis) {
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_ID,
                               .op = (uint8_t)which,
                               .lane = (uint8_t)axis,
                               .is_uniform = tsri_ir_id_infos[which].is_uniform,
                               .type = u32_type});
}

// --- Statements -------------------------------------------------------------------------------------------------------

static inline uint32_t put_stmt(rewriter *w, tsri_ir_stmt stmt) { return tsri_rewrite_put_stmt(w, stmt); }

static inline void append(rewriter *w, list *to, uint32_t stmt) {
  if (!stmt) return;
  if (to->last) w->stmts[to->last].next = stmt;
  else to->first = stmt;
  to->last = stmt;
}

static inline void assign(rewriter *w, list *to, uint32_t var, uint32_t value) {
  tsri_rewrite_assign(w, to, var, value);
}

// `like`: whose flags it takes, since it stands in its place.
static inline uint32_t put_if(rewriter *w, const tsri_ir_stmt *like, uint32_t condition, uint32_t body,
                              uint32_t other) {
  return tsri_rewrite_put_if(w, like, condition, body, other);
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
