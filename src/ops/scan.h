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
  TSRI_SCAN_LOG_SUM    // log(exp(a) + exp(b)); floats only
} tsri_scan_combination;

// Scans x along the axis: element i of the result, of dtype `dtype` (not bool), combines elements 0 to i. `op` is an operator with KERNEL(scan), whose name is
// used in messages. Passes a failed tensor on.
tsr_tensor *tsri_scan_along(const tsri_op *op, tsr_tensor *x, int axis, tsr_dtype dtype,
                            tsri_scan_combination combination);

#endif
