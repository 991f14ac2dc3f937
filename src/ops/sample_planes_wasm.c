// SPDX-License-Identifier: MIT
// In the browser, grid_sample reads images where they lie, so that the module has fewer kernels.
#include "ops/sample_planes.h"

tsr_status tsri_sample_planes(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}
