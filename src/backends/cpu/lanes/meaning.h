// SPDX-License-Identifier: MIT
// The arithmetic instructions on one lane. Included only by ops_isa.c, which makes loops around these functions.
//
// Semantics: lang/ir_ops.h. Without branches where possible, so that compilers vectorise the loops. Behaviour is defined for every input: shift counts are
// masked, and quotients and conversions get only operands in range.
#ifndef TSRI_CPU_LANES_MEANING_H
#define TSRI_CPU_LANES_MEANING_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "backends/cpu/lanes/convert_lane.h"

// --- Copies, bool, 32-bit integers ---

LANE u32 op_MOVE_32(u32 x) { return x; }
LANE i64 op_MOVE_64(i64 x) { return x; }
LANE u32 op_NOT_BOOL(u32 x) { return x ^ 1u; }
LANE u32 op_NEG_I32(u32 x) { return 0u - x; }
LANE u32 op_BIT_NOT_I32(u32 x) { return ~x; }
LANE i32 op_ABS_I32(i32 x) { return x < 0 ? (i32)(0u - (u32)x) : x; }
LANE i32 op_SIGN_I32(i32 x) { return (x > 0) - (x < 0); }

LANE u32 op_POPCOUNT_U32(u32 x) {
  x -= (x >> 1) & 0x55555555u;
  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0fu;
  return (x * 0x01010101u) >> 24;
}
// Copies the highest 1 to all lower bits, so that the zeros that remain are the leading zeros.
LANE u32 op_CLZ_U32(u32 x) {
  x |= x >> 1;
  x |= x >> 2;
  x |= x >> 4;
  x |= x >> 8;
  x |= x >> 16;
  return op_POPCOUNT_U32(~x);
}
LANE u32 op_CTZ_U32(u32 x) { return op_POPCOUNT_U32(~x & (x - 1u)); }

LANE u32 op_ADD_U32(u32 x, u32 y) { return x + y; }
LANE u32 op_SUB_U32(u32 x, u32 y) { return x - y; }
LANE u32 op_MUL_U32(u32 x, u32 y) { return x * y; }
LANE u32 op_AND_U32(u32 x, u32 y) { return x & y; }
LANE u32 op_OR_U32(u32 x, u32 y) { return x | y; }
LANE u32 op_XOR_U32(u32 x, u32 y) { return x ^ y; }
LANE u32 op_SHL_U32(u32 x, u32 y) { return x << (y & 31u); }
LANE u32 op_SHR_U32(u32 x, u32 y) { return x >> (y & 31u); }
LANE i32 op_SHR_I32(i32 x, u32 y) { return x >> (y & 31u); }
LANE u32 op_EQ_U32(u32 x, u32 y) { return x == y; }
LANE u32 op_NE_U32(u32 x, u32 y) { return x != y; }
LANE u32 op_LT_U32(u32 x, u32 y) { return x < y; }
LANE u32 op_LE_U32(u32 x, u32 y) { return x <= y; }
LANE u32 op_LT_I32(i32 x, i32 y) { return x < y; }
LANE u32 op_LE_I32(i32 x, i32 y) { return x <= y; }
LANE u32 op_MIN_U32(u32 x, u32 y) { return x < y ? x : y; }
LANE u32 op_MAX_U32(u32 x, u32 y) { return x > y ? x : y; }
LANE i32 op_MIN_I32(i32 x, i32 y) { return x < y ? x : y; }
LANE i32 op_MAX_I32(i32 x, i32 y) { return x > y ? x : y; }
LANE u32 op_MULHI_U32(u32 x, u32 y) { return (u32)(((u64)x * y) >> 32); }

