// SPDX-License-Identifier: MIT
// Products of f16 and bf16 for devices whose library, or our kernels, are fast only if lines of matrices begin at multiples of some bytes: copies with longer
// lines are multiplied, and the product is copied back. Not part of the browser module (matmul_padded_wasm.c).
#ifndef TSRI_OPS_MATMUL_PADDED_H
#define TSRI_OPS_MATMUL_PADDED_H

#include "graph/graph.h"
#include "runtime/native_op.h"

// Whether padded copies save more time than copying takes.
bool tsri_product_wants_padding(const tsr_device *device, const tsri_native_op *op);

// Multiplies factors[0] by factors[1], as `product` describes them, by a kernel. The run's fused operators are not applied.
typedef tsr_status (*tsri_product_fn)(const tsri_kernel_run *run, const tsri_product_op *product,
                                      tsr_buffer *const *factors, tsr_buffer *result);

// Multiplies padded copies by the device's native product, or else by `by_kernel`. The run's epilogue is applied where the product is copied back.
// TSR_ERR_UNSUPPORTED, without a message: padding does not pay, or there is no memory for it.
tsr_status tsri_matmul_padded(const tsri_kernel_run *run, tsri_native_op product, tsri_product_fn by_kernel);

#endif
