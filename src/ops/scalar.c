// SPDX-License-Identifier: MIT
// Operators on a tensor and a number. Their rows are in elementwise.def; the number is a parameter of the kernel, so
// x * 2 and x * 3 share one.
#include "ops/elementwise.h"

// Squares are common, and a product is exact where pow is merely accurate.
static tsri_elementwise_id choose(tsri_elementwise_id id, const tsr_tensor *x, double c) {
  bool is_square = id == TSRI_EW_pow_scalar && c == 2 && tsr_tensor_dtype(x) != TSR_BOOL;
  return is_square ? TSRI_EW_square : id;
}

#define TSRI_SCALAR(name, ...) \
  tsr_tensor *tsr_##name(tsr_tensor *x, double c) { return tsri_elementwise(choose(TSRI_EW_##name, x, c), &x, &c); }
#include "ops/elementwise.def"
