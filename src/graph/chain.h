// SPDX-License-Identifier: MIT
// Chains: any element-wise operators that a device's native product computes when it stores its elements (TSRI_PRODUCT_CHAIN). A backend that compiles the
// kernel of its product gets the chain as the text of a function.
#ifndef TSRI_GRAPH_CHAIN_H
#define TSRI_GRAPH_CHAIN_H

#include "graph/native.h"

// The chain functions that have been written for a device so far.
typedef struct tsri_chains tsri_chains;
void tsri_chains_destroy(tsri_chains *chains);  // takes NULL

// Adds element-wise nodes to the product in `*out`, as its chain. `product` is NULL: the heavy node of `fusion` is the product, and the chain is all other
// nodes of the fusion. Otherwise `product` is the product's value, which the fusion reads, and the chain is all nodes of the fusion; it has no heavy node.
// Returns false if the device's product cannot compute this chain. Call with the graph's lock held.
bool tsri_chain_match(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *product, tsri_matched *out);

#endif
