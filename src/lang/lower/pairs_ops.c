// SPDX-License-Identifier: MIT
// Operations on pairs of words, but for division.
#include "lang/lower/pairs_build.h"

// --- Arithmetic ---------------------------------------------------------------------------------------------------------

word_pair tsri_pair_add(const pair_writer *p, word_pair a, word_pair b) {
  uint32_t low = kept(p, wop(p, TSRI_OP_ADD, a.low, b.low));
  uint32_t carry = to_word(p, is(p, TSRI_OP_LT, low, a.low));
  return (word_pair){low, kept(p, wop(p, TSRI_OP_ADD, wop(p, TSRI_OP_ADD, a.high, b.high), carry))};
}

word_pair tsri_pair_sub(const pair_writer *p, word_pair a, word_pair b) {
  uint32_t borrow = to_word(p, is(p, TSRI_OP_LT, a.low, b.low));
  uint32_t high = wop(p, TSRI_OP_SUB, wop(p, TSRI_OP_SUB, a.high, b.high), borrow);
  return kept_pair(p, wop(p, TSRI_OP_SUB, a.low, b.low), high);
}

word_pair tsri_pair_neg(const pair_writer *p, word_pair a) {
  uint32_t zero = words(p, 0);
  return tsri_pair_sub(p, (word_pair){kept(p, zero), kept(p, words(p, 0))}, a);
}

static word_pair multiply(const pair_writer *p, word_pair a, word_pair b) {
  uint32_t cross = wop(p, TSRI_OP_ADD, wop(p, TSRI_OP_MUL, a.low, b.high), wop(p, TSRI_OP_MUL, a.high, b.low));
  uint32_t high = wop(p, TSRI_OP_ADD, wop(p, TSRI_OP_MULHI, a.low, b.low), cross);
  return kept_pair(p, wop(p, TSRI_OP_MUL, a.low, b.low), high);
}

static uint32_t is_negative(const pair_writer *p, word_pair a) {
  return is(p, TSRI_OP_GE, a.high, words(p, 0x80000000));
}

word_pair tsri_pair_abs(const pair_writer *p, word_pair a) {
  word_pair minus = tsri_pair_neg(p, a);
  return pick_pair(p, is_negative(p, a), minus, a);
}

static word_pair sign_of(const pair_writer *p, word_pair a) {
  uint32_t high = kept(p, sign_bits(p, a.high));
  uint32_t is_there = is(p, TSRI_OP_NE, wop(p, TSRI_OP_OR, a.low, a.high), words(p, 0));
  return (word_pair){kept(p, wop(p, TSRI_OP_OR, high, to_word(p, is_there))), high};
}

// --- Shifts -------------------------------------------------------------------------------------------------------------

// The bits that a shift by n moves from one word to the other: `from` shifted the other way by 32 - n; 0 if n is 0.
static uint32_t carried(const pair_writer *p, tsri_ir_op code, uint32_t from, uint32_t n) {
  uint32_t back = wop(p, code, from, wop(p, TSRI_OP_SUB, words(p, 32), n));
  return pick(p, is(p, TSRI_OP_NE, n, words(p, 0)), back, words(p, 0));
}

static uint32_t is_far(const pair_writer *p, uint32_t count) {
  return kept(p, is(p, TSRI_OP_NE, wop(p, TSRI_OP_AND, count, words(p, 32)), words(p, 0)));
}

word_pair tsri_pair_shl(const pair_writer *p, word_pair a, uint32_t count) {
  uint32_t n = kept(p, wop(p, TSRI_OP_AND, count, words(p, 31))), far = is_far(p, count);
  uint32_t low = kept(p, wop(p, TSRI_OP_SHL, a.low, n));
  uint32_t high = wop(p, TSRI_OP_OR, wop(p, TSRI_OP_SHL, a.high, n), carried(p, TSRI_OP_SHR, a.low, n));
  return kept_pair(p, pick(p, far, words(p, 0), low), pick(p, far, low, high));
}

