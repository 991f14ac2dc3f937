// SPDX-License-Identifier: MIT
// Products of i8 by a device's own operator, which sums in i32 and wants both matrices along k: brought into that form where they
// are not, and the low byte of each sum taken.
#ifndef TSRI_OPS_MATMUL_I8_H
#define TSRI_OPS_MATMUL_I8_H

#include "graph/graph.h"

// Whether the node's device has one for it.
bool tsri_matmul_i8_is_native(const tsri_node *node);

// TSR_ERR_UNSUPPORTED, without a message: it has none, or no memory for the sums. Nothing was queued that matters.
tsr_status tsri_matmul_i8(const tsri_kernel_run *run);

#endif
