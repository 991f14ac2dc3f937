// SPDX-License-Identifier: MIT
// One row of x times quantised weights (kernels/op_quant_row.tk).
#ifndef TSRI_OPS_QUANT_ROW_H
#define TSRI_OPS_QUANT_ROW_H

#include "graph/graph.h"

// The product of a row x, the first input, and packed weights, the second one. TSR_ERR_UNSUPPORTED, without a message, if
// the kernel has not this format, row length or dtype, or the device no room for it.
tsr_status tsri_quant_row(const tsri_kernel_run *run);

#endif
