// SPDX-License-Identifier: MIT
// Helpers for building kernels that stop and continue (resume.c): short names for single expressions and statements.
// Only the resume*.c files include it.
#ifndef TSRI_LANG_RESUME_BUILD_H
#define TSRI_LANG_RESUME_BUILD_H

#include "core/alloc.h"
#include "lang/ir/ir.h"

typedef struct list {
  uint32_t first, last;
} list;

typedef struct range {
  uint32_t low, high;  // first and last point inside; high < low: none
} range;

typedef struct resumer {
  const tsri_kernel *from;
  tsri_ir_expr *exprs;
  tsri_ir_stmt *stmts;
  uint32_t expr_count, expr_capacity, stmt_count, stmt_capacity;
  uint32_t points;
  uint32_t at, used, point, vote, index;  // the new variables
  uint32_t rounds;                        // iterations that an item may use in one launch
  uint32_t state, again;                  // the buffer for saved state; the parameter that is 1 from the second launch
                                          // on
  uint32_t item_words, shared_words;      // words saved per item, and per work-group for its shared arrays
  bool votes;
  int depth;
  bool has_failed;  // memory is out, or the nesting is too deep
} resumer;

static inline uint32_t words_of(tsri_ir_type type) {
  return type.lanes * (tsr_dtype_bytes((tsr_dtype)type.dtype) == 8 ? 2u : 1u);
}

static inline tsri_ir_type element_type(const tsri_ir_array *array) {
  return (tsri_ir_type){(uint8_t)tsri_ir_compute_dtype((tsr_dtype)array->storage), 1};
}

static inline uint32_t array_words(const tsri_ir_array *arrays, uint32_t count) {
  uint32_t words = 0;
  for (uint32_t i = 0; i < count; i++) words += arrays[i].count * words_of(element_type(&arrays[i]));
  return words;
}

static inline uint32_t group_items(const tsri_kernel *k) {
  return k->group_size[0] * k->group_size[1] * k->group_size[2];
}

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

static inline uint32_t put(resumer *r, tsri_ir_expr expr) {
  void *data = r->exprs;
  if (!grow(&data, &r->expr_capacity, r->expr_count, sizeof expr)) r->has_failed = true;
  r->exprs = data;
  if (r->has_failed) return 0;
  r->exprs[r->expr_count] = expr;
  return r->expr_count++;
}

static inline uint32_t number(resumer *r, uint32_t value) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = u32_type, .bits = value});
}

static inline uint32_t variable(resumer *r, uint32_t var, tsri_ir_type type) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_VAR, .type = type, .object = var});
}

static inline uint32_t word(resumer *r, uint32_t var) { return variable(r, var, u32_type); }

static inline uint32_t op(resumer *r, tsri_ir_op code, tsri_ir_type type, uint32_t a, uint32_t b, uint32_t c) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_OP, .op = (uint8_t)code, .type = type, .a = a, .b = b, .c = c});
}

static inline uint32_t add(resumer *r, uint32_t a, uint32_t b) { return op(r, TSRI_OP_ADD, u32_type, a, b, 0); }
static inline uint32_t mul(resumer *r, uint32_t a, uint32_t b) { return op(r, TSRI_OP_MUL, u32_type, a, b, 0); }
static inline uint32_t test(resumer *r, tsri_ir_op code, uint32_t a, uint32_t b) {
  return op(r, code, bool_type, a, b, 0);
}

static inline uint32_t lazily(resumer *r, tsri_ir_expr_kind kind, uint32_t a, uint32_t b) {
  return put(r, (tsri_ir_expr){.kind = (uint8_t)kind, .type = bool_type, .a = a, .b = b});
}

static inline uint32_t cast(resumer *r, uint32_t a, tsri_ir_expr_kind kind, tsri_ir_type type) {
  return put(r, (tsri_ir_expr){.kind = (uint8_t)kind, .dtype = type.dtype, .type = type, .a = a});
}

