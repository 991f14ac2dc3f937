// SPDX-License-Identifier: MIT
// Running sums of rows by subgroups, which read quads of neighbouring elements (kernels/op_scan_quads.tk). Not part of the browser module (scan_quads_wasm.c).
#ifndef TSRI_OPS_SCAN_QUADS_H
#define TSRI_OPS_SCAN_QUADS_H

#include "ops/call.h"

// `lines` contiguous rows of `n` elements, in `parts` parts of `length` elements each; 1 part: complete rows.
typedef struct tsri_quad_rows {
  tsr_device *device;
  tsr_buffer *x, *y;
  tsr_buffer *offsets;  // the sum before each part; NULL: nothing
  int64_t lines, n, parts, length, x_at;
  tsr_dtype dtype;
  bool is_exclusive;  // element i is the sum of the elements before i
} tsri_quad_rows;

// Runs the scan. Returns TSR_ERR_UNSUPPORTED, without a message, if the device has no subgroups, or if the quads of x and of y are not aligned alike.
tsr_status tsri_scan_quads(const tsri_quad_rows *rows);

#endif
