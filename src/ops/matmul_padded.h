// SPDX-License-Identifier: MIT
// Products of f16 and bf16 for a device whose library, or our kernels on it, are fast only if lines of matrices begin at multiples of
// some bytes: copies with longer lines are multiplied, and the product is copied back. Web pages do without it (matmul_padded_wasm.c).
#ifndef TSRI_OPS_MATMUL_PADDED_H
#define TSRI_OPS_MATMUL_PADDED_H

#include "graph/graph.h"
#include "runtime/native_op.h"

// Whether the copies take less time than they save.
bool tsri_product_wants_padding(const tsr_device *device, const tsri_native_op *op);

// Multiplies factors[0] by factors[1] as `product` describes them, by a kernel. Nothing comes after the product.
typedef tsr_status (*tsri_product_fn)(const tsri_kernel_run *run, const tsri_product_op *product,
                                      tsr_buffer *const *factors, tsr_buffer *result);

// Multiplies so, by the device's own product or else `by_kernel`. The run's epilogue is applied where the product is copied back. TSR_ERR_UNSUPPORTED, without a message: the product does not want
// it, or there is no memory for it.
tsr_status tsri_matmul_padded(const tsri_kernel_run *run, tsri_native_op product, tsri_product_fn by_kernel);

#endif
