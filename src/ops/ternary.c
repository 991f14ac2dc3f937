// SPDX-License-Identifier: MIT
// Operators on three tensors, broadcast against each other. Their rows are in elementwise.def.
#include "ops/elementwise.h"

tsr_tensor *tsr_where(tsr_tensor *condition, tsr_tensor *a, tsr_tensor *b) {
  return tsri_elementwise(TSRI_EW_where, (tsr_tensor *[]){condition, a, b}, NULL);
}

tsr_tensor *tsr_fma(tsr_tensor *a, tsr_tensor *b, tsr_tensor *c) {
  return tsri_elementwise(TSRI_EW_fma, (tsr_tensor *[]){a, b, c}, NULL);
}

tsr_tensor *tsr_lerp(tsr_tensor *a, tsr_tensor *b, tsr_tensor *weight) {
  return tsri_elementwise(TSRI_EW_lerp, (tsr_tensor *[]){a, b, weight}, NULL);
}

tsr_tensor *tsr_lerp_scalar(tsr_tensor *a, tsr_tensor *b, double weight) {
  return tsri_elementwise(TSRI_EW_lerp_scalar, (tsr_tensor *[]){a, b}, &weight);
}
