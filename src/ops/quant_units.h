// SPDX-License-Identifier: MIT
// Several rows of x times quantised weights, by matrix units. Not part of the browser module (quant_units_wasm.c).
#ifndef TSRI_OPS_QUANT_UNITS_H
#define TSRI_OPS_QUANT_UNITS_H

#include "graph/graph.h"

// Whether matrix units multiply m rows of `dtype` by n rows of k weights on this device, faster than with a decoded copy of the weights.
bool tsri_quant_has_units(const tsr_device *device, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format);

// Computes the product of x (input 0) and packed weights (input 1). TSR_ERR_UNSUPPORTED, without a message, if tsri_quant_has_units is false, or if x begins at
// an offset from which its words cannot be read.
tsr_status tsri_quant_units(const tsri_kernel_run *run);

#endif