static word_pair shift_right(const pair_writer *p, word_pair a, uint32_t count) {
  uint32_t n = kept(p, wop(p, TSRI_OP_AND, count, words(p, 31))), far = is_far(p, count);
  uint32_t high = kept(p, no_sign(p, op(&p->h->w, TSRI_OP_SHR, of_dtype(p, TSR_I32), with_sign(p, a.high), n, 0)));
  uint32_t low = wop(p, TSRI_OP_OR, wop(p, TSRI_OP_SHR, a.low, n), carried(p, TSRI_OP_SHL, a.high, n));
  return kept_pair(p, pick(p, far, high, low), pick(p, far, sign_bits(p, a.high), high));
}

// --- Counts -------------------------------------------------------------------------------------------------------------

static uint32_t count(const pair_writer *p, tsri_ir_op code, uint32_t a) { return wop(p, code, a, 0); }

// Counts the zeros of `first`; if that word is 0, adds those of `other`.
static uint32_t zeros(const pair_writer *p, tsri_ir_op code, uint32_t first, uint32_t other) {
  uint32_t more = wop(p, TSRI_OP_ADD, count(p, code, other), words(p, 32));
  return pick(p, is(p, TSRI_OP_EQ, first, words(p, 0)), more, count(p, code, first));
}

static word_pair counted(const pair_writer *p, tsri_ir_op code, word_pair a) {
  uint32_t sum = 0;
  if (code == TSRI_OP_POPCOUNT) sum = wop(p, TSRI_OP_ADD, count(p, code, a.low), count(p, code, a.high));
  if (code == TSRI_OP_CLZ) sum = zeros(p, code, a.high, a.low);
  if (code == TSRI_OP_CTZ) sum = zeros(p, code, a.low, a.high);
  return kept_pair(p, sum, words(p, 0));
}

// --- All of them --------------------------------------------------------------------------------------------------------

uint32_t tsri_pair_compare(const pair_writer *p, tsri_ir_op code, word_pair a, word_pair b) {
  rewriter *w = &p->h->w;
  tsri_ir_type bools = of_dtype(p, TSR_BOOL);
  if (code == TSRI_OP_EQ || code == TSRI_OP_NE) {
    tsri_ir_op join = code == TSRI_OP_EQ ? TSRI_OP_AND : TSRI_OP_OR;
    return op(w, join, bools, is(p, code, a.low, b.low), is(p, code, a.high, b.high), 0);
  }
  uint32_t by_high = is(p, code, with_sign(p, a.high), with_sign(p, b.high));
  return op(w, TSRI_OP_SELECT, bools, is(p, TSRI_OP_EQ, a.high, b.high), is(p, code, a.low, b.low), by_high);
}

word_pair tsri_pair_operation(const pair_writer *p, tsri_ir_op code, word_pair a, word_pair b, uint32_t count) {
  switch (code) {
    case TSRI_OP_NEG:
      return tsri_pair_neg(p, a);
    case TSRI_OP_ADD:
      return tsri_pair_add(p, a, b);
    case TSRI_OP_SUB:
      return tsri_pair_sub(p, a, b);
    case TSRI_OP_MUL:
      return multiply(p, a, b);
    case TSRI_OP_SHL:
      return tsri_pair_shl(p, a, count);
    case TSRI_OP_SHR:
      return shift_right(p, a, count);
    case TSRI_OP_MIN:
      return pick_pair(p, tsri_pair_compare(p, TSRI_OP_LT, a, b), a, b);
    case TSRI_OP_MAX:
      return pick_pair(p, tsri_pair_compare(p, TSRI_OP_GT, a, b), a, b);
    case TSRI_OP_ABS:
      return tsri_pair_abs(p, a);
    case TSRI_OP_SIGN:
      return sign_of(p, a);
    case TSRI_OP_POPCOUNT:
    case TSRI_OP_CLZ:
    case TSRI_OP_CTZ:
      return counted(p, code, a);
    default:  // bit by bit
      return kept_pair(p, wop(p, code, a.low, b.low), wop(p, code, a.high, b.high));
  }
}