// Quotients of 32-bit integers are exact in f64 once the fraction is dropped: a quotient below a whole number q is at
// least 1/y below it, which is more than half the distance of f64 numbers near q. Processors divide vectors of f64.
// x / 0 = x and INT_MIN / -1 = INT_MIN are divisions by 1.
LANE u32 op_DIV_U32(u32 x, u32 y) {
  u32 divisor = y == 0 ? 1u : y;
  return (u32)((f64)x / (f64)divisor);
}
LANE u32 op_REM_U32(u32 x, u32 y) {
  u32 divisor = y == 0 ? 1u : y;
  return x - (u32)((f64)x / (f64)divisor) * divisor;
}
LANE i32 divisor_for(i32 x, i32 y) { return ((y == 0) | ((y == -1) & (x == INT32_MIN))) ? 1 : y; }
LANE i32 op_DIV_I32(i32 x, i32 y) { return (i32)((f64)x / (f64)divisor_for(x, y)); }
LANE i32 op_REM_I32(i32 x, i32 y) {
  i32 divisor = divisor_for(x, y);
  i32 quotient = (i32)((f64)x / (f64)divisor);
  return (i32)((u32)x - (u32)quotient * (u32)divisor);
}

// --- 64-bit integers ---

LANE i64 op_NEG_I64(i64 x) { return (i64)(0u - (u64)x); }
LANE i64 op_BIT_NOT_I64(i64 x) { return ~x; }
LANE i64 op_ABS_I64(i64 x) { return x < 0 ? (i64)(0u - (u64)x) : x; }
LANE i64 op_SIGN_I64(i64 x) { return (x > 0) - (x < 0); }
LANE i64 op_POPCOUNT_I64(i64 x) { return op_POPCOUNT_U32((u32)(u64)x) + op_POPCOUNT_U32((u32)((u64)x >> 32)); }
LANE i64 op_CLZ_I64(i64 x) {
  u32 low = (u32)(u64)x, high = (u32)((u64)x >> 32);
  return high != 0 ? op_CLZ_U32(high) : 32u + op_CLZ_U32(low);
}
LANE i64 op_CTZ_I64(i64 x) { return op_POPCOUNT_I64((i64)(~(u64)x & ((u64)x - 1u))); }
LANE i64 op_ADD_I64(i64 x, i64 y) { return (i64)((u64)x + (u64)y); }
LANE i64 op_SUB_I64(i64 x, i64 y) { return (i64)((u64)x - (u64)y); }
LANE i64 op_MUL_I64(i64 x, i64 y) { return (i64)((u64)x * (u64)y); }
LANE i64 divisor_for_64(i64 x, i64 y) { return ((y == 0) | ((y == -1) & (x == INT64_MIN))) ? 1 : y; }
LANE i64 op_DIV_I64(i64 x, i64 y) { return x / divisor_for_64(x, y); }
LANE i64 op_REM_I64(i64 x, i64 y) { return x % divisor_for_64(x, y); }
LANE i64 op_AND_I64(i64 x, i64 y) { return x & y; }
LANE i64 op_OR_I64(i64 x, i64 y) { return x | y; }
LANE i64 op_XOR_I64(i64 x, i64 y) { return x ^ y; }
LANE i64 op_SHL_I64(i64 x, u32 y) { return (i64)((u64)x << (y & 63u)); }
LANE i64 op_SHR_I64(i64 x, u32 y) { return x >> (y & 63u); }
LANE u32 op_EQ_I64(i64 x, i64 y) { return x == y; }
LANE u32 op_NE_I64(i64 x, i64 y) { return x != y; }
LANE u32 op_LT_I64(i64 x, i64 y) { return x < y; }
LANE u32 op_LE_I64(i64 x, i64 y) { return x <= y; }
LANE i64 op_MIN_I64(i64 x, i64 y) { return x < y ? x : y; }
LANE i64 op_MAX_I64(i64 x, i64 y) { return x > y ? x : y; }

// --- Floats ---

