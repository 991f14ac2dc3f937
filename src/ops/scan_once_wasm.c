// SPDX-License-Identifier: MIT
// In the browser, long rows are scanned in several launches, so that the module has fewer kernels.
#include "ops/scan_once.h"

tsr_status tsri_scan_once(const tsri_kernel_run *run, int64_t lines, int64_t n) {
  (void)run, (void)lines, (void)n;
  return TSR_ERR_UNSUPPORTED;
}
