// SPDX-License-Identifier: MIT
// Arithmetic of f64 and i64, conversions from and to them, and 32-bit operations that need 64-bit intermediate results: quotients, and the high half of a
// product. Semantics: lanes/meaning.h.
#include "backends/cpu/jit/build.h"
#include "backends/cpu/jit/target.h"

typedef jit_pair pair;

static pair binary(jit_ir *ir, jit_insn insn, pair x, pair y) { return jit_binary_64(ir, insn, x, y); }
static pair compare(jit_ir *ir, jit_insn insn, pair x, pair y) { return jit_compare_64(ir, insn, x, y); }
static pair select(jit_ir *ir, pair mask, pair yes, pair no) { return jit_select_64(ir, mask, yes, no); }
static jit_value inverse(jit_ir *ir, jit_value mask) { return jit_binary(ir, JIT_XOR, mask, jit_bits(ir, UINT32_MAX)); }

// --- Floats -------------------------------------------------------------------------------------------------------------

static pair magnitude_64(jit_ir *ir, pair x) { return binary(ir, JIT_AND_L, x, jit_long(ir, INT64_MAX)); }
static pair is_nan_64(jit_ir *ir, pair x) { return compare(ir, JIT_UNORDERED_D, x, x); }

static pair sign_f64(jit_ir *ir, pair x) {
  pair zero = jit_double(ir, 0.0);
  pair below = select(ir, compare(ir, JIT_LT_D, x, zero), jit_double(ir, -1.0), x);
  return select(ir, compare(ir, JIT_LT_D, zero, x), jit_double(ir, 1.0), below);
}

// Minimum or maximum by `insn`, which returns y if either operand is NaN; corrected to return x if x is NaN.
static pair smaller_or_greater(jit_ir *ir, jit_insn insn, pair x, pair y) {
  return select(ir, is_nan_64(ir, x), x, binary(ir, insn, x, y));
}

// Clamps x to [least, most]; NaN stays.
static pair bounded(jit_ir *ir, pair x, double least, double most) {
  pair low = binary(ir, JIT_MAX_D, jit_double(ir, least), x);
  return binary(ir, JIT_MIN_D, jit_double(ir, most), low);
}

static jit_value zero_if_nan(jit_ir *ir, pair x, jit_value whole) {
  return jit_select(ir, jit_narrow(ir, JIT_LOW_OF_L, is_nan_64(ir, x)), jit_bits(ir, 0), whole);
}

static jit_value whole_i32(jit_ir *ir, pair x, double least, double most) {
  return zero_if_nan(ir, x, jit_narrow(ir, JIT_I_OF_D, bounded(ir, x, least, most)));
}

// f64 in 0 .. 2^32 - 1 to u32. Targets convert only to i32, so 2^31 is subtracted before and added again after.
static jit_value whole_of_unsigned(jit_ir *ir, pair x) {
  pair moved = binary(ir, JIT_SUB_D, jit_unary_64(ir, JIT_TRUNC_D, x), jit_double(ir, 0x1p31));
  return jit_binary(ir, JIT_XOR, jit_narrow(ir, JIT_I_OF_D, moved), jit_bits(ir, 0x80000000u));
}

static pair f64_of_u32(jit_ir *ir, jit_value x) {
  pair moved = jit_widen(ir, JIT_D_OF_I, jit_binary(ir, JIT_XOR, x, jit_bits(ir, 0x80000000u)));
  return binary(ir, JIT_ADD_D, moved, jit_double(ir, 0x1p31));
}

static pair whole_i64(jit_ir *ir, pair x) {
  pair whole = jit_unary_64(ir, JIT_WHOLE_OF_D, bounded(ir, x, -0x1p63, 0x1.fffffffffffffp62));
  whole = select(ir, compare(ir, JIT_LE_D, jit_double(ir, 0x1p63), x), jit_long(ir, INT64_MAX), whole);
  return select(ir, is_nan_64(ir, x), jit_long(ir, 0), whole);
}

// --- Whole numbers ------------------------------------------------------------------------------------------------------

static pair shift(jit_ir *ir, jit_insn insn, pair x, uint32_t bits) { return binary(ir, insn, x, jit_long(ir, bits)); }

static pair product(jit_ir *ir, pair x, pair y) {
  pair cross = binary(ir, JIT_ADD_L, binary(ir, JIT_MUL_LOW_L, shift(ir, JIT_SHIFT_RIGHT_L, x, 32), y),
                      binary(ir, JIT_MUL_LOW_L, x, shift(ir, JIT_SHIFT_RIGHT_L, y, 32)));
  return binary(ir, JIT_ADD_L, binary(ir, JIT_MUL_LOW_L, x, y), shift(ir, JIT_SHIFT_LEFT_L, cross, 32));
}

