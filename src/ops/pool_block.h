// SPDX-License-Identifier: MIT
// Pooling of floats with small windows on GPUs, by a kernel whose items compute blocks of neighbouring results. Not part of the browser module (pool_block_wasm.c).
#ifndef TSRI_OPS_POOL_BLOCK_H
#define TSRI_OPS_POOL_BLOCK_H

#include "graph/graph.h"
#include "ops/operators.h"

// Runs a pooling of `results` results; `mode` of the attributes is the largest element or the mean. `lowest`: the initial value of a maximum. Returns
// TSR_ERR_UNSUPPORTED, without a message, if the kernel cannot compute it, or would not be faster.
tsr_status tsri_pool_blocks(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t results,
                            double lowest);

#endif
