// SPDX-License-Identifier: MIT
// Runs one fusion of a plan.
#ifndef TSRI_GRAPH_LAUNCH_H
#define TSRI_GRAPH_LAUNCH_H

#include "graph/plan.h"

// Queues the fusion's generated kernel, or the work of its operator (op->run). The results of the root are written to
// `outputs`, which are row-major and of the right size, one per result. A root with a single result must have at least
// one element.
tsr_status tsri_launch_fusion(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                              tsr_buffer *const *outputs);

// As tsri_launch_fusion, for a fusion of element-wise operators; writes its results to `output` from element `first`
// on.
tsr_status tsri_launch_fusion_at(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                                 tsr_buffer *output, int64_t first);

#endif
