// SPDX-License-Identifier: MIT
// Type promotion: the dtype an operator computes in. One table, which docs/type-promotion.md shows.
#ifndef TSRI_PROMOTE_H
#define TSRI_PROMOTE_H

#include <stdbool.h>

#include <tessera/dtype.h>

// The common dtype of two inputs. Symmetric; both must be valid dtypes.
tsr_dtype tsri_promote(tsr_dtype a, tsr_dtype b);

// The dtype that functions of real numbers (sqrt, div, mean, …) compute in: floats stay, integers and bool become f32.
tsr_dtype tsri_promote_float(tsr_dtype dtype);

// The dtype of sums and products: bool, u8, i8, i16, u16 and i32 become i32; u32, i64, u64 and floats stay.
tsr_dtype tsri_promote_sum(tsr_dtype dtype);

// The accumulator for a result of `dtype` that is computed from many elements: f32 for f16, bf16 and f8, i32 for i8 and
// i16, u32 for u8, u16 and bool, else `dtype` itself.
tsr_dtype tsri_accumulator(tsr_dtype dtype);

// The dtype of indices that operators return (argmax, argsort, topk). Every device has i32.
#define TSRI_INDEX_DTYPE TSR_I32

// The range of an integer dtype, as far as doubles can express it: the greatest double below i64's limit is 2^63 -
// 1024, below u64's it is 2^64 - 2048.
typedef struct tsri_whole_range {
  double least, most;  // both inclusive
} tsri_whole_range;

tsri_whole_range tsri_range_of(tsr_dtype dtype);

static inline bool tsri_dtype_is_float(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT; }

// Whether the dtype is a float of one byte.
static inline bool tsri_dtype_is_f8(tsr_dtype dtype) {
  return tsri_dtype_is_float(dtype) && tsr_dtype_bytes(dtype) == 1;
}

// Floats that are computed in f32: f16, bf16 and f8.
static inline bool tsri_dtype_is_narrow(tsr_dtype dtype) {
  return tsri_dtype_is_float(dtype) && tsr_dtype_bytes(dtype) < 4;
}

#endif
