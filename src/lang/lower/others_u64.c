// SPDX-License-Identifier: MIT
// Operations on u64 as operations on i64 with the same bits.
#include "lang/lower/others_build.h"

#define SIGN (UINT64_C(1) << 63)

static uint32_t wide(const other_writer *p, uint64_t bits) { return constant(p, TSR_I64, bits); }

static uint32_t calc64(const other_writer *p, tsri_ir_op code, uint32_t a, uint32_t b) {
  return calc(p, code, TSR_I64, a, b);
}

uint32_t tsri_u64_flipped(const other_writer *p, uint32_t a) { return calc64(p, TSRI_OP_XOR, a, wide(p, SIGN)); }

// The logical shift a >> n: an arithmetic shift, with the n highest bits, which are copies of the sign bit, cleared.
static uint32_t shifted(const other_writer *p, uint32_t a, uint32_t n) {
  uint32_t count = keep(p, n);
  uint32_t copies = calc64(p, TSRI_OP_SHL, calc64(p, TSRI_OP_SHR, wide(p, SIGN), count), constant(p, TSR_U32, 1));
  return calc64(p, TSRI_OP_AND, calc64(p, TSRI_OP_SHR, a, count), calc64(p, TSRI_OP_XOR, copies, wide(p, UINT64_MAX)));
}

static uint32_t halved(const other_writer *p, uint32_t a) {
  uint32_t half = calc64(p, TSRI_OP_SHR, a, constant(p, TSR_U32, 1));
  return calc64(p, TSRI_OP_AND, half, wide(p, ~SIGN));
}

// Divides a by b: 2 * ((a / 2) / b) is the quotient, or one less. A divisor of 2^63 or more fits into a at most once.
static uint32_t divided(const other_writer *p, uint32_t dividend, uint32_t divisor, bool is_remainder) {
  uint32_t a = keep(p, dividend), b = keep(p, divisor), zero = wide(p, 0);
  uint32_t twice = calc64(p, TSRI_OP_SHL, calc64(p, TSRI_OP_DIV, halved(p, a), b), constant(p, TSR_U32, 1));
  uint32_t quotient = keep(p, choose(p, TSR_I64, compare(p, TSRI_OP_LT, b, zero), wide(p, 0), twice));
  uint32_t rest = keep(p, calc64(p, TSRI_OP_SUB, a, calc64(p, TSRI_OP_MUL, quotient, b)));
  uint32_t is_less = keep(p, compare(p, TSRI_OP_LT, tsri_u64_flipped(p, rest), tsri_u64_flipped(p, b)));
  uint32_t result = is_remainder ? choose(p, TSR_I64, is_less, rest, calc64(p, TSRI_OP_SUB, rest, b))
                                 : choose(p, TSR_I64, is_less, quotient, calc64(p, TSRI_OP_ADD, quotient, wide(p, 1)));
  return choose(p, TSR_I64, compare(p, TSRI_OP_EQ, b, wide(p, 0)), is_remainder ? wide(p, 0) : a, result);
}

uint32_t tsri_u64_operation(const other_writer *p, tsri_ir_op code, uint32_t a, uint32_t b) {
  switch (code) {
    case TSRI_OP_LT:
    case TSRI_OP_LE:
    case TSRI_OP_GT:
    case TSRI_OP_GE:
      return compare(p, code, tsri_u64_flipped(p, a), tsri_u64_flipped(p, b));
    case TSRI_OP_MIN:
    case TSRI_OP_MAX:
      return tsri_u64_flipped(p, calc64(p, code, tsri_u64_flipped(p, a), tsri_u64_flipped(p, b)));
    case TSRI_OP_SHR:
      return shifted(p, a, b);
    case TSRI_OP_DIV:
    case TSRI_OP_REM:
      return divided(p, a, b, code == TSRI_OP_REM);
    default:
      return 0;
  }
}

// Numbers from 2^63 on are halved, with the lowest bit kept for the rounding, and the result is doubled.
uint32_t tsri_u64_to_float(const other_writer *p, tsr_dtype dtype, uint32_t a) {
  tsr_dtype floats = tsri_ir_compute_dtype(dtype);
  uint32_t number = keep(p, a), is_large = keep(p, compare(p, TSRI_OP_LT, number, wide(p, 0)));
  uint32_t half = calc64(p, TSRI_OP_OR, halved(p, number), calc64(p, TSRI_OP_AND, number, wide(p, 1)));
  uint32_t result = keep(p, convert(p, dtype, choose(p, TSR_I64, is_large, half, number)));
  return choose(p, floats, is_large, calc(p, TSRI_OP_ADD, floats, result, result), result);
}

// From 2^63 on, the number minus 2^63 is converted, which saturates correctly. Negative numbers and NaN give 0.
uint32_t tsri_u64_from_float(const other_writer *p, tsr_dtype dtype, uint32_t a) {
  uint64_t limit = dtype == TSR_F64 ? UINT64_C(0x43E0000000000000) : 0x5F000000u;  // 2^63
  uint32_t value = keep(p, a);
  uint32_t is_large = keep(p, compare(p, TSRI_OP_GE, value, constant(p, dtype, limit)));
  uint32_t distance = calc(p, TSRI_OP_SUB, dtype, value, constant(p, dtype, limit));
  uint32_t small = calc64(p, TSRI_OP_MAX, convert(p, TSR_I64, choose(p, dtype, is_large, distance, value)), wide(p, 0));
  return calc64(p, TSRI_OP_XOR, small, choose(p, TSR_I64, is_large, wide(p, SIGN), wide(p, 0)));
}