static pair count_of(jit_ir *ir, jit_value y) {
  return jit_widen(ir, JIT_L_OF_U, jit_binary(ir, JIT_AND, y, jit_bits(ir, 63)));
}

// Arithmetic right shift of 64-bit lanes, which AVX2 lacks: a logical shift; (x ^ s) - s then extends the sign, where s is the shifted sign bit.
static pair shift_arithmetic(jit_ir *ir, pair x, jit_value y) {
  pair count = count_of(ir, y);
  pair sign = binary(ir, JIT_SHIFT_RIGHT_L, jit_long(ir, UINT64_C(1) << 63), count);
  pair moved = binary(ir, JIT_SHIFT_RIGHT_L, x, count);
  return binary(ir, JIT_SUB_L, binary(ir, JIT_XOR_L, moved, sign), sign);
}

// i64 to f64: both 32-bit halves become exact f64 by putting them into the mantissas of numbers whose last place is 1 and 2^32. Their sum is rounded once.
static pair f64_of_i64(jit_ir *ir, pair x) {
  pair low = binary(ir, JIT_OR_L, binary(ir, JIT_AND_L, x, jit_long(ir, UINT32_MAX)), jit_double(ir, 0x1p52));
  pair high = binary(ir, JIT_XOR_L, shift(ir, JIT_SHIFT_RIGHT_L, x, 32), jit_long(ir, UINT64_C(0x4530000080000000)));
  pair above = binary(ir, JIT_SUB_D, high, jit_long(ir, UINT64_C(0x4530000080100000)));  // 2^84 + 2^63 + 2^52
  return binary(ir, JIT_ADD_D, above, low);
}

// i64 to f32: bits that f64 cannot hold are first rounded to odd, so that the rounding to f32 still sees on which side of a tie the number was.
static jit_value f32_of_i64(jit_ir *ir, pair x) {
  pair low = binary(ir, JIT_AND_L, x, jit_long(ir, 0xffff));
  pair is_exact = compare(ir, JIT_EQ_L, low, jit_long(ir, 0));
  pair odd = binary(ir, JIT_OR_L, binary(ir, JIT_SUB_L, x, low), jit_long(ir, 0x10000));
  pair is_large = binary(ir, JIT_OR_L, compare(ir, JIT_GT_L, x, jit_long(ir, UINT64_C(1) << 53)),
                         compare(ir, JIT_GT_L, jit_long(ir, 0 - (UINT64_C(1) << 53)), x));
  pair kept = select(ir, is_large, select(ir, is_exact, x, odd), x);
  return jit_narrow(ir, JIT_F_OF_D, f64_of_i64(ir, kept));
}

// --- Quotients of 32-bit integers ---------------------------------------------------------------------------------------

typedef struct wide_division {
  jit_value quotient, divisor;
} wide_division;

static wide_division divide_u32(jit_ir *ir, jit_value x, jit_value y) {
  jit_value divisor = jit_select(ir, jit_compare(ir, JIT_EQ_I, y, jit_bits(ir, 0)), jit_bits(ir, 1), y);
  pair quotient = binary(ir, JIT_DIV_D, f64_of_u32(ir, x), f64_of_u32(ir, divisor));
  return (wide_division){whole_of_unsigned(ir, quotient), divisor};
}

static wide_division divide_i32(jit_ir *ir, jit_value x, jit_value y) {
  jit_value is_zero = jit_compare(ir, JIT_EQ_I, y, jit_bits(ir, 0));
  jit_value is_minus_1 = jit_compare(ir, JIT_EQ_I, y, jit_bits(ir, UINT32_MAX));
  jit_value is_least = jit_compare(ir, JIT_EQ_I, x, jit_bits(ir, 0x80000000u));
  jit_value divisor = jit_select(ir, is_zero, jit_bits(ir, 1), y);
  divisor = jit_select(ir, is_minus_1, jit_select(ir, is_least, jit_bits(ir, 1), divisor), divisor);
  pair quotient = binary(ir, JIT_DIV_D, jit_widen(ir, JIT_D_OF_I, x), jit_widen(ir, JIT_D_OF_I, divisor));
  return (wide_division){jit_narrow(ir, JIT_I_OF_D, quotient), divisor};
}

static jit_value rest_of(jit_ir *ir, jit_value x, wide_division d) {
  return jit_binary(ir, JIT_SUB_I, x, jit_binary(ir, JIT_MUL_I, d.quotient, d.divisor));
}

