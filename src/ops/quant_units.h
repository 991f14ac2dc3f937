// SPDX-License-Identifier: MIT
// Several rows of x times quantised weights, by matrix units. Web pages do without it (quant_units_wasm.c).
#ifndef TSRI_OPS_QUANT_UNITS_H
#define TSRI_OPS_QUANT_UNITS_H

#include "graph/graph.h"

// Whether the device multiplies m rows of `dtype` by n rows of k weights so, faster than with a decoded copy of the weights.
bool tsri_quant_has_units(const tsr_device *device, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format);

// The product of x, the first input, and packed weights, the second one, for which tsri_quant_has_units is true. TSR_ERR_UNSUPPORTED, without a message,
// if it is false, or x begins where its words cannot be read.
tsr_status tsri_quant_units(const tsri_kernel_run *run);

#endif
