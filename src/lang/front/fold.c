// SPDX-License-Identifier: MIT
// Arithmetic on constants, with the exact meaning that ir_ops.h gives each operation.
//
// A constant is 64 bits; narrower types use the low bits. Operations that host compilers could treat differently
// (overflow, division, shifts) are written out explicitly.
#include <float.h>
#include <math.h>
#include <string.h>

#include "lang/front/check.h"

static float f32_of(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}

static double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t bits_of_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// --- Integers -------------------------------------------------------------------------------------------------------

typedef struct whole {
  uint32_t width;  // 32 or 64
  bool is_signed;
} whole;

static int64_t signed_of(whole type, uint64_t bits) {
  return type.width == 32 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
}

static bool is_less(whole type, uint64_t a, uint64_t b) {
  return type.is_signed ? signed_of(type, a) < signed_of(type, b) : a < b;
}

static uint64_t divide(whole type, uint64_t a, uint64_t b, bool is_remainder) {
  if (!type.is_signed) return is_remainder ? (b ? a % b : 0) : (b ? a / b : a);
  int64_t x = signed_of(type, a), y = signed_of(type, b);
  if (y == 0) return is_remainder ? 0 : a;
  if (y == -1) return is_remainder ? 0 : (uint64_t)0 - a;
  return (uint64_t)(is_remainder ? x % y : x / y);
}

static uint64_t count_bits(whole type, tsri_ir_op op, uint64_t a) {
  uint64_t count = 0;
  uint32_t width = type.width;
  for (uint32_t i = 0; i < width; i++) {
    bool is_set = (a >> (op == TSRI_OP_CLZ ? width - 1 - i : i)) & 1;
    if (op == TSRI_OP_POPCOUNT) {
      count += is_set;
    } else if (is_set) {
      return i;
    }
  }
  return op == TSRI_OP_POPCOUNT ? count : width;
}

static uint64_t shift_right(whole type, uint64_t a, uint64_t count) {
  if (!type.is_signed) return a >> count;
  int64_t x = signed_of(type, a);
  return x >= 0 ? (uint64_t)x >> count : ~(~(uint64_t)x >> count);
}

static bool fold_integer(tsri_ir_op op, whole type, uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t zero = 0;
  switch (op) {
    case TSRI_OP_NEG:
      *out = zero - a;
      return true;
    case TSRI_OP_BIT_NOT:
      *out = ~a;
      return true;
    case TSRI_OP_ADD:
      *out = a + b;
      return true;
    case TSRI_OP_SUB:
      *out = a - b;
      return true;
    case TSRI_OP_MUL:
      *out = a * b;
      return true;
    case TSRI_OP_DIV:
      *out = divide(type, a, b, false);
      return true;
    case TSRI_OP_REM:
      *out = divide(type, a, b, true);
      return true;
    case TSRI_OP_AND:
      *out = a & b;
      return true;
    case TSRI_OP_OR:
      *out = a | b;
      return true;
    case TSRI_OP_XOR:
      *out = a ^ b;
      return true;
    case TSRI_OP_SHL:
      *out = a << (b & (type.width - 1));
      return true;
    case TSRI_OP_SHR:
      *out = shift_right(type, a, b & (type.width - 1));
      return true;
    case TSRI_OP_EQ:
      *out = a == b;
      return true;
    case TSRI_OP_NE:
      *out = a != b;
      return true;
    case TSRI_OP_LT:
      *out = is_less(type, a, b);
      return true;
    case TSRI_OP_GT:
      *out = is_less(type, b, a);
      return true;
    case TSRI_OP_LE:
      *out = !is_less(type, b, a);
      return true;
    case TSRI_OP_GE:
      *out = !is_less(type, a, b);
      return true;
    case TSRI_OP_MIN:
      *out = is_less(type, a, b) ? a : b;
      return true;
    case TSRI_OP_MAX:
      *out = is_less(type, b, a) ? a : b;
      return true;
    case TSRI_OP_ABS:
      *out = is_less(type, a, 0) ? zero - a : a;
      return true;
    case TSRI_OP_SIGN:
      *out = a == 0 ? 0 : is_less(type, a, 0) ? ~zero : 1;
      return true;
    case TSRI_OP_POPCOUNT:
    case TSRI_OP_CLZ:
    case TSRI_OP_CTZ:
      *out = count_bits(type, op, a);
      return true;
    case TSRI_OP_MULHI:
      *out = (a * b) >> 32;
      return true;
    default:
      return false;
  }
}