static jit_value high_of_product(jit_ir *ir, jit_value x, jit_value y) {
  pair product = binary(ir, JIT_MUL_LOW_L, jit_widen(ir, JIT_L_OF_U, x), jit_widen(ir, JIT_L_OF_U, y));
  return jit_narrow(ir, JIT_LOW_OF_L, shift(ir, JIT_SHIFT_RIGHT_L, product, 32));
}

// Translates instructions with 32-bit operands and results that need 64-bit intermediate results. False: the instruction is not one of these.
static bool build_by_64(builder *b, const lane_insn *insn) {
  jit_ir *ir = b->ir;
  jit_value out = 0;
  switch (insn->e) {
    case OP(DIV_U32):
    case OP(REM_U32):
    case OP(DIV_I32):
    case OP(REM_I32): {
      jit_value x = tsri_jit_read_number(b, insn->a), y = tsri_jit_read_number(b, insn->b);
      bool is_signed = insn->e == OP(DIV_I32) || insn->e == OP(REM_I32);
      bool is_rest = insn->e == OP(REM_U32) || insn->e == OP(REM_I32);
      wide_division d = is_signed ? divide_i32(ir, x, y) : divide_u32(ir, x, y);
      out = is_rest ? rest_of(ir, x, d) : d.quotient;
      break;
    }
    case OP(MULHI_U32):
      out = high_of_product(ir, tsri_jit_read_number(b, insn->a), tsri_jit_read_number(b, insn->b));
      break;
    default:
      return false;
  }
  tsri_jit_write(b, insn->dst, out, false);
  return true;
}

// --- From 32 bits, and to 32 bits ---------------------------------------------------------------------------------------

static bool build_widening(builder *b, const lane_insn *insn) {
  static const struct {
    uint16_t op;
    uint8_t insn;
  } plain[] = {
      {OP(I32_I64), JIT_L_OF_I}, {OP(U32_I64), JIT_L_OF_U}, {OP(I32_F64), JIT_D_OF_I}, {OP(F32_F64), JIT_D_OF_F}};
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    if (plain[i].op != insn->e) continue;
    tsri_jit_write_pair(b, insn->dst, jit_widen(b->ir, (jit_insn)plain[i].insn, tsri_jit_read_number(b, insn->a)));
    return true;
  }
  if (insn->e == OP(U32_F64)) {
    tsri_jit_write_pair(b, insn->dst, f64_of_u32(b->ir, tsri_jit_read_number(b, insn->a)));
    return true;
  }
  if (insn->e == OP(F32_I64)) {
    pair wide = jit_widen(b->ir, JIT_D_OF_F, tsri_jit_read_number(b, insn->a));
    tsri_jit_write_pair(b, insn->dst, whole_i64(b->ir, wide));
    return true;
  }
  return false;
}

static bool build_narrowing(builder *b, const lane_insn *insn) {
  jit_ir *ir = b->ir;
  pair x = tsri_jit_read_pair(b, insn->a);
  jit_value out = 0;
  switch (insn->e) {
    case OP(F64_F32):
      out = jit_narrow(ir, JIT_F_OF_D, x);
      break;
    case OP(I64_F32):
      out = f32_of_i64(ir, x);
      break;
    case OP(I64_U32):
      out = jit_narrow(ir, JIT_LOW_OF_L, x);
      break;
    case OP(F64_I8):
      out = whole_i32(ir, x, -128.0, 127.0);
      break;
    case OP(F64_U8):
      out = whole_i32(ir, x, 0.0, 255.0);
      break;
    case OP(F64_I16):
      out = whole_i32(ir, x, -32768.0, 32767.0);
      break;
    case OP(F64_I32):
      out = whole_i32(ir, x, -2147483648.0, 2147483647.0);
      break;
    case OP(F64_U32):
      out = zero_if_nan(ir, x, whole_of_unsigned(ir, bounded(ir, x, 0.0, 4294967295.0)));
      break;
    default:
      return false;
  }
  tsri_jit_write(b, insn->dst, out, false);
  return true;
}

