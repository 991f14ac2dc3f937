// SPDX-License-Identifier: MIT
// Pairs: a native product whose launch computes a second fusion as well, and stores both results.
//
// The second fusion is one of element-wise nodes that read the product, where the product is needed by others, too (an activation in training: its gradient needs its input); it is the product's chain
// (chain.h). Or it is the sum over rows of elements that the product reads (TSRI_PRODUCT_ROW_SUMS): the gradients of a linear layer's weight and bias both read the gradient of its result.
#ifndef TSRI_GRAPH_PAIRED_H
#define TSRI_GRAPH_PAIRED_H

#include "graph/native.h"

// Finds pairs: sets tsri_fusion.paired.
void tsri_paired_find(tsri_plan *plan);

// As tsri_native_heavy, for a product and the fusion that is paired with it, whose result goes to `other`.
tsr_status tsri_paired_run(const tsri_plan *plan, const tsri_fusion *product, const tsri_output *output,
                           const tsri_output *other);

#endif
