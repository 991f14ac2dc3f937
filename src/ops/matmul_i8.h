// SPDX-License-Identifier: MIT
// Products of i8 by a device's native operator, which accumulates in i32 and needs both matrices contiguous along k.
// Copies matrices into that form where needed, and keeps the low byte of each sum.
#ifndef TSRI_OPS_MATMUL_I8_H
#define TSRI_OPS_MATMUL_I8_H

#include "graph/graph.h"

// `product` describes the run's node. Returns TSR_ERR_UNSUPPORTED, without a message, if the device has no such
// operator, or there is no memory for the sums; then the output has not been written.
tsr_status tsri_matmul_i8(const tsri_kernel_run *run, tsri_native_op product);

// As tsri_matmul_i8, but the complete i32 sums are stored, in `sums`.
tsr_status tsri_matmul_i8_sums(const tsri_kernel_run *run, tsri_native_op product, tsr_buffer *sums);

#endif