// Translates comparisons of x and y, and tests of x. `*out` is a mask of 32-bit lanes.
static bool build_compare_64(jit_ir *ir, uint32_t op, pair x, pair y, jit_value *out) {
  static const struct {
    uint16_t op;
    uint8_t insn;
    bool is_swapped, is_inverse;
  } plain[] = {
      {OP(EQ_F64), JIT_EQ_D, false, false}, {OP(NE_F64), JIT_NE_D, false, false}, {OP(LT_F64), JIT_LT_D, false, false},
      {OP(LE_F64), JIT_LE_D, false, false}, {OP(EQ_I64), JIT_EQ_L, false, false}, {OP(NE_I64), JIT_EQ_L, false, true},
      {OP(LT_I64), JIT_GT_L, true, false},  {OP(LE_I64), JIT_GT_L, false, true},
  };
  pair found = {0, 0}, infinity = jit_long(ir, UINT64_C(0x7ff0000000000000));
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    if (plain[i].op != op) continue;
    bool is_swapped = plain[i].is_swapped;
    found = compare(ir, (jit_insn)plain[i].insn, is_swapped ? y : x, is_swapped ? x : y);
    *out = jit_narrow(ir, JIT_LOW_OF_L, found);
    if (plain[i].is_inverse) *out = inverse(ir, *out);
    return true;
  }
  if (op == OP(I64_BOOL)) found = compare(ir, JIT_EQ_L, x, jit_long(ir, 0));
  else if (op == OP(F64_BOOL)) found = compare(ir, JIT_NE_D, x, jit_double(ir, 0.0));
  else if (op == OP(ISNAN_F64)) found = is_nan_64(ir, x);
  else if (op == OP(ISINF_F64)) found = compare(ir, JIT_EQ_D, magnitude_64(ir, x), infinity);
  else if (op == OP(ISFINITE_F64)) found = compare(ir, JIT_LT_D, magnitude_64(ir, x), infinity);
  else return false;
  *out = jit_narrow(ir, JIT_LOW_OF_L, found);
  if (op == OP(I64_BOOL)) *out = inverse(ir, *out);
  return true;
}

// --- 64 bits in and out ---------------------------------------------------------------------------------------------------

static bool build_unary_64(jit_ir *ir, uint32_t op, pair x, pair *out) {
  pair zero = jit_long(ir, 0);
  switch (op) {
    case OP(MOVE_64):
      *out = x;
      return true;
    case OP(NEG_I64):
      *out = binary(ir, JIT_SUB_L, zero, x);
      return true;
    case OP(BIT_NOT_I64):
      *out = binary(ir, JIT_XOR_L, x, jit_long(ir, UINT64_MAX));
      return true;
    case OP(ABS_I64):
      *out = select(ir, compare(ir, JIT_GT_L, zero, x), binary(ir, JIT_SUB_L, zero, x), x);
      return true;
    case OP(SIGN_I64):
      *out = binary(ir, JIT_SUB_L, compare(ir, JIT_GT_L, zero, x), compare(ir, JIT_GT_L, x, zero));
      return true;
    case OP(NEG_F64):
      *out = binary(ir, JIT_XOR_L, x, jit_long(ir, UINT64_C(1) << 63));
      return true;
    case OP(ABS_F64):
      *out = magnitude_64(ir, x);
      return true;
    case OP(SIGN_F64):
      *out = sign_f64(ir, x);
      return true;
    case OP(FLOOR_F64):
      *out = jit_unary_64(ir, JIT_FLOOR_D, x);
      return true;
    case OP(CEIL_F64):
      *out = jit_unary_64(ir, JIT_CEIL_D, x);
      return true;
    case OP(ROUND_F64):
      *out = jit_unary_64(ir, JIT_NEAREST_D, x);
      return true;
    case OP(TRUNC_F64):
      *out = jit_unary_64(ir, JIT_TRUNC_D, x);
      return true;
    case OP(I64_F64):
      *out = f64_of_i64(ir, x);
      return true;
    case OP(F64_I64):
      *out = whole_i64(ir, x);
      return true;
    default:
      return false;
  }
}

static pair build_more_64(jit_ir *ir, uint32_t op, pair x, pair y, pair z) {
  static const struct {
    uint16_t op;
    uint8_t insn;
  } plain[] = {
      {OP(ADD_F64), JIT_ADD_D}, {OP(SUB_F64), JIT_SUB_D}, {OP(MUL_F64), JIT_MUL_D},
      {OP(DIV_F64), JIT_DIV_D}, {OP(ADD_I64), JIT_ADD_L}, {OP(SUB_I64), JIT_SUB_L},
      {OP(AND_I64), JIT_AND_L}, {OP(OR_I64), JIT_OR_L},   {OP(XOR_I64), JIT_XOR_L},
  };
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    if (plain[i].op == op) return binary(ir, (jit_insn)plain[i].insn, x, y);
  }
  switch (op) {
    case OP(MIN_F64):
      return smaller_or_greater(ir, JIT_MIN_D, x, y);
    case OP(MAX_F64):
      return smaller_or_greater(ir, JIT_MAX_D, x, y);
    case OP(MIN_I64):
      return select(ir, compare(ir, JIT_GT_L, y, x), x, y);
    case OP(MAX_I64):
      return select(ir, compare(ir, JIT_GT_L, x, y), x, y);
    case OP(MUL_I64):
      return product(ir, x, y);
    case OP(MULADD_F64):
      return binary(ir, JIT_ADD_D, binary(ir, JIT_MUL_D, x, y), z);
    default:  // FMA_F64
      return jit_fma_64(ir, x, y, z);
  }
}

