// SPDX-License-Identifier: MIT
// Tells the profiler which operators the commands of a run compute.
#ifndef TSRI_GRAPH_PROFILED_H
#define TSRI_GRAPH_PROFILED_H

#include "graph/plan.h"
#include "graph/repeat.h"
#include "runtime/profile.h"

// Sets `*out` to the names of the operators, the result, the label and the number of operations of a fusion, or of a launch from the launch cache.
void tsri_profile_fusion(const tsri_plan *plan, const tsri_fusion *fusion, tsri_profile_context *out);
void tsri_profile_repeat(const tsri_repeat_form *form, tsri_profile_context *out);

// The number of arithmetic operations of a node. Element-wise: one for each element of the result. Reduction: one for each element of the input. Other
// operators: as their native description (tsri_op.describe) tells; 0 if they have none.
uint64_t tsri_node_operations(const tsri_node *node);

#endif
