// SPDX-License-Identifier: MIT
// Products of f16 and bf16 for a device whose library is fast only if lines of matrices begin at multiples of some bytes: copies with longer lines
// are multiplied, and the product is copied back.
#ifndef TSRI_OPS_MATMUL_PADDED_H
#define TSRI_OPS_MATMUL_PADDED_H

#include "graph/graph.h"
#include "runtime/native_op.h"

// Whether the copies take less time than they save.
bool tsri_product_wants_padding(const tsr_device *device, const tsri_native_op *op);

// Multiplies so. The run's epilogue is applied where the product is copied back. TSR_ERR_UNSUPPORTED, without a message: the product does not want
// it, the device does not take it, or there is no memory for it.
tsr_status tsri_matmul_padded(const tsri_kernel_run *run, tsri_native_op product);

#endif