LANE f32 op_NEG_F32(f32 x) { return -x; }
LANE f32 op_ABS_F32(f32 x) { return __builtin_fabsf(x); }
LANE f32 op_SIGN_F32(f32 x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }
LANE f32 op_FLOOR_F32(f32 x) { return floorf(x); }
LANE f32 op_CEIL_F32(f32 x) { return ceilf(x); }
LANE f32 op_ROUND_F32(f32 x) { return rintf(x); }
LANE f32 op_TRUNC_F32(f32 x) { return truncf(x); }
LANE u32 op_ISNAN_F32(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
LANE u32 op_ISINF_F32(u32 bits) { return (bits & 0x7fffffffu) == 0x7f800000u; }
LANE u32 op_ISFINITE_F32(u32 bits) { return (bits & 0x7fffffffu) < 0x7f800000u; }
LANE f32 op_ADD_F32(f32 x, f32 y) { return x + y; }
LANE f32 op_SUB_F32(f32 x, f32 y) { return x - y; }
LANE f32 op_MUL_F32(f32 x, f32 y) { return x * y; }
LANE f32 op_DIV_F32(f32 x, f32 y) { return x / y; }
LANE f32 op_MIN_F32(f32 x, f32 y) { return ((x < y) | (x != x)) ? x : y; }
LANE f32 op_MAX_F32(f32 x, f32 y) { return ((x > y) | (x != x)) ? x : y; }
LANE u32 op_EQ_F32(f32 x, f32 y) { return x == y; }
LANE u32 op_NE_F32(f32 x, f32 y) { return x != y; }
LANE u32 op_LT_F32(f32 x, f32 y) { return x < y; }
LANE u32 op_LE_F32(f32 x, f32 y) { return x <= y; }

LANE f64 op_NEG_F64(f64 x) { return -x; }
LANE f64 op_ABS_F64(f64 x) { return __builtin_fabs(x); }
LANE f64 op_SIGN_F64(f64 x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
LANE f64 op_FLOOR_F64(f64 x) { return floor(x); }
LANE f64 op_CEIL_F64(f64 x) { return ceil(x); }
LANE f64 op_ROUND_F64(f64 x) { return rint(x); }
LANE f64 op_TRUNC_F64(f64 x) { return trunc(x); }
LANE u32 op_ISNAN_F64(i64 bits) { return (bits & INT64_MAX) > 0x7ff0000000000000; }
LANE u32 op_ISINF_F64(i64 bits) { return (bits & INT64_MAX) == 0x7ff0000000000000; }
LANE u32 op_ISFINITE_F64(i64 bits) { return (bits & INT64_MAX) < 0x7ff0000000000000; }
LANE f64 op_ADD_F64(f64 x, f64 y) { return x + y; }
LANE f64 op_SUB_F64(f64 x, f64 y) { return x - y; }
LANE f64 op_MUL_F64(f64 x, f64 y) { return x * y; }
LANE f64 op_DIV_F64(f64 x, f64 y) { return x / y; }
LANE f64 op_MIN_F64(f64 x, f64 y) { return ((x < y) | (x != x)) ? x : y; }
LANE f64 op_MAX_F64(f64 x, f64 y) { return ((x > y) | (x != x)) ? x : y; }
LANE u32 op_EQ_F64(f64 x, f64 y) { return x == y; }
LANE u32 op_NE_F64(f64 x, f64 y) { return x != y; }
LANE u32 op_LT_F64(f64 x, f64 y) { return x < y; }
LANE u32 op_LE_F64(f64 x, f64 y) { return x <= y; }

LANE f32 op_MULADD_F32(f32 x, f32 y, f32 z) { return x * y + z; }
LANE f64 op_MULADD_F64(f64 x, f64 y, f64 z) { return x * y + z; }
LANE f32 op_FMA_F32(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
LANE f64 op_FMA_F64(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
LANE u32 op_SELECT_32(u32 x, u32 y, u32 z) { return x != 0 ? y : z; }
LANE i64 op_SELECT_64(u32 x, i64 y, i64 z) { return x != 0 ? y : z; }

// --- Conversions: from_to, as tsr_convert ---

LANE u32 op_U32_BOOL(u32 x) { return x != 0; }
LANE u32 op_I64_BOOL(i64 x) { return x != 0; }
LANE u32 op_F32_BOOL(f32 x) { return x != 0; }
LANE u32 op_F64_BOOL(f64 x) { return x != 0; }
LANE i32 op_U32_I8(u32 x) { return (int8_t)(uint8_t)x; }
LANE u32 op_U32_U8(u32 x) { return (uint8_t)x; }
LANE i32 op_U32_I16(u32 x) { return (int16_t)(uint16_t)x; }
LANE u32 op_I64_U32(i64 x) { return (u32)(u64)x; }
LANE i64 op_I32_I64(i32 x) { return x; }
LANE i64 op_U32_I64(u32 x) { return (i64)x; }
LANE f32 op_I32_F32(i32 x) { return (f32)x; }
LANE f32 op_U32_F32(u32 x) { return (f32)x; }
LANE f32 op_I64_F32(i64 x) { return (f32)x; }
LANE f32 op_F64_F32(f64 x) { return (f32)x; }
LANE f64 op_I32_F64(i32 x) { return (f64)x; }
LANE f64 op_U32_F64(u32 x) { return (f64)x; }
LANE f64 op_I64_F64(i64 x) { return (f64)x; }
LANE f64 op_F32_F64(f32 x) { return (f64)x; }

// x clamped to [least, most], and NaN as 0. The bounds are integers that the type can represent.
LANE f32 bounded_f32(f32 x, f32 least, f32 most) {
  f32 y = x < least ? least : x;
  y = y > most ? most : y;
  return y == y ? y : 0.0f;
}
LANE f64 bounded_f64(f64 x, f64 least, f64 most) {
  f64 y = x < least ? least : x;
  y = y > most ? most : y;
  return y == y ? y : 0.0;
}
LANE i32 op_F32_I8(f32 x) { return (i32)bounded_f32(x, -128.0f, 127.0f); }
LANE u32 op_F32_U8(f32 x) { return (u32)(i32)bounded_f32(x, 0.0f, 255.0f); }
LANE i32 op_F32_I16(f32 x) { return (i32)bounded_f32(x, -32768.0f, 32767.0f); }
LANE i32 op_F64_I8(f64 x) { return (i32)bounded_f64(x, -128.0, 127.0); }
LANE u32 op_F64_U8(f64 x) { return (u32)(i32)bounded_f64(x, 0.0, 255.0); }
LANE i32 op_F64_I16(f64 x) { return (i32)bounded_f64(x, -32768.0, 32767.0); }
LANE i32 op_F64_I32(f64 x) { return (i32)bounded_f64(x, -2147483648.0, 2147483647.0); }
LANE u32 op_F64_U32(f64 x) { return (u32)bounded_f64(x, 0.0, 4294967295.0); }

// Clamps to the largest float of the type below the range's end, and replaces that by the end itself.
LANE i32 op_F32_I32(f32 x) {
  i32 y = (i32)bounded_f32(x, -0x1p31f, 0x1.fffffep30f);
  return x >= 0x1p31f ? INT32_MAX : y;
}
LANE u32 op_F32_U32(f32 x) {
  u32 y = (u32)bounded_f32(x, 0.0f, 0x1.fffffep31f);
  return x >= 0x1p32f ? UINT32_MAX : y;
}
LANE i64 op_F32_I64(f32 x) {
  i64 y = (i64)bounded_f32(x, -0x1p63f, 0x1.fffffep62f);
  return x >= 0x1p63f ? INT64_MAX : y;
}
LANE i64 op_F64_I64(f64 x) {
  i64 y = (i64)bounded_f64(x, -0x1p63, 0x1.fffffffffffffp62);
  return x >= 0x1p63 ? INT64_MAX : y;
}

LANE f32 op_F32_F16(f32 x) { return f32_of_f16(f16_of_f32(x)); }
LANE f32 op_F32_BF16(f32 x) { return f32_of_bf16(bf16_of_f32(x)); }
LANE f32 op_F64_F16(f64 x) { return f32_of_f16(tsri_f64_to_f16(x)); }
LANE f32 op_F64_BF16(f64 x) { return f32_of_bf16(tsri_f64_to_bf16(x)); }

// Integers to bf16, rounded once: bits that f32 cannot hold are first rounded to odd (lang/lower/expand_convert.c).
LANE f32 op_I32_BF16(i32 x) {
  i32 odd = (i32)((u32)x & 0xffffff00u) | (((u32)x & 0xffu) != 0 ? 0x100 : 0);
  return op_F32_BF16((f32)((x < 0 ? ~x : x) < 1 << 24 ? x : odd));
}
LANE f32 op_U32_BF16(u32 x) {
  u32 odd = (x & 0xffffff00u) | ((x & 0xffu) != 0 ? 0x100u : 0u);
  return op_F32_BF16((f32)(x < 1u << 24 ? x : odd));
}
LANE f32 op_I64_BF16(i64 x) { return f32_of_bf16(tsri_i64_to_bf16(x)); }

#endif