// Translates instructions whose operands are of several types. False: the instruction is not one of these.
static bool build_mixed(builder *b, const lane_insn *insn) {
  jit_ir *ir = b->ir;
  if (insn->e == OP(SELECT_64)) {
    pair mask = jit_widen(ir, JIT_L_OF_I, tsri_jit_read_mask(b, insn->a));
    pair yes = tsri_jit_read_pair(b, insn->b), no = tsri_jit_read_pair(b, insn->c);
    tsri_jit_write_pair(b, insn->dst, select(ir, mask, yes, no));
    return true;
  }
  if (insn->e != OP(SHL_I64) && insn->e != OP(SHR_I64)) return false;
  pair x = tsri_jit_read_pair(b, insn->a);
  jit_value count = tsri_jit_read_number(b, insn->b);
  pair moved =
      insn->e == OP(SHL_I64) ? binary(ir, JIT_SHIFT_LEFT_L, x, count_of(ir, count)) : shift_arithmetic(ir, x, count);
  tsri_jit_write_pair(b, insn->dst, moved);
  return true;
}

// --- The instructions ---------------------------------------------------------------------------------------------------

bool tsri_jit_can_build_64(const jit_target *target, uint32_t op) {
  if (!target->has_64_bits) return false;
  switch (op) {
    case OP(F32_I64):
    case OP(F64_I64):
      return target->converts_to_i64;
    case OP(DIV_U32):
    case OP(REM_U32):
    case OP(DIV_I32):
    case OP(REM_I32):
    case OP(MULHI_U32):
    case OP(I32_I64):
    case OP(U32_I64):
    case OP(I32_F64):
    case OP(U32_F64):
    case OP(F32_F64):
    case OP(F64_F32):
    case OP(I64_F32):
    case OP(I64_F64):
    case OP(I64_U32):
    case OP(F64_I8):
    case OP(F64_U8):
    case OP(F64_I16):
    case OP(F64_I32):
    case OP(F64_U32):
    case OP(EQ_F64):
    case OP(NE_F64):
    case OP(LT_F64):
    case OP(LE_F64):
    case OP(EQ_I64):
    case OP(NE_I64):
    case OP(LT_I64):
    case OP(LE_I64):
    case OP(I64_BOOL):
    case OP(F64_BOOL):
    case OP(ISNAN_F64):
    case OP(ISINF_F64):
    case OP(ISFINITE_F64):
    case OP(MOVE_64):
    case OP(NEG_I64):
    case OP(BIT_NOT_I64):
    case OP(ABS_I64):
    case OP(SIGN_I64):
    case OP(NEG_F64):
    case OP(ABS_F64):
    case OP(SIGN_F64):
    case OP(FLOOR_F64):
    case OP(CEIL_F64):
    case OP(ROUND_F64):
    case OP(TRUNC_F64):
    case OP(ADD_F64):
    case OP(SUB_F64):
    case OP(MUL_F64):
    case OP(DIV_F64):
    case OP(MIN_F64):
    case OP(MAX_F64):
    case OP(MULADD_F64):
    case OP(FMA_F64):
    case OP(ADD_I64):
    case OP(SUB_I64):
    case OP(MUL_I64):
    case OP(AND_I64):
    case OP(OR_I64):
    case OP(XOR_I64):
    case OP(MIN_I64):
    case OP(MAX_I64):
    case OP(SHL_I64):
    case OP(SHR_I64):
    case OP(SELECT_64):
      return true;
    default:
      return false;
  }
}

void tsri_jit_build_64(builder *b, const lane_insn *insn) {
  if (build_by_64(b, insn) || build_widening(b, insn) || build_mixed(b, insn) || build_narrowing(b, insn)) return;
  pair x = tsri_jit_read_pair(b, insn->a), y = tsri_jit_read_pair(b, insn->b), out = {0, 0};
  jit_value mask = 0;
  if (build_compare_64(b->ir, insn->e, x, y, &mask)) {
    tsri_jit_write(b, insn->dst, mask, true);
    return;
  }
  if (!build_unary_64(b->ir, insn->e, x, &out)) {
    out = build_more_64(b->ir, insn->e, x, y, tsri_jit_read_pair(b, insn->c));
  }
  tsri_jit_write_pair(b, insn->dst, out);
}
