// SPDX-License-Identifier: MIT
// Web pages: every scatter is done by a sort, so that there are fewer kernels to load.
#include "ops/scatter.h"

bool tsri_scatter_takes(const tsri_scatter *s) {
  (void)s;
  return false;
}

tsr_status tsri_scatter_unsorted(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}
