// SPDX-License-Identifier: MIT
// Pooling, and the gradient of max_pool.
#ifndef TSRI_CPU_POOL_H
#define TSRI_CPU_POOL_H

#include "backends/cpu/cpu.h"

// Whether tsri_cpu_pool computes the operator.
bool tsri_cpu_has_pool(const tsri_pool_op *op);

// Computes the operator; f16 and bf16 in f32. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_pool(cpu_device *device, tsr_dtype dtype, const tsri_pool_op *op);

#endif
