// SPDX-License-Identifier: MIT
// Matrix products as devices and kernels know them: sizes, strides and batch axes, worked out here and nowhere else.
#ifndef TSRI_OPS_PRODUCT_H
#define TSRI_OPS_PRODUCT_H

#include "graph/graph.h"

// alpha a b + beta c, with a result of `shape`. `layouts`: how a, b and, if it counts, c lie; each has two axes or more, and batch
// axes that broadcast to those of the result. No buffers are bound; offsets are those of the layouts. False: the result is
// empty, or k is 0.
bool tsri_product_describe(tsr_dtype dtype, tsr_shape shape, const tsri_layout *const *layouts, int input_count,
                           double alpha, double beta, tsri_native_op *out_op);

// The same of a node of matmul or gemm.
bool tsri_product_of(const tsri_node *node, tsri_native_op *out_op);

// Turns a product of i8 into that of the same matrices with sums in i32, which devices have, both lying along k: `*out_copies`
// says which have to be copied for that (bit 0: a, bit 1: b). False: its sizes are none that they take, or it is scaled.
bool tsri_product_i8_sums(tsri_native_op *op, unsigned *out_copies);

#endif
