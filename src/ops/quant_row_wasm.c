// SPDX-License-Identifier: MIT
// In the browser, one row is multiplied by the kernel for several rows, so that the module has fewer kernels.
#include "ops/quant_row.h"

tsr_status tsri_quant_row(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}
