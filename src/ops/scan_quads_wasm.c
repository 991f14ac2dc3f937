// SPDX-License-Identifier: MIT
// In the browser, rows are scanned in tiles, so that the module has fewer kernels.
#include "ops/scan_quads.h"

bool tsri_scan_has_quads(tsr_device *device) {
  (void)device;
  return false;
}

tsr_status tsri_scan_quads(const tsri_scan_work *s, const tsri_scan_parts *p) {
  (void)s, (void)p;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_scan_part_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals) {
  (void)s, (void)p, (void)totals;
  return TSR_ERR_UNSUPPORTED;
}
