// SPDX-License-Identifier: MIT
// One row of x times quantised weights (kernels/op_quant_row.tk).
#ifndef TSRI_OPS_QUANT_ROW_H
#define TSRI_OPS_QUANT_ROW_H

#include "graph/graph.h"

// Computes the product of a row x (input 0) and packed weights (input 1). TSR_ERR_UNSUPPORTED, without a message, if the kernel does not support the format,
// row length or dtype, or shared memory is too small.
tsr_status tsri_quant_row(const tsri_kernel_run *run);

#endif
