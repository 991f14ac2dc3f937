// SPDX-License-Identifier: MIT
// In the browser, rows are scanned in tiles, so that the module has fewer kernels.
#include "ops/scan_quads.h"

tsr_status tsri_scan_quads(const tsri_quad_rows *rows) {
  (void)rows;
  return TSR_ERR_UNSUPPORTED;
}
