// SPDX-License-Identifier: MIT
// Web pages: rows are scanned in tiles, so that there are fewer kernels to load.
#include "ops/scan_quads.h"

tsr_status tsri_scan_quads(const tsri_quad_rows *rows) {
  (void)rows;
  return TSR_ERR_UNSUPPORTED;
}
