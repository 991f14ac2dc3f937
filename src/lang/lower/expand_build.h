// SPDX-License-Identifier: MIT
// Helpers for building expansions (expand.h): short names for single expressions, so that the code reads like
// formulas. Only the expand_*.c files include it.
//
// A `node` is an index in the list. The functions work for f32 and f64; `tsri_expand_consts` holds what differs
// between them.
#ifndef TSRI_LANG_EXPAND_BUILD_H
#define TSRI_LANG_EXPAND_BUILD_H

#include <string.h>

#include "lang/lower/expand.h"

typedef uint32_t node;

// A polynomial, highest power first.
typedef struct tsri_expand_poly {
  const double *c;
  uint32_t count;
} tsri_expand_poly;

typedef struct tsri_expand_consts {
  int mantissa_bits;             // 23, 52
  int64_t bias;                  // 127, 1023
  int64_t sign, magnitude;       // masks
  int64_t mantissa;              // mask
  int64_t infinity, nan;         // bits
  int64_t sqrt_half;             // bits of sqrt(1/2), rounded
  int64_t high_half;             // mask of the upper half of the mantissa
  double rounder;                // adding it leaves the nearest integer in the low bits
  double smallest_normal, lift;  // 2^mantissa_bits
  double log2_e, ln2_hi, ln2_lo;
  double log2_e_lo;  // what log2_e lacks after rounding; f32 only
  double exp_low, exp_high, exp2_low, exp2_high, expm1_low, half_exp_high;  // beyond these bounds the result is the
                                                                            // same as at the bound
  double tanh_limit, tanh_one, expm1_far;
  double half_pi[3], pi[2], two_over_pi;
  double log2_c[2], log10_c[2], log10_2[2];  // 1/ln(2), 1/ln(10), log10(2), each as an upper part with half of the
                                             // bits, and the rest
  double pow_limit;
  double pow_c0[2], pow_c1[2];  // coefficients of log2((1 + s) / (1 - s)) / s, in powers of s^2
  double ln2;
  bool log_by_quotient;  // `log` is R in log(1 + f) = 2 s + s z R(z), s = f / (2 + f), z = s^2; otherwise P
                         // (expand_log.c)
  tsri_expand_poly exp, exp2, log, sin, cos, tan, asin, atan, sinh, tanh, erf_near, erf_far[3], pow_rest;
  double erf_split[2], erf_centre[3], erf_last;  // erf_far[i] is a polynomial in a - erf_centre[i]; from erf_last on
                                                 // the result is 1
  uint32_t erf_far_count;
} tsri_expand_consts;

extern const tsri_expand_consts tsri_expand_f32, tsri_expand_f64;

typedef struct tsri_expander {
  tsri_expansion *out;
  tsri_ir_type type, ints, bools;
  const tsri_expand_consts *k;
  bool fma, is_narrow;
  bool has_quotient, has_exp2, has_root;  // f32, and the options near_quotient, near_exp2 and near_root
  bool is_nan_last;                       // the caller handles NaN afterwards, so the result
                                          // for it does not matter here
  bool is_far;                            // the argument is beyond tsri_expand_limit
  bool asks_by_bits, trusts_nan, rounds_by_products, has_remainder, goes_through_f64;  // from tsri_expand_options
} tsri_expander;

// --- One expression each --------------------------------------------------------------------------------------------

// These functions, which all formulas consist of, are not inline (expand_build.c): as inline functions they would be most of the library's code.
node tsri_expand_put(tsri_expander *e, tsri_ir_expr expr);
node tsri_expand_constant(tsri_expander *e, tsri_ir_type type, uint64_t bits);
node tsri_expand_number(tsri_expander *e, double value);
node tsri_expand_whole(tsri_expander *e, int64_t value);
node tsri_expand_op(tsri_expander *e, tsri_ir_op code, tsri_ir_type type, node a, node b, node c);
node tsri_expand_float_op(tsri_expander *e, tsri_ir_op code, node a, node b);  // the result has the operands' type
node tsri_expand_test(tsri_expander *e, tsri_ir_op code, node a, node b);      // the result is a bool
node tsri_expand_int_op(tsri_expander *e, tsri_ir_op code, node a, node b);
node tsri_expand_shift(tsri_expander *e, tsri_ir_op code, node a, int count);  // by a constant, of integers
node tsri_expand_mad(tsri_expander *e, node a, node b, node c);
node tsri_expand_less(tsri_expander *e, node a, node b);
node tsri_expand_pick(tsri_expander *e, node condition, node yes, node no);
node tsri_expand_bits_of(tsri_expander *e, node a);
node tsri_expand_float_of(tsri_expander *e, node a);

