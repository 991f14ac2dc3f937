// SPDX-License-Identifier: MIT
// Sums, maxima and minima over any axes.
#ifndef TSRI_CPU_REDUCE_H
#define TSRI_CPU_REDUCE_H

#include "backends/cpu/cpu.h"

// Whether tsri_cpu_reduce supports the operator's strides.
bool tsri_cpu_has_reduce(const tsri_native_op *op);

// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_reduce(cpu_device *device, tsr_dtype dtype, tsr_dtype result, const tsri_reduce_op *op);

#endif
