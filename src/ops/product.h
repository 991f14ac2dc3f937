// SPDX-License-Identifier: MIT
// Describes matrix products for devices and kernels: sizes, strides and batch axes are computed here.
#ifndef TSRI_OPS_PRODUCT_H
#define TSRI_OPS_PRODUCT_H

#include "graph/graph.h"

// Describes alpha a b + beta c with a result of `shape`. `layouts` are those of a, b and, if input_count is 3, c; each
// has rank 2 or more, and batch axes that broadcast to those of the result. Buffers are not bound; the offsets are
// those of the layouts. Returns false if the result is empty or k is 0.
bool tsri_product_describe(tsr_dtype dtype, tsr_shape shape, const tsri_layout *const *layouts, int input_count,
                           double alpha, double beta, tsri_native_op *out_op);

// As tsri_product_describe, for a node of matmul or gemm.
bool tsri_product_of(const tsri_node *node, tsri_native_op *out_op);

// Records the product of two tensors of rank 2 or more in `dtype`, which autocast does not change.
tsr_tensor *tsri_product_in(tsr_dtype dtype, tsr_tensor *a, tsr_tensor *b);

// Computes the product that `op` describes, which has no parts but a factor alpha, natively or by kernels. y is written from its beginning on. Of f16 and bf16, op->result
// may be f32.
tsr_status tsri_multiply_matrices(tsr_device *device, const tsri_native_op *op, tsr_buffer *a, tsr_buffer *b,
                                  tsr_buffer *y);

// Changes the description of a product of i8 to one that accumulates in i32, which devices support, with both matrices contiguous along k. Bits of
// `*out_copies` tell which matrices must be copied for that (bit 0: a, bit 1: b). False if the sizes are not supported, or the product is scaled.
bool tsri_product_i8_sums(tsri_native_op *op, unsigned *out_copies);

#endif
