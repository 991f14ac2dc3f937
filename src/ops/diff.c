// SPDX-License-Identifier: MIT
// diff: two slices of the tensor, one element apart, and their difference.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"

#include <tessera/ops.h>

// Each repetition records an operator, so their number is limited.
enum { MOST_TIMES = 64 };

// One difference along the axis, which must be in range and not empty.
static tsr_tensor *once(tsr_tensor *x, int axis) {
  int64_t size = tsr_tensor_shape(x).dims[axis];
  tsr_tensor *after = tsr_slice(x, axis, 1, size, 1);
  tsr_tensor *before = tsr_slice(x, axis, 0, size - 1, 1);
  tsr_tensor *result = tsr_tensor_dtype(x) == TSR_BOOL ? tsr_logical_xor(after, before) : tsr_sub(after, before);
  return tsri_then(tsri_then(result, after), before);
}

tsr_tensor *tsr_diff(tsr_tensor *x, int64_t times, int axis) {
  tsr_status status = tsri_tensor_check("diff", x);
  if (status == TSR_OK) status = tsri_axis("diff", axis, x->layout.shape.rank, &axis);
  int64_t size = status == TSR_OK ? x->layout.shape.dims[axis] : 0;
  bool is_possible = times >= 0 && (times <= MOST_TIMES || times >= size);
  if (status == TSR_OK && !is_possible) {
    status =
        TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "diff: %lld times; 0 to %d are possible", (long long)times, MOST_TIMES);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (times >= size) return tsri_tensor_named("diff", tsr_slice(x, axis, 0, 0, 1));  // an empty result
  // A new tensor record, not tsr_retain(): a scope releases the tensors that were made in it, but no references to others.
  tsr_tensor *result = tsri_tensor_view(x, &x->layout);
  for (int64_t i = 0; i < times && tsr_error(result) == TSR_OK; i++) result = tsri_then(once(result, axis), result);
  return tsri_tensor_named("diff", result);
}
