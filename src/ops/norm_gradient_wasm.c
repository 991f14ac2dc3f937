// SPDX-License-Identifier: MIT
// In place of norm_gradient.c: no device in the browser has the gradient of norms as a native operator.
#include "ops/norm_gradient.h"

const tsri_op tsri_op_norm_gradient = {.name = "norm",
                                       .kind = TSRI_OP_KERNEL,
                                       .is_for_device = true,
                                       .attribute_set = TSRI_SET_norm,
                                       .attribute_bytes = sizeof(tsri_norm_attributes)};

bool tsri_norm_has_gradient(const tsr_tensor *x, const tsr_tensor *g, const tsr_tensor *weight) {
  (void)x, (void)g, (void)weight;
  return false;
}

void tsri_norm_gradients(tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight, tsr_tensor *plus,
                         const tsri_norm_attributes *given, tsr_tensor *out_gradients[3]) {
  (void)x, (void)g, (void)weight, (void)plus, (void)given, (void)out_gradients;
}
