// SPDX-License-Identifier: MIT
// Scans of few long rows in one pass. Not part of the browser module (scan_once_wasm.c).
#ifndef TSRI_OPS_SCAN_ONCE_H
#define TSRI_OPS_SCAN_ONCE_H

#include "ops/scan_work.h"

// Scans contiguous rows. Returns TSR_ERR_UNSUPPORTED, without a message, if the rows must be scanned in several launches.
tsr_status tsri_scan_once(const tsri_scan_work *s);

#endif
