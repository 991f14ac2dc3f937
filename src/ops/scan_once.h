// SPDX-License-Identifier: MIT
// Running sums of few long rows in one pass (kernels/op_scan_once.tk). Not part of the browser module (scan_once_wasm.c).
#ifndef TSRI_OPS_SCAN_ONCE_H
#define TSRI_OPS_SCAN_ONCE_H

#include "ops/call.h"

// Scans sums along the last axis of input 0, which has `lines` contiguous rows of `n` elements. Returns TSR_ERR_UNSUPPORTED, without a message, if the rows
// must be scanned in several launches.
tsr_status tsri_scan_once(const tsri_kernel_run *run, int64_t lines, int64_t n);

#endif