// --- Floats ---------------------------------------------------------------------------------------------------------

static double round_even(double x) {
  double down = floor(x), rest = x - down;
  if (!isfinite(x)) return x;
  double result = rest < 0.5 || (rest == 0.5 && fmod(down, 2.0) == 0.0) ? down : down + 1;
  return copysign(result, x);
}

static double negated(double x) { return -x; }
static double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double inverse_root(double x) { return 1 / sqrt(x); }

// Functions of one argument. f32 functions are computed in f64, which is more accurate than any device has to be.
static bool fold_function(tsri_ir_op op, double x, double *out) {
  static const struct {
    tsri_ir_op op;
    double (*function)(double x);
  } rows[] = {
      {TSRI_OP_NEG, negated},  {TSRI_OP_ABS, fabs},
      {TSRI_OP_SIGN, sign_of}, {TSRI_OP_FLOOR, floor},
      {TSRI_OP_CEIL, ceil},    {TSRI_OP_ROUND, round_even},
      {TSRI_OP_TRUNC, trunc},  {TSRI_OP_SQRT, sqrt},
      {TSRI_OP_EXP, exp},      {TSRI_OP_RSQRT, inverse_root},
      {TSRI_OP_EXP2, exp2},    {TSRI_OP_EXPM1, expm1},
      {TSRI_OP_LOG, log},      {TSRI_OP_LOG2, log2},
      {TSRI_OP_LOG10, log10},  {TSRI_OP_LOG1P, log1p},
      {TSRI_OP_SIN, sin},      {TSRI_OP_COS, cos},
      {TSRI_OP_TAN, tan},      {TSRI_OP_ASIN, asin},
      {TSRI_OP_ACOS, acos},    {TSRI_OP_ATAN, atan},
      {TSRI_OP_SINH, sinh},    {TSRI_OP_COSH, cosh},
      {TSRI_OP_TANH, tanh},    {TSRI_OP_ERF, erf},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].op != op) continue;
    *out = rows[i].function(x);
    return true;
  }
  return false;
}

static bool fold_test(tsri_ir_op op, double a, double b, uint64_t *out) {
  switch (op) {
    case TSRI_OP_EQ:
      *out = a == b;
      return true;
    case TSRI_OP_NE:
      *out = !(a == b);
      return true;
    case TSRI_OP_LT:
    case TSRI_OP_LOOSE_LESS:
      *out = a < b;
      return true;
    case TSRI_OP_LE:
      *out = a <= b;
      return true;
    case TSRI_OP_GT:
      *out = a > b;
      return true;
    case TSRI_OP_GE:
      *out = a >= b;
      return true;
    case TSRI_OP_ISNAN:
      *out = !(a == a);
      return true;
    case TSRI_OP_ISINF:
      *out = fabs(a) > DBL_MAX;
      return true;
    case TSRI_OP_ISFINITE:
      *out = fabs(a) <= DBL_MAX;
      return true;
    default:
      return false;
  }
}

// The sum, difference, product or quotient of two f32 values, computed in f64 and then rounded to f32, is the
// correctly rounded result, because f64 has more than twice as many digits. That does not hold for fma, which is left
// to the device.
static bool fold_arithmetic(tsri_ir_op op, double a, double b, double *out) {
  switch (op) {
    case TSRI_OP_ADD:
      *out = a + b;
      return true;
    case TSRI_OP_SUB:
      *out = a - b;
      return true;
    case TSRI_OP_MUL:
      *out = a * b;
      return true;
    case TSRI_OP_DIV:
      *out = b != 0 || isnan(b)   ? a / b
             : a == 0 || isnan(a) ? (double)NAN
                                  : (double)INFINITY * (signbit(a) == signbit(b) ? 1 : -1);
      return true;
    case TSRI_OP_MIN:
      *out = a < b || isnan(a) ? a : b;
      return true;
    case TSRI_OP_MAX:
    case TSRI_OP_LOOSE_MAX:
      *out = a > b || isnan(a) ? a : b;
      return true;
    case TSRI_OP_POW:
      *out = pow(a, b);
      return true;
    case TSRI_OP_ATAN2:
      *out = atan2(a, b);
      return true;
    default:
      return fold_function(op, a, out);
  }
}

