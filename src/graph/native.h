// SPDX-License-Identifier: MIT
// Native operators: the one place where a plan's "product, bias, activation, residual", "convolution, activation" and its reductions are
// recognised as operators that a device runs by itself. A backend that offers them (tsri_backend.native_ops) gets each
// described by a tsri_native_op.
#ifndef TSRI_GRAPH_NATIVE_H
#define TSRI_GRAPH_NATIVE_H

#include "graph/arguments.h"
#include "graph/codegen.h"

// Operands of a product, the last ones of its chain. Those of a convolution are x, the weight and, if it has one, the bias, in the places of the first three.
enum {
  TSRI_OPERAND_BIAS = 3,
  TSRI_OPERAND_RESIDUAL,
  TSRI_OPERAND_CHAIN,
  TSRI_OPERANDS = TSRI_OPERAND_CHAIN + TSRI_CHAIN_INPUTS
};

// A product or a convolution, and the values of its operands; NULL: it does not have that operand.
typedef struct tsri_matched {
  tsri_native_op op;
  const tsri_value *values[TSRI_OPERANDS];
} tsri_matched;

// Matches the fusion's heavy node and all nodes after it as a product or convolution that the device takes: with the parts that these have, else with a chain (chain.h).
bool tsri_native_match(const tsri_plan *plan, const tsri_fusion *fusion, tsri_matched *out);

// Binds the operands of what was matched, and runs it. `other` gets the product's second result: the elements before the chain, or the sums of rows. NULL: it has none.
tsr_status tsri_native_run(tsr_device *device, tsri_matched *match, const tsri_output *output,
                           const tsri_output *other);

// Whether the device has products with this part, for some operands.
bool tsri_native_offers(const tsr_device *device, uint32_t part);

// Whether the nodes after the fusion's heavy node must be a kernel of their own, because the device runs the heavy node
// natively, but not together with them.
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
