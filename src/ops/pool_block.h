// SPDX-License-Identifier: MIT
// Pooling of floats with small windows on GPUs, by a kernel whose items compute blocks of neighbouring results.
#ifndef TSRI_OPS_POOL_BLOCK_H
#define TSRI_OPS_POOL_BLOCK_H

#include "graph/graph.h"
#include "ops/operators.h"

// Whether the kernel computes this pooling of `results` results. `mode` of the attributes must be the largest element or the mean.
bool tsri_pool_has_blocks(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t results);

// Launches it. `lowest`: the initial value of a maximum.
tsr_status tsri_pool_blocks(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t results,
                            double lowest);

#endif
