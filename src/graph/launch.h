// SPDX-License-Identifier: MIT
// Running one fusion of a plan.
#ifndef TSRI_GRAPH_LAUNCH_H
#define TSRI_GRAPH_LAUNCH_H

#include "graph/plan.h"

// Queues the fusion's kernel (or its operator's own work); the root's elements will be in `outputs`, as many as it has results, which are
// row-major and of the right size. A root with one result has at least one element.
tsr_status tsri_launch_fusion(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                              tsr_buffer *const *outputs);

// The same for a fusion of element-wise operators, whose results are written to `output` from its element `first` on.
tsr_status tsri_launch_fusion_at(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                                 tsr_buffer *output, int64_t first);

#endif
