// SPDX-License-Identifier: MIT
// Type promotion: which dtype an operator computes in. One table; docs/type-promotion.md shows it.
#ifndef TSRI_PROMOTE_H
#define TSRI_PROMOTE_H

#include <stdbool.h>

#include <tessera/dtype.h>

// The dtype two inputs meet in. Symmetric; both are dtypes.
tsr_dtype tsri_promote(tsr_dtype a, tsr_dtype b);

// What functions of real numbers (sqrt, div, mean, …) compute in: floats stay, integers and bool become f32.
tsr_dtype tsri_promote_float(tsr_dtype dtype);

// What sums and products are kept in: bool, u8, i8, i16 and i32 become i32; u32, i64 and floats stay.
tsr_dtype tsri_promote_sum(tsr_dtype dtype);

// What is accumulated in when a result of `dtype` is made of many elements: f32 for f16 and bf16, i32 for i8 and i16,
// u32 for u8 and bool, else itself.
tsr_dtype tsri_accumulator(tsr_dtype dtype);

// Indices that operators return (argmax, argsort, topk): every device has i32.
#define TSRI_INDEX_DTYPE TSR_I32

// What an integer dtype holds, as far as a double can say: i64's largest double is 2^63 - 1024.
typedef struct tsri_whole_range {
  double least, most;  // both inside
} tsri_whole_range;

tsri_whole_range tsri_range_of(tsr_dtype dtype);

static inline bool tsri_dtype_is_float(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT; }

#endif
