// SPDX-License-Identifier: MIT
// argmax and argmin of rows and columns at one SIMD level. Compiled once per level (cmake/isa.cmake).
//
// Elements are compared as integers. The bits of a float are a sign and a magnitude, whose order is that of the numbers; NaN becomes the largest key.
#include <math.h>

#include "backends/cpu/lanes/isa_parts.h"
#include "backends/cpu/lines/arg_lines.h"

enum { ROW_BLOCK = 2048, SHORT_ROW = 16, ROWS_ACROSS = 256 };

typedef float f32_vec ISA_IN_VECTORS;
typedef double f64_vec ISA_IN_VECTORS;
typedef int32_t i32_vec ISA_IN_VECTORS;
typedef int64_t i64_vec ISA_IN_VECTORS;

// `size` is the number without its sign, `sign` all bits of a negative number's, and `nan` of NaN's.
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

// The lanes of a, a NaN among them, or those of b that are better.
#if defined(__GNUC__)
#define LANES_OF(vec, bits, is_a, a, b) ((vec)(((bits)(a) & (is_a)) | ((bits)(b) & ~(is_a))))
#else
#define LANES_OF(vec, bits, is_a, a, b) ((is_a) ? (a) : (b))
#endif
static inline f32_vec max_f32_lanes(f32_vec a, f32_vec b) {
  return LANES_OF(f32_vec, i32_vec, (a >= b) | (a != a), a, b);
}
static inline f32_vec min_f32_lanes(f32_vec a, f32_vec b) {
  return LANES_OF(f32_vec, i32_vec, (a <= b) | (a != a), a, b);
}
static inline f64_vec max_f64_lanes(f64_vec a, f64_vec b) {
  return LANES_OF(f64_vec, i64_vec, (a >= b) | (a != a), a, b);
}
static inline f64_vec min_f64_lanes(f64_vec a, f64_vec b) {
  return LANES_OF(f64_vec, i64_vec, (a <= b) | (a != a), a, b);
}

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
