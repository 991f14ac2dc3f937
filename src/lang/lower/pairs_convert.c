// SPDX-License-Identifier: MIT
// Conversions between pairs of words and other types.
#include "lang/lower/pairs_build.h"

// --- From other types ---------------------------------------------------------------------------------------------------

enum { BIAS = 127, PLACES = 23 };  // exponent bias and mantissa bits of an f32

// Shifts the significand to where its exponent says. Results for NaN and for numbers from 2^63 on are replaced at the end.
static word_pair from_f32(const pair_writer *p, uint32_t a) {
  uint32_t bits = kept(p, as(p, TSRI_EXPR_BITCAST, TSR_U32, a));
  uint32_t exponent = kept(p, wop(p, TSRI_OP_AND, wop(p, TSRI_OP_SHR, bits, words(p, PLACES)), words(p, 0xff)));
  uint32_t significand = kept(p, wop(p, TSRI_OP_OR, wop(p, TSRI_OP_AND, bits, words(p, 0x7fffff)), words(p, 0x800000)));
  uint32_t up = kept(p, wop(p, TSRI_OP_SUB, exponent, words(p, BIAS + PLACES)));
  word_pair large = tsri_pair_shl(p, (word_pair){significand, kept(p, words(p, 0))}, up);
  uint32_t down = wop(p, TSRI_OP_SHR, significand, wop(p, TSRI_OP_SUB, words(p, BIAS + PLACES), exponent));
  uint32_t is_one = is(p, TSRI_OP_GE, exponent, words(p, BIAS));
  word_pair small = kept_pair(p, pick(p, is_one, down, words(p, 0)), words(p, 0));
  word_pair size = pick_pair(p, is(p, TSRI_OP_GE, exponent, words(p, BIAS + PLACES)), large, small);
  uint32_t negative = kept(p, sign_bits(p, bits)), other = kept(p, wop(p, TSRI_OP_XOR, negative, words(p, ~0u)));
  word_pair most =
      kept_pair(p, wop(p, TSRI_OP_OR, other, words(p, 0)), wop(p, TSRI_OP_XOR, other, words(p, 0x80000000)));
  word_pair minus = tsri_pair_neg(p, size);
  word_pair number = pick_pair(p, is(p, TSRI_OP_NE, negative, words(p, 0)), minus, size);
  word_pair bounded = pick_pair(p, is(p, TSRI_OP_GE, exponent, words(p, BIAS + 63)), most, number);
  uint32_t magnitude = wop(p, TSRI_OP_AND, bits, words(p, 0x7fffffff));
  word_pair zero = kept_pair(p, words(p, 0), words(p, 0));
  return pick_pair(p, is(p, TSRI_OP_GT, magnitude, words(p, 0x7f800000)), zero, bounded);
}

word_pair tsri_pair_from(const pair_writer *p, tsr_dtype dtype, uint32_t a) {
  if (dtype == TSR_F32) return from_f32(p, a);
  if (dtype != TSR_I32) return kept_pair(p, to_word(p, a), words(p, 0));
  uint32_t word = kept(p, no_sign(p, a));
  return (word_pair){word, kept(p, sign_bits(p, word))};
}

// --- To other types -----------------------------------------------------------------------------------------------------

// Rounds once: takes the 32 bits from the highest 1 on, with the lowest bit set if any bit below is set, converts these, and scales the result.
static uint32_t to_float(const pair_writer *p, tsr_dtype dtype, word_pair a) {
  rewriter *w = &p->h->w;
  tsri_ir_type floats = of_dtype(p, TSR_F32);
  word_pair size = tsri_pair_abs(p, a);
  uint32_t n = kept(p, op(w, TSRI_OP_CLZ, of_dtype(p, TSR_U32), size.high, 0, 0));
  word_pair up = tsri_pair_shl(p, size, n);
  uint32_t rest = to_word(p, is(p, TSRI_OP_NE, up.low, words(p, 0)));
  uint32_t top = put(
      w,
      (tsri_ir_expr){
          .kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)dtype, .type = floats, .a = wop(p, TSRI_OP_OR, up.high, rest)});
  uint32_t scale = wop(p, TSRI_OP_SHL, wop(p, TSRI_OP_SUB, words(p, BIAS + 32), n), words(p, PLACES));
  scale = as(p, TSRI_EXPR_BITCAST, TSR_F32, scale);
  uint32_t result = kept(p, op(w, TSRI_OP_MUL, floats, top, scale, 0));
  uint32_t minus = op(w, TSRI_OP_NEG, floats, result, 0, 0);
  uint32_t is_negative = is(p, TSRI_OP_GE, a.high, words(p, 0x80000000));
  return op(w, TSRI_OP_SELECT, floats, is_negative, minus, result);
}

uint32_t tsri_pair_to(const pair_writer *p, tsr_dtype dtype, word_pair a) {
  if (dtype == TSR_F32 || dtype == TSR_BF16) return to_float(p, dtype, a);
  if (dtype == TSR_BOOL) return is(p, TSRI_OP_NE, wop(p, TSRI_OP_OR, a.low, a.high), words(p, 0));
  tsri_ir_type type = of_dtype(p, tsri_ir_compute_dtype(dtype));
  return put(&p->h->w, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)dtype, .type = type, .a = a.low});
}
