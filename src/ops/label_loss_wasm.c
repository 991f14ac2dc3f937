// SPDX-License-Identifier: MIT
// In the browser, nll_loss is composed of other operators, so that the module has fewer kernels.
#include "ops/label_loss.h"

tsr_tensor *tsri_label_loss(tsr_tensor *x, tsr_tensor *labels, bool is_mean) {
  (void)x, (void)labels, (void)is_mean;
  return NULL;
}