// --- All ------------------------------------------------------------------------------------------------------------

static bool fold_bool(tsri_ir_op op, uint64_t a, uint64_t b, uint64_t *out) {
  switch (op) {
    case TSRI_OP_NOT:
      *out = !a;
      return true;
    case TSRI_OP_AND:
      *out = a & b;
      return true;
    case TSRI_OP_OR:
      *out = a | b;
      return true;
    case TSRI_OP_XOR:
    case TSRI_OP_NE:
      *out = a ^ b;
      return true;
    case TSRI_OP_EQ:
      *out = a == b;
      return true;
    default:
      return false;
  }
}

bool tsri_fold(tsri_ir_op op, tsr_dtype dtype, const uint64_t *args, uint64_t *out_bits) {
  uint32_t arity = tsri_ir_op_infos[op].arity;
  uint64_t a = args[0], b = arity > 1 ? args[1] : 0;
  double real = 0;
  if (op == TSRI_OP_SELECT) {
    *out_bits = a ? b : args[2];
    return true;
  }
  switch (dtype) {
    case TSR_BOOL:
      return fold_bool(op, a, b, out_bits);
    case TSR_I32:
    case TSR_U32:
      if (!fold_integer(op, (whole){32, dtype == TSR_I32}, a, b, out_bits)) return false;
      *out_bits &= UINT32_MAX;
      return true;
    case TSR_I64:
    case TSR_U64:
      return op != TSRI_OP_MULHI && fold_integer(op, (whole){64, dtype == TSR_I64}, a, b, out_bits);
    case TSR_F32:
      if (fold_test(op, (double)f32_of(a), (double)f32_of(b), out_bits)) return true;
      if (!fold_arithmetic(op, (double)f32_of(a), (double)f32_of(b), &real)) return false;
      *out_bits = bits_of_f32((float)real);
      return true;
    case TSR_F64:
      if (fold_test(op, f64_of(a), f64_of(b), out_bits)) return true;
      if (!fold_arithmetic(op, f64_of(a), f64_of(b), &real)) return false;
      *out_bits = bits_of_f64(real);
      return true;
    default:
      return false;
  }
}

// Converts with tsr_convert, which defines the meaning. Goes through memory, so it works on little- and big-endian
// hosts.
uint64_t tsri_fold_convert(tsr_dtype from, uint64_t bits, tsr_dtype to) {
  union {
    uint8_t byte;
    uint32_t word;
    uint64_t both;
  } source, result = {.both = 0};
  unsigned char stored[8] = {0};
  tsr_dtype compute = tsri_ir_compute_dtype(to);
  if (tsr_dtype_bytes(from) == 8) {
    source.both = bits;
  } else if (from == TSR_BOOL) {
    source.byte = bits != 0;
  } else {
    source.word = (uint32_t)bits;
  }
  (void)tsr_convert(to, stored, from, &source, 1);
  (void)tsr_convert(compute, &result, to, stored, 1);
  return tsr_dtype_bytes(compute) == 8 ? result.both : compute == TSR_BOOL ? result.byte : result.word;
}

bool tsri_fold_whole(tsri_ir_op op, int64_t a, int64_t b, int64_t *out) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b, result;
  switch (op) {
    case TSRI_OP_ADD:
      if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
      result = x + y;
      break;
    case TSRI_OP_SUB:
      if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) return false;
      result = x - y;
      break;
    case TSRI_OP_MUL: {
      // Use absolute values, so that a single division detects an overflow.
      uint64_t p = a < 0 ? (uint64_t)0 - x : x, q = b < 0 ? (uint64_t)0 - y : y;
      uint64_t most = (a < 0) != (b < 0) ? (uint64_t)1 << 63 : INT64_MAX;
      if (q && p > most / q) return false;
      result = x * y;
      break;
    }
    default:
      return false;
  }
  memcpy(out, &result, sizeof result);
  return true;
}
