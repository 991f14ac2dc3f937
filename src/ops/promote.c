// SPDX-License-Identifier: MIT
// The promotion table.
#include "ops/promote.h"

#include "core/error.h"
#include "lang/ir/ir.h"

// Rows and columns are in the order of TSR_DTYPES. The rules are NumPy's, with exceptions: f16 and bf16 give f32 (neither
// holds the other), the two f8 give f16 (which holds both), an integer and a float give that float and u64 and a signed
// integer give i64 (NumPy takes f64, which many devices do not have).
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
#define U16  TSR_U16
#define U64  TSR_U64
#define E4   TSR_F8_E4M3
#define E5   TSR_F8_E5M2
// clang-format off
static const unsigned char promoted[TSR_DTYPE_COUNT][TSR_DTYPE_COUNT] = {
    //            bool   u8     i8     i16    i32    i64    u32    f16    bf16   f32    f64    u16    u64    f8_e4m3 f8_e5m2
    /* bool    */ {B,     U8,    I8,    I16,   I32,   I64,   U32,   F16,   BF16,  F32,   F64,   U16,   U64,   E4,    E5},
    /* u8      */ {U8,    U8,    I16,   I16,   I32,   I64,   U32,   F16,   BF16,  F32,   F64,   U16,   U64,   E4,    E5},
    /* i8      */ {I8,    I16,   I8,    I16,   I32,   I64,   I64,   F16,   BF16,  F32,   F64,   I32,   I64,   E4,    E5},
    /* i16     */ {I16,   I16,   I16,   I16,   I32,   I64,   I64,   F16,   BF16,  F32,   F64,   I32,   I64,   E4,    E5},
    /* i32     */ {I32,   I32,   I32,   I32,   I32,   I64,   I64,   F16,   BF16,  F32,   F64,   I32,   I64,   E4,    E5},
    /* i64     */ {I64,   I64,   I64,   I64,   I64,   I64,   I64,   F16,   BF16,  F32,   F64,   I64,   I64,   E4,    E5},
    /* u32     */ {U32,   U32,   I64,   I64,   I64,   I64,   U32,   F16,   BF16,  F32,   F64,   U32,   U64,   E4,    E5},
    /* f16     */ {F16,   F16,   F16,   F16,   F16,   F16,   F16,   F16,   F32,   F32,   F64,   F16,   F16,   F16,   F16},
    /* bf16    */ {BF16,  BF16,  BF16,  BF16,  BF16,  BF16,  BF16,  F32,   BF16,  F32,   F64,   BF16,  BF16,  BF16,  BF16},
    /* f32     */ {F32,   F32,   F32,   F32,   F32,   F32,   F32,   F32,   F32,   F32,   F64,   F32,   F32,   F32,   F32},
    /* f64     */ {F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64,   F64},
    /* u16     */ {U16,   U16,   I32,   I32,   I32,   I64,   U32,   F16,   BF16,  F32,   F64,   U16,   U64,   E4,    E5},
    /* u64     */ {U64,   U64,   I64,   I64,   I64,   I64,   U64,   F16,   BF16,  F32,   F64,   U64,   U64,   E4,    E5},
    /* f8_e4m3 */ {E4,    E4,    E4,    E4,    E4,    E4,    E4,    F16,   BF16,  F32,   F64,   E4,    E4,    E4,    F16},
    /* f8_e5m2 */ {E5,    E5,    E5,    E5,    E5,    E5,    E5,    F16,   BF16,  F32,   F64,   E5,    E5,    F16,   E5},
};
// clang-format on

tsr_dtype tsri_promote(tsr_dtype a, tsr_dtype b) { return (tsr_dtype)promoted[a][b]; }

tsr_status tsr_dtype_promote(tsr_dtype a, tsr_dtype b, tsr_dtype *out_dtype) {
  if (!out_dtype) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "dtype_promote: out_dtype is NULL");
  if ((unsigned)a >= TSR_DTYPE_COUNT || (unsigned)b >= TSR_DTYPE_COUNT) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "dtype_promote: no operator computes with %s and %s", tsr_dtype_name(a),
                     tsr_dtype_name(b));
  }
  *out_dtype = tsri_promote(a, b);
  return TSR_OK;
}

tsr_dtype tsri_promote_float(tsr_dtype dtype) { return tsri_dtype_is_float(dtype) ? dtype : TSR_F32; }

tsr_dtype tsri_promote_sum(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_BOOL:
    case TSR_U8:
    case TSR_I8:
    case TSR_I16:
    case TSR_U16:
      return TSR_I32;
    default:
      return dtype;
  }
}

tsr_dtype tsri_accumulator(tsr_dtype dtype) { return dtype == TSR_BOOL ? TSR_U32 : tsri_ir_compute_dtype(dtype); }

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
    case TSR_U16:
      return (tsri_whole_range){0, 65535};
    case TSR_U32:
      return (tsri_whole_range){0, 4294967295.0};
    case TSR_U64:
      return (tsri_whole_range){0, 18446744073709549568.0};
    default:
      return (tsri_whole_range){-9223372036854775808.0, 9223372036854774784.0};
  }
}