static inline uint32_t at_is(resumer *r, uint32_t value) {
  return test(r, TSRI_OP_EQ, word(r, r->at), number(r, value));
}
static inline uint32_t runs(resumer *r) { return at_is(r, 0); }

// Special values of `at`, larger than all points.
#define STOPPED 0xfffffffeu
#define DONE    0xffffffffu

static inline uint32_t looks_in(resumer *r, range points) {
  uint32_t place = op(r, TSRI_OP_SUB, u32_type, word(r, r->at), number(r, points.low), 0);
  return test(r, TSRI_OP_LE, place, number(r, points.high - points.low));
}

static inline uint32_t runs_or_looks_in(resumer *r, range points) {
  return test(r, TSRI_OP_OR, runs(r), looks_in(r, points));
}

static inline uint32_t id(resumer *r, tsri_ir_id which, uint32_t axis) {
  return put(r, (tsri_ir_expr){.kind = TSRI_EXPR_ID,
                               .op = (uint8_t)which,
                               .lane = (uint8_t)axis,
                               .is_uniform = tsri_ir_id_infos[which].is_uniform,
                               .type = u32_type});
}

// --- Statements -------------------------------------------------------------------------------------------------------

static inline uint32_t put_stmt(resumer *r, tsri_ir_stmt stmt) {
  void *data = r->stmts;
  if (!grow(&data, &r->stmt_capacity, r->stmt_count, sizeof stmt)) r->has_failed = true;
  r->stmts = data;
  if (r->has_failed) return 0;
  r->stmts[r->stmt_count] = stmt;
  return r->stmt_count++;
}

static inline void append(resumer *r, list *to, uint32_t stmt) {
  if (!stmt) return;
  if (to->last) r->stmts[to->last].next = stmt;
  else to->first = stmt;
  to->last = stmt;
}

static inline void assign(resumer *r, list *to, uint32_t var, uint32_t value) {
  append(r, to, put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_ASSIGN, .var = var, .value = value}));
}

// `like`: the statement that this IF replaces; it takes over its flags.
static inline uint32_t put_if(resumer *r, const tsri_ir_stmt *like, uint32_t condition, uint32_t body, uint32_t other) {
  tsri_ir_stmt stmt = {.kind = TSRI_STMT_IF, .value = condition, .body = body, .other = other};
  if (like) stmt.is_uniform = like->is_uniform, stmt.has_barrier = like->has_barrier, stmt.pos = like->pos;
  return put_stmt(r, stmt);
}

static inline uint32_t put_break_if(resumer *r, uint32_t condition) {
  return put_if(r, NULL, condition, put_stmt(r, (tsri_ir_stmt){.kind = TSRI_STMT_BREAK}), 0);
}

static inline list stop_at(resumer *r, uint32_t point) {
  list l = {0};
  assign(r, &l, r->point, number(r, point));
  assign(r, &l, r->at, number(r, STOPPED));
  return l;
}

static inline void arrive(resumer *r, list *to, uint32_t point) {
  list l = {0};
  assign(r, &l, r->at, number(r, 0));
  append(r, to, put_if(r, NULL, at_is(r, point), l.first, 0));
}

static inline void join(resumer *r, list *to, list more) {
  if (!more.first) return;
  append(r, to, more.first);
  to->last = more.last;
}

// --- By file ----------------------------------------------------------------------------------------------------------

// resume_walk.c: rewrites the statements of a block, so that an item runs, skips or enters each. `is_in_region`: a
// vote already follows the block. `out_points`: the points inside.
list tsri_resume_block(resumer *r, uint32_t first, bool is_in_region, range *out_points);

// resume_state.c: the number of words that an item saves; then the code before the kernel's body (which initialises or
// restores variables) and after it (which saves them).
uint32_t tsri_resume_item_words(const tsri_kernel *kernel);
uint32_t tsri_resume_shared_words(const tsri_kernel *kernel);
void tsri_resume_begin(resumer *r, list *to);
void tsri_resume_end(resumer *r, list *to);

#endif
