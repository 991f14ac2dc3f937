// SPDX-License-Identifier: MIT
// What devices do by operators of their own: the one place where the planner recognises "product, bias, activation, residual", and
// reductions. Whoever offers such an operator (tsri_backend.native_ops) gets it described by a tsri_native_op.
#ifndef TSRI_GRAPH_NATIVE_H
#define TSRI_GRAPH_NATIVE_H

#include "graph/arguments.h"
#include "graph/codegen.h"

// Whether what comes after the fusion's heavy node must be a kernel of its own, because the device does the node itself, but not
// together with the rest.
bool tsri_native_is_alone(const tsri_plan *plan, const tsri_fusion *fusion);

// Runs a product and all that comes after it into `output`. TSR_ERR_UNSUPPORTED, without a message: the device does not.
tsr_status tsri_native_product(const tsri_plan *plan, const tsri_fusion *fusion, tsr_buffer *output);

// Runs a reduction of a tensor as it is into `output`, from its element `first` on; `leaf`: what it reads, as it is bound for a kernel.
// TSR_ERR_UNSUPPORTED, without a message: it is something else, or the device does not.
tsr_status tsri_native_reduce(const tsri_codegen *codegen, const tsri_argument *leaf, tsr_buffer *output,
                              int64_t first);

#endif
