// SPDX-License-Identifier: MIT
// argmax and argmin of rows and columns at one SIMD level. Compiled once per level (cmake/isa.cmake).
//
// Elements are compared as integers. The bits of a float are a sign and a magnitude; a key is an integer whose order is that of the numbers. NaN becomes the
// largest key.
#include <math.h>

#include "backends/cpu/lanes/most_isa.h"
#include "backends/cpu/lines/arg_lines.h"
#include "core/lines.h"

enum {
  ROW_BLOCK = 512,
  LONG_ROW = 1 << 12,
  LONG_ROW_BLOCK = 2048,
  SHORT_ROW = 32,
  LEAST_GATHERED = 16,  // rows that are gathered column by column
  ROWS_ACROSS = 256,
  FEW_COLUMNS = 16,
  FEW_ROWS = 16,
  SOME_COLUMNS = 128,  // columns processed at a time
};

// size: bits of the number without its sign; sign: all ones if it is negative; nan: all ones if it is NaN.
LANE int32_t float_key(int32_t size, int32_t sign, int32_t nan, bool is_least) {
  int32_t turn = is_least ? ~sign : sign;
  return (((size ^ turn) - turn) & ~nan) | (INT32_MAX & nan);
}

LANE int32_t key_of_f32(uint32_t bits, bool is_least) {
  int32_t size = (int32_t)(bits & 0x7FFFFFFFu);
  return float_key(size, -(int32_t)(bits >> 31), -(size > 0x7F800000), is_least);
}

LANE int32_t key_of_f16(uint16_t bits, bool is_least) {
  int32_t size = bits & 0x7FFF;
  return float_key(size, -(bits >> 15), -(size > 0x7C00), is_least);
}

LANE int32_t key_of_bf16(uint16_t bits, bool is_least) {
  int32_t size = bits & 0x7FFF;
  return float_key(size, -(bits >> 15), -(size > 0x7F80), is_least);
}

LANE int64_t key_of_f64(uint64_t bits, bool is_least) {
  int64_t size = (int64_t)(bits & 0x7FFFFFFFFFFFFFFFu), sign = -(int64_t)(bits >> 63), turn = is_least ? ~sign : sign;
  int64_t nan = -(int64_t)(size > 0x7FF0000000000000);
  return (((size ^ turn) - turn) & ~nan) | (INT64_MAX & nan);
}

LANE int32_t key_of_whole(int32_t x, bool is_least) { return is_least ? ~x : x; }
LANE int32_t key_of_u32(uint32_t x, bool is_least) { return key_of_whole((int32_t)(x ^ 0x80000000u), is_least); }
LANE int64_t key_of_i64(int64_t x, bool is_least) { return is_least ? ~x : x; }

#define KEY(x) KEY_OF(x, IS_LEAST)

#define IS_LEAST          false
#define DIRECTED(name)    max_##name
#define REAL_BETTER(a, b) (!((b) >= (a)) & ((b) == (b)))
#include "arg_dtypes.inc"
#undef IS_LEAST
#undef DIRECTED
#undef REAL_BETTER

#define IS_LEAST          true
#define DIRECTED(name)    min_##name
#define REAL_BETTER(a, b) (!((b) <= (a)) & ((b) == (b)))
#include "arg_dtypes.inc"

#define ROW(kind)                                                                                  \
  {                                                                                                \
    [TSR_F32] = &kind##_f32_lines, [TSR_F64] = &kind##_f64_lines, [TSR_F16] = &kind##_f16_lines,   \
    [TSR_BF16] = &kind##_bf16_lines, [TSR_I32] = &kind##_i32_lines, [TSR_U32] = &kind##_u32_lines, \
    [TSR_I64] = &kind##_i64_lines, [TSR_I16] = &kind##_i16_lines, [TSR_I8] = &kind##_i8_lines,     \
    [TSR_U8] = &kind##_u8_lines                                                                    \
  }
const tsri_arg_lines *const ISA_NAME(tsri_arg_lines_)[TSRI_REDUCTIONS][TSR_DTYPE_COUNT] = {
    [TSRI_REDUCTION_MAX] = ROW(max),
    [TSRI_REDUCTION_MIN] = ROW(min),
};
