// SPDX-License-Identifier: MIT
// For operators that compute only in f32 or f64: integers and bool become f32; f16 and bf16 are computed in f32 and rounded at the end.
#ifndef TSRI_OPS_WIDE_H
#define TSRI_OPS_WIDE_H

#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// x cast to the dtype of the computation. x is usable.
static inline tsr_tensor *tsri_widened(tsr_tensor *x) {
  return tsr_cast(x, tsri_accumulator(tsri_promote_float(x->dtype)));
}

// Casts `result`, which was computed from an input of `dtype`, to the dtype of the operator's result. Releases `result`.
static inline tsr_tensor *tsri_narrowed(const char *caller, tsr_tensor *result, tsr_dtype dtype) {
  return tsri_tensor_named(caller, tsri_then(tsr_cast(result, tsri_promote_float(dtype)), result));
}

#endif
