// SPDX-License-Identifier: MIT
// Scans of lines across rows, which need not be contiguous: one item for several neighbouring lines, or for a part of them. Not part of the browser module
// (scan_columns_wasm.c).
#ifndef TSRI_OPS_SCAN_COLUMNS_H
#define TSRI_OPS_SCAN_COLUMNS_H

#include "ops/scan_work.h"

// Whether x, a view whose axes make up the three axes of `three`, is scanned along the second one as fast as a copy of it.
bool tsri_scan_suits_view(const tsr_tensor *x, tsr_shape three);

// Sets the distances in x. False if the elements are not a whole number of steps apart.
bool tsri_scan_find_strides(const tsri_layout *layout, tsr_shape three, tsri_scan_work *s);

// Scans lines. Returns TSR_ERR_UNSUPPORTED, without a message, if the work has no need of this kernel and scan_lines is as fast on the device.
tsr_status tsri_scan_columns(const tsri_scan_work *s, const tsri_scan_parts *p);

// Computes the sum of each part, with the errors of tsri_scan_columns.
tsr_status tsri_scan_column_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals);

#endif
