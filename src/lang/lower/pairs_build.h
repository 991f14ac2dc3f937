// SPDX-License-Identifier: MIT
// Operations on pairs of words, as functions on expressions. Included by pairs*.c only.
#ifndef TSRI_LANG_PAIRS_BUILD_H
#define TSRI_LANG_PAIRS_BUILD_H

#include "lang/lower/hoist_build.h"

// Two u32 expressions with equal numbers of lanes, which may be used any number of times.
typedef struct word_pair {
  uint32_t low, high;
} word_pair;

// Where operations on pairs are written: statements are appended to `to`; values have `lanes` lanes.
typedef struct pair_writer {
  hoister *h;
  list *to;
  uint8_t lanes;
} pair_writer;

// --- Words --------------------------------------------------------------------------------------------------------------

static inline tsri_ir_type of_dtype(const pair_writer *p, tsr_dtype dtype) {
  return (tsri_ir_type){(uint8_t)dtype, p->lanes};
}

// `value` in every lane.
static inline uint32_t words(const pair_writer *p, uint32_t value) {
  rewriter *w = &p->h->w;
  uint32_t one = number(w, value);
  return p->lanes == 1 ? one : put(w, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .type = of_dtype(p, TSR_U32), .a = one});
}

static inline uint32_t kept(const pair_writer *p, uint32_t value) { return tsri_hoist_value(p->h, p->to, value); }

static inline uint32_t wop(const pair_writer *p, tsri_ir_op code, uint32_t a, uint32_t b) {
  return op(&p->h->w, code, of_dtype(p, TSR_U32), a, b, 0);
}
static inline uint32_t is(const pair_writer *p, tsri_ir_op code, uint32_t a, uint32_t b) {
  return op(&p->h->w, code, of_dtype(p, TSR_BOOL), a, b, 0);
}
static inline uint32_t pick(const pair_writer *p, uint32_t condition, uint32_t yes, uint32_t no) {
  return op(&p->h->w, TSRI_OP_SELECT, of_dtype(p, TSR_U32), condition, yes, no);
}
static inline uint32_t as(const pair_writer *p, tsri_ir_expr_kind kind, tsr_dtype dtype, uint32_t a) {
  return cast(&p->h->w, a, kind, of_dtype(p, dtype));
}
static inline uint32_t to_word(const pair_writer *p, uint32_t a) { return as(p, TSRI_EXPR_CONVERT, TSR_U32, a); }
// with_sign: converts a word to i32; the next function converts back.
static inline uint32_t with_sign(const pair_writer *p, uint32_t a) { return as(p, TSRI_EXPR_BITCAST, TSR_I32, a); }
static inline uint32_t no_sign(const pair_writer *p, uint32_t a) { return as(p, TSRI_EXPR_BITCAST, TSR_U32, a); }
// The sign of a word, in all of its bits.
static inline uint32_t sign_bits(const pair_writer *p, uint32_t a) {
  uint32_t all = op(&p->h->w, TSRI_OP_SHR, of_dtype(p, TSR_I32), with_sign(p, a), words(p, 31), 0);
  return no_sign(p, all);
}

// --- Pairs --------------------------------------------------------------------------------------------------------------

static inline word_pair kept_pair(const pair_writer *p, uint32_t low, uint32_t high) {
  uint32_t first = kept(p, low);
  return (word_pair){first, kept(p, high)};
}
static inline word_pair pick_pair(const pair_writer *p, uint32_t condition, word_pair yes, word_pair no) {
  uint32_t which = kept(p, condition);
  return kept_pair(p, pick(p, which, yes.low, no.low), pick(p, which, yes.high, no.high));
}

word_pair tsri_pair_add(const pair_writer *p, word_pair a, word_pair b);
word_pair tsri_pair_sub(const pair_writer *p, word_pair a, word_pair b);
word_pair tsri_pair_neg(const pair_writer *p, word_pair a);
word_pair tsri_pair_abs(const pair_writer *p, word_pair a);
word_pair tsri_pair_shl(const pair_writer *p, word_pair a, uint32_t count);
// An operation on i64 that gives i64; `count` is the second operand of a shift.
word_pair tsri_pair_operation(const pair_writer *p, tsri_ir_op code, word_pair a, word_pair b, uint32_t count);
// A comparison of i64, as a bool.
uint32_t tsri_pair_compare(const pair_writer *p, tsri_ir_op code, word_pair a, word_pair b);
// Conversions: to i64 from another type, and to `dtype` from i64.
word_pair tsri_pair_from(const pair_writer *p, tsr_dtype dtype, uint32_t a);
uint32_t tsri_pair_to(const pair_writer *p, tsr_dtype dtype, word_pair a);
// DIV or REM, of one lane.
word_pair tsri_pair_divide(const pair_writer *p, word_pair a, word_pair b, bool is_remainder);

#endif
