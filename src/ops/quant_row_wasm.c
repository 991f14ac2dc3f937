// SPDX-License-Identifier: MIT
// Web pages: one row is multiplied as several are, so that there are fewer kernels to load.
#include "ops/quant_row.h"

tsr_status tsri_quant_row(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}
