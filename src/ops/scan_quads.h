// SPDX-License-Identifier: MIT
// Running sums of rows by subgroups, which read four neighbours at a time (kernels/op_scan_quads.tk). Web pages do without it (scan_quads_wasm.c).
#ifndef TSRI_OPS_SCAN_QUADS_H
#define TSRI_OPS_SCAN_QUADS_H

#include "ops/call.h"

// `lines` contiguous rows of `n` elements, in `parts` parts of `length` elements each; 1 part: whole rows.
typedef struct tsri_quad_rows {
  tsr_device *device;
  tsr_buffer *x, *y;
  tsr_buffer *offsets;  // what each part begins with; NULL: with nothing
  int64_t lines, n, parts, length, x_at;
  tsr_dtype dtype;
  bool is_exclusive;  // element i is the sum of those before it
} tsri_quad_rows;

// Returns TSR_ERR_UNSUPPORTED, without a message, if the device has no subgroups, or if quads of x are not at the places of those of y.
tsr_status tsri_scan_quads(const tsri_quad_rows *rows);

#endif
