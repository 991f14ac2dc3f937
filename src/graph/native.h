// SPDX-License-Identifier: MIT
// Native operators: recognises patterns of nodes that a device computes by one native operator: "product, bias, activation, residual", "convolution,
// activation", and reductions. A backend that offers native operators (tsri_backend.native_ops) gets each as a tsri_native_op. No other file recognises
// patterns of nodes, but for chains (chain.h) and pairs (paired.h).
#ifndef TSRI_GRAPH_NATIVE_H
#define TSRI_GRAPH_NATIVE_H

#include "graph/arguments.h"
#include "graph/codegen.h"

// Indices in tsri_matched.values. 0 to 2 are the inputs of the node of the product or convolution; those of a convolution are x, the weight and, if it has one,
// the bias. A product may also have a bias, a residual and the inputs of its chain, which come from the nodes after it.
enum {
  TSRI_OPERAND_BIAS = 3,
  TSRI_OPERAND_RESIDUAL,
  TSRI_OPERAND_CHAIN,
  TSRI_OPERANDS = TSRI_OPERAND_CHAIN + TSRI_CHAIN_INPUTS
};

// A product or a convolution, and the values of its operands. values[i] is NULL if it does not have operand i.
typedef struct tsri_matched {
  tsri_native_op op;
  const tsri_value *values[TSRI_OPERANDS];
} tsri_matched;

// Describes the fusion's heavy node and all nodes after it as one product or convolution: each node after it becomes a part of the native operator (bias,
// activation, residual) or, if that is not possible, all of them become a chain (chain.h). False if the device does not take the operator.
bool tsri_native_match(const tsri_plan *plan, const tsri_fusion *fusion, tsri_matched *out);

// Binds the operands of a matched operator and runs it into `output`. `other` gets the second result of a product: its elements before the chain, or the sums
// of rows. NULL: the operator has one result.
tsr_status tsri_native_run(tsr_device *device, tsri_matched *match, const tsri_output *output,
                           const tsri_output *other);

// Whether the device has products with `part` (TSRI_PRODUCT_…), for at least some operands.
bool tsri_native_offers(const tsr_device *device, uint32_t part);

// Whether the nodes after the fusion's heavy node must become a separate fusion, because the device has a native operator for the heavy node but not for the
// heavy node with these nodes.
bool tsri_native_is_alone(const tsri_plan *plan, const tsri_fusion *fusion);

// Runs the fusion's product or convolution and all nodes after it natively into `output`. Returns TSR_ERR_UNSUPPORTED,
// without a message, if the device cannot.
tsr_status tsri_native_heavy(const tsri_plan *plan, const tsri_fusion *fusion, tsr_buffer *output);

// Runs a fusion that is a single reduction natively into `output`, from element `first` on. `leaf` is the buffer it
// reads, bound as for a kernel. Returns TSR_ERR_UNSUPPORTED, without a message, if the fusion is something else or the
// device cannot.
tsr_status tsri_native_reduce(const tsri_codegen *codegen, const tsri_argument *leaf, tsr_buffer *output,
                              int64_t first);

#endif
