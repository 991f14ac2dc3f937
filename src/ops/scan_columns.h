// SPDX-License-Identifier: MIT
// Scans of lines across rows, which need not be contiguous: one item for several neighbouring lines, or for a part of them. Not part of the browser module
// (scan_columns_wasm.c).
#ifndef TSRI_OPS_SCAN_COLUMNS_H
#define TSRI_OPS_SCAN_COLUMNS_H

#include "ops/scan_work.h"

// Whether a view of lines that are `x_inner` elements apart is scanned as fast as a copy of it.
bool tsri_scan_suits_view(int64_t x_inner);

// Scans lines. Returns TSR_ERR_UNSUPPORTED, without a message, if the work has no need of this kernel and scan_lines is as fast on the device.
tsr_status tsri_scan_columns(const tsri_scan_work *s, const tsri_scan_parts *p);

// Computes the sum of each part, with the errors of tsri_scan_columns.
tsr_status tsri_scan_column_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals);

#endif
