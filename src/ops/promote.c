// SPDX-License-Identifier: MIT
// The promotion table.
#include "ops/promote.h"

// Rows and columns are in the order of TSR_DTYPES. The rules are NumPy's, except that f16 and bf16 give f32 (neither
// holds the other), and an integer and a float give that float (NumPy widens some of them to f64, which many devices do
// not have).
#define B    TSR_BOOL
#define U8   TSR_U8
#define I8   TSR_I8
#define I16  TSR_I16
#define I32  TSR_I32
#define I64  TSR_I64
#define U32  TSR_U32
#define F16  TSR_F16
#define BF16 TSR_BF16
#define F32  TSR_F32
#define F64  TSR_F64
// clang-format off
static const unsigned char promoted[TSR_DTYPE_COUNT][TSR_DTYPE_COUNT] = {
    //          bool  u8    i8    i16   i32   i64   u32   f16   bf16  f32   f64
    /* bool */ {B,    U8,   I8,   I16,  I32,  I64,  U32,  F16,  BF16, F32,  F64},
    /* u8   */ {U8,   U8,   I16,  I16,  I32,  I64,  U32,  F16,  BF16, F32,  F64},
    /* i8   */ {I8,   I16,  I8,   I16,  I32,  I64,  I64,  F16,  BF16, F32,  F64},
    /* i16  */ {I16,  I16,  I16,  I16,  I32,  I64,  I64,  F16,  BF16, F32,  F64},
    /* i32  */ {I32,  I32,  I32,  I32,  I32,  I64,  I64,  F16,  BF16, F32,  F64},
    /* i64  */ {I64,  I64,  I64,  I64,  I64,  I64,  I64,  F16,  BF16, F32,  F64},
    /* u32  */ {U32,  U32,  I64,  I64,  I64,  I64,  U32,  F16,  BF16, F32,  F64},
    /* f16  */ {F16,  F16,  F16,  F16,  F16,  F16,  F16,  F16,  F32,  F32,  F64},
    /* bf16 */ {BF16, BF16, BF16, BF16, BF16, BF16, BF16, F32,  BF16, F32,  F64},
    /* f32  */ {F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F64},
    /* f64  */ {F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64},
};
// clang-format on

tsr_dtype tsri_promote(tsr_dtype a, tsr_dtype b) { return (tsr_dtype)promoted[a][b]; }

tsr_dtype tsri_promote_float(tsr_dtype dtype) { return tsri_dtype_is_float(dtype) ? dtype : TSR_F32; }

tsr_dtype tsri_promote_sum(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_BOOL:
    case TSR_U8:
    case TSR_I8:
    case TSR_I16:
      return TSR_I32;
    default:
      return dtype;
  }
}

tsr_dtype tsri_accumulator(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_F16:
    case TSR_BF16:
      return TSR_F32;
    case TSR_I8:
    case TSR_I16:
      return TSR_I32;
    case TSR_U8:
    case TSR_BOOL:
      return TSR_U32;
    default:
      return dtype;
  }
}

tsri_whole_range tsri_range_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_U8:
      return (tsri_whole_range){0, 255};
    case TSR_I8:
      return (tsri_whole_range){-128, 127};
    case TSR_I16:
      return (tsri_whole_range){-32768, 32767};
    case TSR_I32:
      return (tsri_whole_range){-2147483648.0, 2147483647.0};
    case TSR_U32:
      return (tsri_whole_range){0, 4294967295.0};
    default:
      return (tsri_whole_range){-9223372036854775808.0, 9223372036854774784.0};
  }
}