static inline node put(tsri_expander *e, tsri_ir_expr expr) { return tsri_expand_put(e, expr); }
static inline node constant(tsri_expander *e, tsri_ir_type type, uint64_t bits) {
  return tsri_expand_constant(e, type, bits);
}
static inline node num(tsri_expander *e, double value) { return tsri_expand_number(e, value); }
static inline node whole(tsri_expander *e, int64_t value) { return tsri_expand_whole(e, value); }
static inline node op(tsri_expander *e, tsri_ir_op code, tsri_ir_type type, node a, node b, node c) {
  return tsri_expand_op(e, code, type, a, b, c);
}

static inline node add(tsri_expander *e, node a, node b) { return tsri_expand_float_op(e, TSRI_OP_ADD, a, b); }
static inline node sub(tsri_expander *e, node a, node b) { return tsri_expand_float_op(e, TSRI_OP_SUB, a, b); }
static inline node mul(tsri_expander *e, node a, node b) { return tsri_expand_float_op(e, TSRI_OP_MUL, a, b); }
static inline node neg(tsri_expander *e, node a) { return tsri_expand_float_op(e, TSRI_OP_NEG, a, 0); }
// Marks an operation as relaxed (see `lane` in expand.h). Fusing it with the next operation must do no harm.
static inline node freely(tsri_expander *e, node id) {
  e->out->nodes[id].lane = 1;
  return id;
}
static inline node divide(tsri_expander *e, node a, node b) {
  return freely(e, tsri_expand_float_op(e, TSRI_OP_DIV, a, b));
}
static inline node root(tsri_expander *e, node a) { return freely(e, tsri_expand_float_op(e, TSRI_OP_SQRT, a, 0)); }

// a * b + c, rounded once if fma is available, otherwise twice.
static inline node mad(tsri_expander *e, node a, node b, node c) { return tsri_expand_mad(e, a, b, c); }

static inline node lt(tsri_expander *e, node a, node b) { return tsri_expand_less(e, a, b); }
static inline node eq(tsri_expander *e, node a, node b) { return tsri_expand_test(e, TSRI_OP_EQ, a, b); }
static inline node ne(tsri_expander *e, node a, node b) { return tsri_expand_test(e, TSRI_OP_NE, a, b); }
static inline node both(tsri_expander *e, node a, node b) { return tsri_expand_test(e, TSRI_OP_AND, a, b); }
static inline node either(tsri_expander *e, node a, node b) { return tsri_expand_test(e, TSRI_OP_OR, a, b); }
static inline node is_nan(tsri_expander *e, node a) { return tsri_expand_test(e, TSRI_OP_ISNAN, a, 0); }
static inline node pick(tsri_expander *e, node condition, node yes, node no) {
  return tsri_expand_pick(e, condition, yes, no);
}

static inline node bits_of(tsri_expander *e, node a) { return tsri_expand_bits_of(e, a); }
static inline node float_of(tsri_expander *e, node a) { return tsri_expand_float_of(e, a); }
static inline node iop(tsri_expander *e, tsri_ir_op code, node a, node b) { return tsri_expand_int_op(e, code, a, b); }
static inline node iand(tsri_expander *e, node a, int64_t mask) { return iop(e, TSRI_OP_AND, a, whole(e, mask)); }
static inline node shl(tsri_expander *e, node a, int count) { return tsri_expand_shift(e, TSRI_OP_SHL, a, count); }
static inline node shr(tsri_expander *e, node a, int count) { return tsri_expand_shift(e, TSRI_OP_SHR, a, count); }

static inline node plus(tsri_expander *e, node a, int64_t b) { return iop(e, TSRI_OP_ADD, a, whole(e, b)); }
static inline node minus(tsri_expander *e, node a, node b) { return iop(e, TSRI_OP_SUB, a, b); }
static inline node is_zero(tsri_expander *e, node a) { return eq(e, a, whole(e, 0)); }
static inline node one_if(tsri_expander *e, node condition) { return pick(e, condition, whole(e, 1), whole(e, 0)); }

