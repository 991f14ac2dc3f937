// SPDX-License-Identifier: MIT
// In the browser, every scatter sorts, so that the module has fewer kernels.
#include "ops/scatter.h"

bool tsri_scatter_takes(const tsri_scatter *s) {
  (void)s;
  return false;
}

bool tsri_scatter_takes_turned(const tsri_scatter *s) {
  (void)s;
  return false;
}

bool tsri_scatter_unsorted(const tsri_kernel_run *run, int combination, tsr_status *out_status) {
  (void)run, (void)combination, (void)out_status;
  return false;
}
