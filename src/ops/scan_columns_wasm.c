// SPDX-License-Identifier: MIT
// In the browser, lines are scanned one element at a time, so that the module has fewer kernels.
#include "ops/scan_columns.h"

bool tsri_scan_suits_view(const tsr_tensor *x, tsr_shape three) {
  (void)x, (void)three;
  return false;
}

// x is contiguous here, so nothing reads the distances.
bool tsri_scan_find_strides(const tsri_layout *layout, tsr_shape three, tsri_scan_work *s) {
  (void)layout, (void)three, (void)s;
  return true;
}

tsr_status tsri_scan_columns(const tsri_scan_work *s, const tsri_scan_parts *p) {
  (void)s, (void)p;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_scan_column_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals) {
  (void)s, (void)p, (void)totals;
  return TSR_ERR_UNSUPPORTED;
}
