// SPDX-License-Identifier: MIT
// In the browser, long rows are scanned in several launches, so that the module has fewer kernels.
#include "ops/scan_once.h"

tsr_status tsri_scan_once(const tsri_scan_work *s) {
  (void)s;
  return TSR_ERR_UNSUPPORTED;
}
