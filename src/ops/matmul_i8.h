// SPDX-License-Identifier: MIT
// Products of i8 by a device's own operator, which sums in i32 and wants both matrices along k: brought into that form where they
// are not, and the low byte of each sum taken.
#ifndef TSRI_OPS_MATMUL_I8_H
#define TSRI_OPS_MATMUL_I8_H

#include "graph/graph.h"

// `product`: that of the run's node. TSR_ERR_UNSUPPORTED, without a message: the device has none for it, or no memory for the sums. Nothing
// was queued that matters.
tsr_status tsri_matmul_i8(const tsri_kernel_run *run, tsri_native_op product);

#endif
