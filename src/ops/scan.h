// SPDX-License-Identifier: MIT
// Running sums, products, extremes and logarithms of sums along an axis, for operators that need them.
#ifndef TSRI_OPS_SCAN_H
#define TSRI_OPS_SCAN_H

#include "graph/graph.h"

// How two partial results are combined; the values of OP in kernels/op_scan.tk.
typedef enum tsri_scan_combination {
  TSRI_SCAN_SUM,
  TSRI_SCAN_PRODUCT,
  TSRI_SCAN_LARGEST,   // NaN if any is NaN
  TSRI_SCAN_SMALLEST,  // NaN if any is NaN
  TSRI_SCAN_LOG_SUM,   // log(exp(a) + exp(b)); floats only
  // TSRI_SCAN_LARGEST and TSRI_SCAN_SMALLEST with the place of the first such element, which is a second result
  TSRI_SCAN_FIRST_LARGEST,
  TSRI_SCAN_FIRST_SMALLEST
} tsri_scan_combination;

// Scans x along the axis: element i of the result, of dtype `dtype` (not bool), combines elements 0 to i. `op` is an operator with KERNEL(scan), whose name is
// used in messages. Passes a failed tensor on.
tsr_tensor *tsri_scan_along(const tsri_op *op, tsr_tensor *x, int axis, tsr_dtype dtype,
                            tsri_scan_combination combination);

// Whether tsri_scan_places can scan x: subgroups scan on the device, and elements have up to 32 bits.
bool tsri_scan_finds_places(const tsr_tensor *x);

// Running extremes along an axis (in range, of up to INT32_MAX elements) in out[0], and their places in out[1] (i32). x is no bool.
void tsri_scan_places(const tsri_op *op, tsr_tensor *x, int axis, bool is_max, tsr_tensor **out);

#endif
