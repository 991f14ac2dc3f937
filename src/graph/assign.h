// SPDX-License-Identifier: MIT
// Assignments: writing to a tensor's elements as a recorded operator.
//
// A tensor holds one value for good. An assignment is a node that stands for that value as it is after the write: what is recorded
// later reads the assignment (tsri_value_now), what was recorded before reads the value, or an earlier assignment. All have one
// buffer, so an assignment may run only after every pending node that reads the elements before it: tsri_readers. The assignments of a value form a
// list by `successor`, from the value itself to its `latest`; they run in this order.
//
// A value refers to its latest assignment, and assignments to their value. When the last tensor of the value goes, nobody can read the
// latest one but nodes that refer to it themselves, and the value gives it up (tsri_value_let_go).
//
// Inputs of the node: the value, through the layout that is written; the source over the same shape; the assignment before, if it
// was pending when this one was recorded.
#ifndef TSRI_GRAPH_ASSIGN_H
#define TSRI_GRAPH_ASSIGN_H

#include "graph/plan.h"

extern const tsri_op tsri_op_assign;

// What tensors of the value see at present: its latest assignment, or the value. A reference of its own. Takes the lock if it must.
tsri_value *tsri_value_now(tsri_value *value);

// --- Called with the lock held ------------------------------------------------------------------------------------------

// Makes a node, about to be linked, the latest assignment of its storage.
void tsri_assign_link(tsri_node *node);

// The node has run; `garbage` has room for one more reference.
void tsri_assign_finish(tsri_node *node, tsri_garbage *garbage);

// The node is freed without having run.
void tsri_assign_forget(const tsri_node *node);

// Whether what computes input `index`, `from`, can write to the target's elements itself: it is the source and in their order, they lie
// side by side, and nobody else sees that memory.
bool tsri_assign_takes(const tsri_node *node, uint32_t index, const tsri_node *from);

// Queues the fusion that has an assignment, and publishes that.
tsr_status tsri_assign_run_fused(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                                 tsri_garbage *garbage);

// Queues the write and publishes the node.
tsr_status tsri_assign_run(tsri_graph_state *state, const tsri_plan *plan, tsri_node *node, tsri_garbage *garbage);

#endif
