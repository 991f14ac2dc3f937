// SPDX-License-Identifier: MIT
// Pairs: a native product whose launch computes a second fusion as well, and stores both results.
//
// There are two kinds of second fusion:
//   - Element-wise nodes that read the product, where the product's result must be stored as well. Example: an activation in training, whose gradient needs the
//     product. The second fusion becomes the product's chain (chain.h).
//   - The sum over the rows of a matrix that the product reads (TSRI_PRODUCT_ROW_SUMS). Example: the gradients of the weight and of the bias of a linear layer
//     both read the gradient of the layer's result.
#ifndef TSRI_GRAPH_PAIRED_H
#define TSRI_GRAPH_PAIRED_H

#include "graph/native.h"

// Finds the pairs of a plan and sets tsri_fusion.paired of each product.
void tsri_paired_find(tsri_plan *plan);

// As tsri_native_heavy, for the fusion `product` and the fusion paired with it. The result of the paired fusion is written to `other`.
tsr_status tsri_paired_run(const tsri_plan *plan, const tsri_fusion *product, const tsri_output *output,
                           const tsri_output *other);

#endif
