// SPDX-License-Identifier: MIT
// Argument reduction for large arguments of circular functions: x = k pi/2 + r for any number x (Payne and Hanek's
// method).
//
// x is an integer m times 2^E. Its product with 2/pi is a sum of products of 32-bit words. Only those count that are
// neither multiples of 4 nor too small, so a few words of 2/pi, selected by E, are enough. All integers here are u32,
// so that it works on devices without i64, and k and r are the same on all devices.
#include "lang/lower/expand_build.h"

enum {
  LEADING = 3,  // zero words before those of 2/pi, for the smallest E
  TABLE = LEADING + 37,
  MOST_WORDS = 3,     // words of m, shifted by up to 31 bits
  MOST_FRACTION = 5,  // words of the product after the binary point
  MOST_WINDOW = MOST_WORDS + MOST_FRACTION
};

static const uint32_t two_over_pi[TABLE] = {
    0,          0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
    0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c,
    0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
    0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66,
    0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046,
};

// Sizes for f32 and f64: words of the shifted m; words after the binary point (of which the last one only provides its
// carry in f64); bits of the table index; largest index.
typedef struct sizes {
  int words, fraction, index_bits, last_index;
  int pieces, piece_bits;  // the fraction is split into pieces that convert to floats exactly
} sizes;
static const sizes sizes_f32 = {2, 3, 3, 5, 6, 16}, sizes_f64 = {3, 5, 6, 32, 4, 32};

// --- u32, whatever the function's type -------------------------------------------------------------------------------

static tsri_ir_type u32_type(const tsri_expander *e) { return (tsri_ir_type){TSR_U32, e->type.lanes}; }
static node word(tsri_expander *e, uint32_t value) { return constant(e, u32_type(e), value); }
static node word_op(tsri_expander *e, tsri_ir_op code, node a, node b) { return op(e, code, u32_type(e), a, b, 0); }
static node to_word(tsri_expander *e, node a) {
  if (e->ints.dtype == TSR_U32) return a;
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_U32, .type = u32_type(e), .a = a});
}
static node from_word(tsri_expander *e, node a) {
  if (e->ints.dtype == TSR_U32) return a;
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = TSR_I64, .type = e->ints, .a = a});
}
static node word_to_float(tsri_expander *e, node a) {
  return put(e, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = e->type.dtype, .type = e->type, .a = a});
}

// --- m and the words of 2/pi it meets --------------------------------------------------------------------------------

typedef struct argument {
  node m[2];     // |x| = m 2^E, low word first
  node shifted;  // E + 64
} argument;

static argument take_apart(tsri_expander *e, node x) {
  node bits = bits_of(e, x), high, exponent;
  argument a = {.m = {to_word(e, bits), word(e, 0)}};
  if (e->ints.dtype == TSR_U32) {
    a.m[0] = word_op(e, TSRI_OP_OR, word_op(e, TSRI_OP_AND, bits, word(e, 0x7fffff)), word(e, 0x800000));
    exponent = word_op(e, TSRI_OP_AND, shr(e, bits, 23), word(e, 0xff));
  } else {
    high = to_word(e, shr(e, bits, 32));
    a.m[1] = word_op(e, TSRI_OP_OR, word_op(e, TSRI_OP_AND, high, word(e, 0xfffff)), word(e, 0x100000));
    exponent = word_op(e, TSRI_OP_AND, word_op(e, TSRI_OP_SHR, high, word(e, 20)), word(e, 0x7ff));
  }
  a.shifted = word_op(e, TSRI_OP_ADD, exponent, word(e, (uint32_t)(64 - e->k->bias - e->k->mantissa_bits)));
  return a;
}

// m << (shifted & 31), low word first.
static void shift_mantissa(tsri_expander *e, const argument *a, node *out_words) {
  node left = word_op(e, TSRI_OP_AND, a->shifted, word(e, 31)), right = word_op(e, TSRI_OP_XOR, left, word(e, 31));
  node carried[2];
  for (int i = 0; i < 2; i++) {
    node half = word_op(e, TSRI_OP_SHR, a->m[i], word(e, 1));
    carried[i] = word_op(e, TSRI_OP_SHR, half, right);
  }
  out_words[0] = word_op(e, TSRI_OP_SHL, a->m[0], left);
  out_words[1] = word_op(e, TSRI_OP_OR, word_op(e, TSRI_OP_SHL, a->m[1], left), carried[0]);
  out_words[2] = carried[1];
}