// --- What several functions use -------------------------------------------------------------------------------------

static inline node magnitude(tsri_expander *e, node a) { return float_of(e, iand(e, bits_of(e, a), e->k->magnitude)); }

// `size` (not negative, or NaN) with the sign of x.
static inline node with_sign(tsri_expander *e, node size, node x) {
  return float_of(e, iop(e, TSRI_OP_OR, bits_of(e, size), iand(e, bits_of(e, x), e->k->sign)));
}

// at_most: min(x, bound); at_least: max(x, bound); x if it is NaN.
static inline node at_most(tsri_expander *e, double bound, node x) {
  node limit = num(e, bound);
  return pick(e, lt(e, limit, x), limit, x);
}
static inline node at_least(tsri_expander *e, double bound, node x) {
  node limit = num(e, bound);
  return pick(e, lt(e, x, limit), limit, x);
}

static inline node horner(tsri_expander *e, tsri_expand_poly poly, node x) {
  node p = num(e, poly.c[0]);
  for (uint32_t i = 1; i < poly.count; i++) p = mad(e, x, p, num(e, poly.c[i]));
  return p;
}

static inline node infinity_bits(tsri_expander *e) { return whole(e, e->k->infinity); }
static inline node infinity(tsri_expander *e) { return constant(e, e->type, (uint64_t)e->k->infinity); }
static inline node not_a_number(tsri_expander *e) { return constant(e, e->type, (uint64_t)e->k->nan); }

// A value of higher precision: hi + lo.
typedef struct pair {
  node hi, lo;
} pair;

// a + b exactly.
static inline pair two_sum(tsri_expander *e, node a, node b) {
  node hi = add(e, a, b), part = sub(e, hi, a);
  node lo = add(e, sub(e, a, sub(e, hi, part)), sub(e, b, part));
  return (pair){hi, lo};
}

static inline pair split(tsri_expander *e, node a) {
  node hi = float_of(e, iand(e, bits_of(e, a), e->k->high_half));
  return (pair){hi, sub(e, a, hi)};
}

// a * b exactly. The rounding error comes from fma, or from the products of the operands' halves, which are exact.
// (With f64's 53 bits the lowest product has one bit too many, which does not matter.)
static inline pair two_product(tsri_expander *e, node a, node b) {
  node hi = mul(e, a, b);
  if (e->fma) return (pair){hi, op(e, TSRI_OP_FMA, e->type, a, b, neg(e, hi))};
  pair x = split(e, a), y = split(e, b);
  node lo = sub(e, mul(e, x.hi, y.hi), hi);
  lo = add(e, add(e, lo, mul(e, x.hi, y.lo)), mul(e, x.lo, y.hi));
  return (pair){hi, add(e, lo, mul(e, x.lo, y.lo))};
}

// --- The functions, by file -----------------------------------------------------------------------------------------

// x = k ln2 + r; `biased_k` is k + 2 bias in the low bits of an integer.
typedef struct exp_nodes {
  node k, r, biased_k;
} exp_nodes;

// x = k pi/2 + hi + lo
typedef struct trig_nodes {
  node hi, lo, k;  // k: only its low bits
} trig_nodes;

