// SPDX-License-Identifier: MIT
// Chains: element-wise operators that a device's native product computes where it stores its elements (TSRI_PRODUCT_CHAIN), whatever these operators are. A backend that compiles its product's kernel
// itself gets them as text of a function.
#ifndef TSRI_GRAPH_CHAIN_H
#define TSRI_GRAPH_CHAIN_H

#include "graph/native.h"

// The functions that a device's products have had as chains so far.
typedef struct tsri_chains tsri_chains;
void tsri_chains_destroy(tsri_chains *chains);  // takes NULL

// Adds element-wise nodes after a product to it, as its chain: all nodes of `fusion` but its heavy one, which is the product (`product` is NULL); or all nodes of a fusion without a heavy node, which reads the
// value `product`. False: the device's product cannot have them. Call with the graph's lock held.
bool tsri_chain_match(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *product, tsri_matched *out);

#endif
