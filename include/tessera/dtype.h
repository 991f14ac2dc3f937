// SPDX-License-Identifier: MIT
// Element types, and conversions between them.
#ifndef TESSERA_DTYPE_H
#define TESSERA_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

// name, lower-case name, bytes, kind, meaning. The numbers are part of the ABI: add new types at the end.
#define TSR_DTYPES(X)                                                                   \
  X(BOOL, bool, 1, BOOL, "truth value, one byte, 0 or 1")                               \
  X(U8, u8, 1, UINT, "unsigned 8-bit integer")                                          \
  X(I8, i8, 1, INT, "signed 8-bit integer")                                             \
  X(I16, i16, 2, INT, "signed 16-bit integer")                                          \
  X(I32, i32, 4, INT, "signed 32-bit integer")                                          \
  X(I64, i64, 8, INT, "signed 64-bit integer")                                          \
  X(U32, u32, 4, UINT, "unsigned 32-bit integer")                                       \
  X(F16, f16, 2, FLOAT, "IEEE half precision, 11-bit precision")                        \
  X(BF16, bf16, 2, FLOAT, "bfloat16, 8-bit precision")                                  \
  X(F32, f32, 4, FLOAT, "IEEE single precision")                                        \
  X(F64, f64, 8, FLOAT, "IEEE double precision")                                        \
  X(U16, u16, 2, UINT, "unsigned 16-bit integer")                                       \
  X(U64, u64, 8, UINT, "unsigned 64-bit integer")                                       \
  X(F8_E4M3, f8_e4m3, 1, FLOAT, "8-bit float, 4-bit precision, up to 448, no infinity") \
  X(F8_E5M2, f8_e5m2, 1, FLOAT, "8-bit float, 3-bit precision, up to 57344")

typedef enum tsr_dtype {
#define TSRI_X(name, lower, bytes, kind, text) TSR_##name,
  TSR_DTYPES(TSRI_X)
#undef TSRI_X
      TSR_DTYPE_COUNT,

  // Packed integers, for storing weights: two elements to a byte, of which the first has the low half. Each row of the last
  // axis begins at a byte; a row of an odd number of elements leaves the last half byte unused. Such tensors can be made from
  // host data, read, written, moved, printed, exchanged by DLPack, sliced where a row begins at a byte, and cast; every other
  // operator asks for a cast.
  TSR_I4 = 64,  // -8 to 7
  TSR_U4 = 65   // 0 to 15
} tsr_dtype;

typedef enum tsr_dtype_kind { TSR_KIND_BOOL, TSR_KIND_UINT, TSR_KIND_INT, TSR_KIND_FLOAT } tsr_dtype_kind;

// The name, such as "f32"; "?" for an invalid dtype. Static text, never NULL.
TSR_API const char *tsr_dtype_name(tsr_dtype dtype);

// A short description of the dtype. Static text, never NULL.
TSR_API const char *tsr_dtype_text(tsr_dtype dtype);

// Bytes of one element; 0 for an invalid dtype, and for i4 and u4, of which two share a byte.
TSR_API size_t tsr_dtype_bytes(tsr_dtype dtype);

// Bits of one element; 0 for an invalid dtype.
TSR_API int tsr_dtype_bits(tsr_dtype dtype);

// Kind of the dtype; TSR_KIND_BOOL for an invalid dtype (check tsr_dtype_bytes first).
TSR_API tsr_dtype_kind tsr_dtype_kind_of(tsr_dtype dtype);

// Finds a dtype by its name ("bf16").
//
// Errors: TSR_ERR_INVALID_ARGUMENT; the message lists the names. Then `*out_dtype` is unchanged.
TSR_API tsr_status tsr_dtype_parse(const char *name, tsr_dtype *out_dtype);

// The dtype in which an operator (add, where, concat, …) with inputs of these two dtypes computes (docs/type-promotion.md). Symmetric.
//
// Errors: TSR_ERR_DTYPE (an invalid dtype; i4 and u4, which only store). Then `*out_dtype` is unchanged.
TSR_API tsr_status tsr_dtype_promote(tsr_dtype a, tsr_dtype b, tsr_dtype *out_dtype);

// Converts `count` elements on the host. `dst` and `src` may be the same address if both dtypes have the same size;
// otherwise they must not overlap. Neither needs to be aligned.
//
// Float to narrower float rounds once, to nearest, ties to even; NaN stays NaN and infinity stays infinity. What is
// beyond the largest number after rounding becomes infinity, or NaN in f8_e4m3, which has no infinity: there, infinity
// and everything above 464 is NaN. Clamp to the largest number first where saturation is wanted. Float to integer drops
// the fraction and saturates; NaN becomes 0. Integer to narrower integer keeps the low bits. Integer to
// float rounds to nearest, ties to even. To bool: every value other than zero, including NaN, becomes 1. From bool: any
// byte other than 0 counts as 1.
//
// i4 and u4 are packed from the first byte on, the first element in its low half; with an odd count the other half of the
// last byte becomes 0.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL with a count above 0, an invalid dtype, more elements than memory can hold).
TSR_API tsr_status tsr_convert(tsr_dtype dst_dtype, void *dst, tsr_dtype src_dtype, const void *src, size_t count);

#endif
