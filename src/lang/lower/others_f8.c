// SPDX-License-Identifier: MIT
// Conversions between codes of f8 and the f32 that they represent.
#include "lang/lower/others_build.h"

enum { F32_FRACTION = 23, F32_BIAS = 127, F32_INFINITY = 0x7f800000, F32_NAN = 0x7fc00000 };

typedef struct f8_format {
  uint32_t fraction, bias;  // bits of the fraction; what is added to the exponent
  uint32_t overflow, nan;   // codes without sign; those from `overflow` on are infinity or NaN
} f8_format;

static f8_format format_of(tsr_dtype dtype) {
  return dtype == TSR_F8_E4M3 ? (f8_format){3, 7, 0x7f, 0x7f} : (f8_format){2, 15, 0x7c, 0x7e};
}

static uint32_t word_const(const other_writer *p, uint32_t value) { return constant(p, TSR_U32, value); }

static uint32_t calc32(const other_writer *p, tsri_ir_op code, uint32_t a, uint32_t b) {
  return calc(p, code, TSR_U32, a, b);
}

// The bits of 2^exponent as an f32.
static uint32_t power(int exponent) { return (uint32_t)(F32_BIAS + exponent) << F32_FRACTION; }

// Codes below 2^fraction are subnormal: multiples of the smallest number. For the others, exponent and fraction are shifted into place, and the exponent's bias
// is adjusted.
uint32_t tsri_f8_decoded(const other_writer *p, uint32_t code, tsr_dtype dtype) {
  f8_format f = format_of(dtype);
  uint32_t all = keep(p, code), rest = keep(p, calc32(p, TSRI_OP_AND, all, word_const(p, 0x7f)));
  uint32_t least = constant(p, TSR_F32, power(1 - (int)f.bias - (int)f.fraction));
  uint32_t small = bits_as(p, TSR_U32, calc(p, TSRI_OP_MUL, TSR_F32, convert(p, TSR_F32, rest), least));
  uint32_t moved = calc32(p, TSRI_OP_SHL, rest, word_const(p, F32_FRACTION - f.fraction));
  uint32_t large = keep(p, calc32(p, TSRI_OP_ADD, moved, word_const(p, (F32_BIAS - f.bias) << F32_FRACTION)));
  uint32_t is_small = compare(p, TSRI_OP_LT, rest, word_const(p, 1u << f.fraction));
  uint32_t number = choose(p, TSR_U32, is_small, small, large);
  uint32_t special =
      dtype == TSR_F8_E4M3 ? word_const(p, F32_NAN) : calc32(p, TSRI_OP_OR, large, word_const(p, F32_INFINITY));
  uint32_t size = choose(p, TSR_U32, compare(p, TSRI_OP_GE, rest, word_const(p, f.overflow)), special, number);
  uint32_t sign = calc32(p, TSRI_OP_SHL, calc32(p, TSRI_OP_AND, all, word_const(p, 0x80)), word_const(p, 24));
  return bits_as(p, TSR_F32, calc32(p, TSRI_OP_OR, size, sign));
}

// Small numbers: adding a number whose last bit has the value of f8's smallest subnormal rounds to a multiple of that, which is then in the low bits of the
// sum. Larger numbers are rounded as integers: adding half of the last bit, minus one unless the last kept bit is odd; this carries into the exponent, and from
// the largest number to the code after it.
uint32_t tsri_f8_encoded(const other_writer *p, uint32_t value, tsr_dtype dtype) {
  f8_format f = format_of(dtype);
  uint32_t dropped = F32_FRACTION - f.fraction;
  uint32_t bits = keep(p, bits_as(p, TSR_U32, value));
  uint32_t size = keep(p, calc32(p, TSRI_OP_AND, bits, word_const(p, 0x7fffffff)));
  uint32_t base = power(F32_FRACTION + 1 - (int)f.bias - (int)f.fraction);
  uint32_t sum = calc(p, TSRI_OP_ADD, TSR_F32, bits_as(p, TSR_F32, size), constant(p, TSR_F32, base));
  uint32_t small = calc32(p, TSRI_OP_SUB, bits_as(p, TSR_U32, sum), word_const(p, base));
  uint32_t moved = keep(p, calc32(p, TSRI_OP_SUB, size, word_const(p, (F32_BIAS - f.bias) << F32_FRACTION)));
  uint32_t is_odd = calc32(p, TSRI_OP_AND, calc32(p, TSRI_OP_SHR, moved, word_const(p, dropped)), word_const(p, 1));
  uint32_t half = calc32(p, TSRI_OP_ADD, is_odd, word_const(p, (1u << (dropped - 1)) - 1));
  uint32_t large = calc32(p, TSRI_OP_SHR, calc32(p, TSRI_OP_ADD, moved, half), word_const(p, dropped));
  uint32_t is_small = compare(p, TSRI_OP_LT, size, word_const(p, power(1 - (int)f.bias)));
  uint32_t number = choose(p, TSR_U32, is_small, small, calc32(p, TSRI_OP_MIN, large, word_const(p, f.overflow)));
  uint32_t is_nan = compare(p, TSRI_OP_GT, size, word_const(p, F32_INFINITY));
  uint32_t code = choose(p, TSR_U32, is_nan, word_const(p, f.nan), number);
  uint32_t sign = calc32(p, TSRI_OP_AND, calc32(p, TSRI_OP_SHR, bits, word_const(p, 24)), word_const(p, 0x80));
  return calc32(p, TSRI_OP_OR, code, sign);
}

// The bits of an f32, as an integer, are ordered by magnitude, so subtracting 1 gives the next number towards 0. NaN stays NaN: its last bit does not matter.
uint32_t tsri_f64_to_odd_f32(const other_writer *p, uint32_t value) {
  uint32_t exact = keep(p, value), nearest = keep(p, convert(p, TSR_F32, exact));
  uint32_t back = keep(p, convert(p, TSR_F64, nearest));
  uint32_t bits = keep(p, bits_as(p, TSR_U32, nearest));
  uint32_t too_large = compare(p, TSRI_OP_GT, op(&p->h->w, TSRI_OP_ABS, lanes_of(p, TSR_F64), back, 0, 0),
                               op(&p->h->w, TSRI_OP_ABS, lanes_of(p, TSR_F64), exact, 0, 0));
  uint32_t cut = calc32(p, TSRI_OP_SUB, bits, convert(p, TSR_U32, too_large));
  uint32_t lost = convert(p, TSR_U32, compare(p, TSRI_OP_NE, back, exact));
  return bits_as(p, TSR_F32, calc32(p, TSRI_OP_OR, cut, lost));
}
