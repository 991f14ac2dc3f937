// SPDX-License-Identifier: MIT
// Products of f8 by a device's native product of f16 with an f32 result. f16 represents every f8 exactly, so this equals a product of f8 computed in f32.
// Hardware that multiplies f8 directly accumulates with fewer bits than f32 has (docs/notes/performance/products.md#products-of-f8).
#ifndef TSRI_OPS_MATMUL_F8_H
#define TSRI_OPS_MATMUL_F8_H

#include "graph/graph.h"

// Changes the description of a product of f8 to that of a product of f16 with an f32 result. False if converting the matrices would take longer than it saves,
// or if the product is scaled.
bool tsri_product_f8_wide(tsri_native_op *op);

// Runs the product. `product` describes the run's node. Returns TSR_ERR_UNSUPPORTED, without a message, if the device has no such operator or there is no
// memory for the copies; then the output has not been written.
tsr_status tsri_matmul_f8(const tsri_kernel_run *run, tsri_native_op product);

#endif
