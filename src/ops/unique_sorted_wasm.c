// SPDX-License-Identifier: MIT
// In the browser, unique is composed of other operators, so that the module has fewer kernels.
#include "ops/unique_sorted.h"

tsr_status tsri_unique_sorted(tsr_tensor *x, tsr_tensor *out_results[3]) {
  (void)x, (void)out_results;
  return TSR_ERR_UNSUPPORTED;
}