// Selects `count` words of the table from `index` on: each bit of the index halves the list.
static void choose_words(tsri_expander *e, const sizes *s, node index, int count, node *out_words) {
  node list[TABLE];
  int length = s->last_index + count;
  for (int i = 0; i < length; i++) list[i] = word(e, two_over_pi[i]);
  for (int bit = s->index_bits - 1; bit >= 0; bit--) {
    int step = 1 << bit, needed = step - 1 + count;
    node is_set = ne(e, word_op(e, TSRI_OP_AND, index, word(e, (uint32_t)step)), word(e, 0));
    for (int i = 0; i < needed && i + step < length; i++) list[i] = pick(e, is_set, list[i + step], list[i]);
    if (length > needed) length = needed;
  }
  for (int i = 0; i < count; i++) out_words[i] = list[i];
}

// --- The product -----------------------------------------------------------------------------------------------------

typedef struct column {
  node sum, carries;
} column;

static column add_to(tsri_expander *e, column c, node term) {
  node sum = word_op(e, TSRI_OP_ADD, c.sum, term);
  node over = pick(e, lt(e, sum, term), word(e, 1), word(e, 0));
  return (column){sum, word_op(e, TSRI_OP_ADD, c.carries, over)};
}

// Word 0 of the result is the integer part (modulo 2^32); the others are the fraction. Word c is the sum of all
// products that end there.
static void multiply_words(tsri_expander *e, const sizes *s, const node *m, const node *window, node *out_words) {
  node carry = word(e, 0);
  for (int c = s->fraction; c >= 0; c--) {
    column sum = {carry, word(e, 0)};
    for (int i = 0; i < s->words; i++) {
      sum = add_to(e, sum, word_op(e, TSRI_OP_MUL, m[i], window[i + c]));
      if (c < s->fraction) sum = add_to(e, sum, word_op(e, TSRI_OP_MULHI, m[i], window[i + c + 1]));
    }
    out_words[c] = sum.sum;
    carry = sum.carries;
  }
}

// The fraction as a sum of two floats.
static pair fraction_of(tsri_expander *e, const sizes *s, const node *words) {
  pair total = {num(e, 0), num(e, 0)};
  double unit = 1;
  for (int i = 0; i < s->pieces; i++) {
    int at = i * s->piece_bits;
    node piece = words[at / 32];
    if (s->piece_bits == 16) {
      piece = at % 32 ? word_op(e, TSRI_OP_AND, piece, word(e, 0xffff)) : word_op(e, TSRI_OP_SHR, piece, word(e, 16));
    }
    for (int b = 0; b < s->piece_bits; b++) unit /= 2;
    node term = mul(e, word_to_float(e, piece), num(e, unit));
    pair sum = two_sum(e, total.hi, term);
    total = (pair){sum.hi, add(e, total.lo, sum.lo)};
  }
  return total;
}

trig_nodes tsri_expand_reduce(tsri_expander *e, node x) {
  const sizes *s = e->ints.dtype == TSR_U32 ? &sizes_f32 : &sizes_f64;
  argument a = take_apart(e, x);
  node m[MOST_WORDS], window[MOST_WINDOW], product[MOST_FRACTION + 1];
  shift_mantissa(e, &a, m);
  choose_words(e, s, word_op(e, TSRI_OP_SHR, a.shifted, word(e, 5)), s->words + s->fraction, window);
  multiply_words(e, s, m, window, product);

  // Rounds to the nearest integer: from 1/2 on, k goes up and the fraction becomes the distance to it.
  node goes_up = word_op(e, TSRI_OP_SHR, product[1], word(e, 31));
  node k = from_word(e, word_op(e, TSRI_OP_ADD, product[0], goes_up));
  node flip = word_op(e, TSRI_OP_SUB, word(e, 0), goes_up);
  for (int i = 1; i <= s->fraction; i++) product[i] = word_op(e, TSRI_OP_XOR, product[i], flip);
  pair f = fraction_of(e, s, &product[1]);

  pair r = two_product(e, f.hi, num(e, e->k->half_pi[0]));
  node rest = mad(e, f.hi, num(e, e->k->half_pi[1]), mad(e, f.lo, num(e, e->k->half_pi[0]), r.lo));
  node hi = add(e, r.hi, rest), lo = sub(e, rest, sub(e, hi, r.hi));

  node sign = iand(e, bits_of(e, x), e->k->sign), is_negative = ne(e, sign, whole(e, 0));
  node turned = iop(e, TSRI_OP_XOR, sign, pick(e, eq(e, goes_up, word(e, 1)), whole(e, e->k->sign), whole(e, 0)));
  return (trig_nodes){.hi = float_of(e, iop(e, TSRI_OP_XOR, bits_of(e, hi), turned)),
                      .lo = float_of(e, iop(e, TSRI_OP_XOR, bits_of(e, lo), turned)),
                      .k = pick(e, is_negative, iop(e, TSRI_OP_SUB, whole(e, 0), k), k)};
}
