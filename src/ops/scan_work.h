// SPDX-License-Identifier: MIT
// What the ways to scan (scan.c) are given. Comments say "sum" for all combinations.
#ifndef TSRI_OPS_SCAN_WORK_H
#define TSRI_OPS_SCAN_WORK_H

#include "ops/call.h"
#include "ops/promote.h"
#include "ops/scan.h"

// A scan of `lines` lines of `n` elements, which are `inner` apart in y.
typedef struct tsri_scan_work {
  tsr_device *device;
  tsr_buffer *x, *y;
  tsr_buffer *places;  // i32, for the places of extremes; NULL: there are none
  int64_t lines, n, inner, x_at;
  // Distances in x between neighbours along the axis, along the axes after it and along the axes before it. Only tsri_scan_columns uses them: for all other ways
  // x is contiguous.
  int64_t x_step, x_inner, x_outer;
  tsr_dtype dtype;
  tsri_scan_combination combination;
  bool is_exclusive;  // element i is the sum of the elements before i
  bool is_packed;     // sums have more than a value: they are packed into u64 (kernels/op_scan.tk)
} tsri_scan_work;

// Lines divided into `parts` parts of `length` elements, one item or one work-group for each part; 1 part: complete lines.
typedef struct tsri_scan_parts {
  int64_t parts, length;
  tsr_buffer *offsets;  // the sum before each part; NULL: nothing
} tsri_scan_parts;

// The dtype of sums in memory and between work items.
static inline tsr_dtype tsri_scan_state(const tsri_scan_work *s) {
  return s->is_packed ? TSR_U64 : tsri_accumulator(s->dtype);
}

// Passes the parameters that all kernels for lines across rows have, and launches one of them. `width`: neighbouring lines of a work item.
tsr_status tsri_scan_launch_lines(const tsri_scan_work *s, const tsri_scan_parts *p, int width, tsri_call *call);

#endif
