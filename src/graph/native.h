// SPDX-License-Identifier: MIT
// Native operators: the one place where a plan's "product, bias, activation, residual", "convolution, activation" and its reductions are
// recognised as operators that a device runs by itself. A backend that offers them (tsri_backend.native_ops) gets each
// described by a tsri_native_op.
#ifndef TSRI_GRAPH_NATIVE_H
#define TSRI_GRAPH_NATIVE_H

#include "graph/arguments.h"
#include "graph/codegen.h"

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
