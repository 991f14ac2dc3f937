// SPDX-License-Identifier: MIT
// Division of pairs of words: a single division if both fit into one word, else bit by bit.
#include "lang/lower/pairs_build.h"

// Variables of an unsigned division. In each of 64 steps, a bit of the dividend leaves `left` at the upper end, and a bit of the quotient enters it at the
// lower end.
typedef struct dividing {
  uint32_t left[2], rest[2];
} dividing;

static uint32_t var_value(const pair_writer *p, uint32_t var) { return variable(&p->h->w, var, u32_type); }

// The high word of (high, low) shifted left by one.
static uint32_t moved_up(const pair_writer *p, uint32_t high, uint32_t low) {
  uint32_t top = wop(p, TSRI_OP_SHR, var_value(p, low), words(p, 31));
  return wop(p, TSRI_OP_OR, wop(p, TSRI_OP_SHL, var_value(p, high), words(p, 1)), top);
}

static list one_step(const pair_writer *at, const dividing *d, word_pair divisor) {
  rewriter *w = &at->h->w;
  list body = {0}, fits = {0};
  pair_writer p = {at->h, &body, 1};
  uint32_t out = kept(&p, wop(&p, TSRI_OP_SHR, var_value(&p, d->rest[1]), words(&p, 31)));
  assign(w, &body, d->rest[1], moved_up(&p, d->rest[1], d->rest[0]));
  assign(w, &body, d->rest[0], moved_up(&p, d->rest[0], d->left[1]));
  assign(w, &body, d->left[1], moved_up(&p, d->left[1], d->left[0]));
  assign(w, &body, d->left[0], wop(&p, TSRI_OP_SHL, var_value(&p, d->left[0]), words(&p, 1)));
  word_pair rest = {var_value(&p, d->rest[0]), var_value(&p, d->rest[1])};
  uint32_t by_low = is(&p, TSRI_OP_GE, rest.low, divisor.low), by_high = is(&p, TSRI_OP_GT, rest.high, divisor.high);
  uint32_t is_equal = is(&p, TSRI_OP_EQ, rest.high, divisor.high);
  uint32_t is_enough = op(w, TSRI_OP_SELECT, bool_type, is_equal, by_low, by_high);
  is_enough = test(w, TSRI_OP_OR, is_enough, is(&p, TSRI_OP_NE, out, words(&p, 0)));
  pair_writer inner = {at->h, &fits, 1};
  word_pair less = tsri_pair_sub(&inner, rest, divisor);
  assign(w, &fits, d->rest[0], less.low);
  assign(w, &fits, d->rest[1], less.high);
  assign(w, &fits, d->left[0], wop(&p, TSRI_OP_OR, var_value(&p, d->left[0]), words(&p, 1)));
  append(w, &body, put_if(w, NULL, is_enough, fits.first, 0));
  return body;
}

static void put_loop(const pair_writer *p, const dividing *d, word_pair divisor, list *to) {
  rewriter *w = &p->h->w;
  uint32_t i = tsri_hoist_var(p->h, u32_type);
  list step = {0}, body = one_step(p, d, divisor);
  assign(w, to, i, number(w, 0));
  assign(w, &step, i, add(w, word(w, i), number(w, 1)));
  append(w, to,
         put_stmt(w, (tsri_ir_stmt){.kind = TSRI_STMT_LOOP,
                                    .value = test(w, TSRI_OP_LT, word(w, i), number(w, 64)),
                                    .body = body.first,
                                    .other = step.first}));
}

word_pair tsri_pair_divide(const pair_writer *p, word_pair a, word_pair b, bool is_remainder) {
  rewriter *w = &p->h->w;
  word_pair dividend = tsri_pair_abs(p, a), divisor = tsri_pair_abs(p, b);
  dividing d;
  for (int i = 0; i < 2; i++) {
    d.left[i] = tsri_hoist_var(p->h, u32_type);
    d.rest[i] = tsri_hoist_var(p->h, u32_type);
    assign(w, p->to, d.left[i], i ? dividend.high : dividend.low);
    assign(w, p->to, d.rest[i], number(w, 0));
  }
  list quick = {0}, slow = {0};
  assign(w, &quick, d.rest[0], wop(p, TSRI_OP_REM, dividend.low, divisor.low));
  assign(w, &quick, d.left[0], wop(p, TSRI_OP_DIV, dividend.low, divisor.low));
  put_loop(p, &d, divisor, &slow);
  uint32_t is_short = is(p, TSRI_OP_EQ, wop(p, TSRI_OP_OR, dividend.high, divisor.high), words(p, 0));
  append(w, p->to, put_if(w, NULL, is_short, quick.first, slow.first));

  const uint32_t *of = is_remainder ? d.rest : d.left;
  word_pair size = {var_value(p, of[0]), var_value(p, of[1])}, minus = tsri_pair_neg(p, size);
  uint32_t sign = is_remainder ? a.high : wop(p, TSRI_OP_XOR, a.high, b.high);
  word_pair result = pick_pair(p, is(p, TSRI_OP_GE, sign, words(p, 0x80000000)), minus, size);
  uint32_t by_zero = is(p, TSRI_OP_EQ, wop(p, TSRI_OP_OR, b.low, b.high), words(p, 0));
  word_pair zero = kept_pair(p, words(p, 0), words(p, 0));
  return pick_pair(p, by_zero, is_remainder ? zero : a, result);
}
