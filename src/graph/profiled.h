// SPDX-License-Identifier: MIT
// Tells the profiler which operators the work belongs to that a run queues.
#ifndef TSRI_GRAPH_PROFILED_H
#define TSRI_GRAPH_PROFILED_H

#include "graph/plan.h"
#include "graph/repeat.h"
#include "runtime/profile.h"

// The operators, the result, the label and the number of operations of a fusion, or of a launch from the launch cache.
void tsri_profile_fusion(const tsri_plan *plan, const tsri_fusion *fusion, tsri_profile_context *out);
void tsri_profile_repeat(const tsri_repeat_form *form, tsri_profile_context *out);

// One operation for each element that an element-wise operator computes or a reduction reads. Other operators are counted
// where their description as a native operator tells; else 0.
uint64_t tsri_node_operations(const tsri_node *node);

#endif