// expand_reduce.c
trig_nodes tsri_expand_reduce(tsri_expander *e, node x);
// expand_exp.c
node tsri_expand_scale(tsri_expander *e, node p, node biased_k);
node tsri_expand_exp(tsri_expander *e, node x);
node tsri_expand_exp2(tsri_expander *e, node x);
node tsri_expand_expm1(tsri_expander *e, node x);
node tsri_expand_sinh(tsri_expander *e, node x);
node tsri_expand_cosh(tsri_expander *e, node x);
node tsri_expand_tanh(tsri_expander *e, node x);
node tsri_expand_erf(tsri_expander *e, node x);
// expand_log.c
node tsri_expand_log(tsri_expander *e, node x);
node tsri_expand_log2(tsri_expander *e, node x);
node tsri_expand_log10(tsri_expander *e, node x);
node tsri_expand_log1p(tsri_expander *e, node x);
node tsri_expand_pow(tsri_expander *e, node x, node y);
// expand_trig.c
node tsri_expand_sin(tsri_expander *e, node x);
node tsri_expand_cos(tsri_expander *e, node x);
node tsri_expand_tan(tsri_expander *e, node x);
node tsri_expand_asin(tsri_expander *e, node x);
node tsri_expand_acos(tsri_expander *e, node x);
node tsri_expand_atan(tsri_expander *e, node x);
node tsri_expand_atan2(tsri_expander *e, node y, node x);
// expand_convert.c
node tsri_expand_integer_to_bf16(tsri_expander *e, node x);
node tsri_expand_float_to_int(tsri_expander *e, tsr_dtype to, node x);
node tsri_expand_float_to_bool(tsri_expander *e, node x);
node tsri_expand_f64_to_half(tsri_expander *e, tsr_dtype to, node x);
node tsri_expand_word_to_f32(tsri_expander *e, node x);
// expand_half.c
node tsri_expand_round_f16(tsri_expander *e, node x);
node tsri_expand_round_bf16(tsri_expander *e, node x);
node tsri_expand_encode_f16(tsri_expander *e, node x);
node tsri_expand_decode_f16(tsri_expander *e, node half);
node tsri_expand_encode_bf16(tsri_expander *e, node x, bool is_upper);
node tsri_expand_decode_bf16(tsri_expander *e, node half);
// expand_integer.c: on integers
node tsri_expand_integer_div(tsri_expander *e, node a, node b);
node tsri_expand_integer_rem(tsri_expander *e, node a, node b);
node tsri_expand_integer_min(tsri_expander *e, node a, node b);
node tsri_expand_integer_max(tsri_expander *e, node a, node b);
node tsri_expand_integer_abs(tsri_expander *e, node a);
node tsri_expand_integer_sign(tsri_expander *e, node a);
node tsri_expand_popcount(tsri_expander *e, node a);
node tsri_expand_clz(tsri_expander *e, node a);
node tsri_expand_ctz(tsri_expander *e, node a);
node tsri_expand_mulhi(tsri_expander *e, node a, node b);
// expand_nan.c
node tsri_expand_isnan(tsri_expander *e, node a);
node tsri_expand_isinf(tsri_expander *e, node a);
node tsri_expand_isfinite(tsri_expander *e, node a);
node tsri_expand_float_neg(tsri_expander *e, node a);
node tsri_expand_float_abs(tsri_expander *e, node a);
node tsri_expand_eq(tsri_expander *e, node a, node b);
node tsri_expand_ne(tsri_expander *e, node a, node b);
node tsri_expand_lt(tsri_expander *e, node a, node b);
node tsri_expand_le(tsri_expander *e, node a, node b);
node tsri_expand_gt(tsri_expander *e, node a, node b);
node tsri_expand_ge(tsri_expander *e, node a, node b);
node tsri_expand_float_min(tsri_expander *e, node a, node b);
node tsri_expand_float_max(tsri_expander *e, node a, node b);
node tsri_expand_float_sign(tsri_expander *e, node a);
node tsri_expand_rsqrt(tsri_expander *e, node a);

// A float taken apart.
typedef struct float_parts {
  node sign, mantissa, exponent;  // mantissa: its highest bit is at the place of the implicit 1; 0 for 0
                                  // exponent: of that bit, plus bias and tsri_expand_exponent_offset
  node is_finite, is_subnormal;   // 0 counts as subnormal
} float_parts;

// Added to exponents so that sums and differences of them stay positive.
static inline int64_t tsri_expand_exponent_offset(const tsri_expander *e) { return 8 * (e->k->bias + 1); }

// expand_fma.c
node tsri_expand_fma(tsri_expander *e, node x, node y, node z);
float_parts tsri_expand_unpack(tsri_expander *e, node x);
// The bits of the float nearest to a positive number of two words. `exponent`: of the fourth highest bit, with the same
// bias and offset as in float_parts.
node tsri_expand_round_pair(tsri_expander *e, pair number, node exponent);
// expand_divide.c
node tsri_expand_float_div(tsri_expander *e, node a, node b);
node tsri_expand_remainder(tsri_expander *e, node c, node a, node b);  // c - a * b, exactly if the product is near c
node tsri_expand_div_is_far(tsri_expander *e, node a, node b);
// expand_root.c
node tsri_expand_sqrt(tsri_expander *e, node x);

#endif
