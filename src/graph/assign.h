// SPDX-License-Identifier: MIT
// Assignments: writing to a tensor's elements as a recorded operator.
//
// A tensor keeps the same tsri_value all its life. An assignment is a node that stands for that value as it is after
// the write. Operators recorded later read the assignment (tsri_value_now); operators recorded earlier read the value
// itself or an earlier assignment. All of these share one buffer, so an assignment may run only after every pending
// node that reads the elements it overwrites (readers.h). The pending assignments of a value form a list through
// `successor`, from the value to its `latest`; they run in this order.
//
// A value holds a reference to its latest assignment, and each assignment one to its value (`storage`). When the last
// tensor of the value is released, only nodes that have the latest assignment as an input can still read it, so the
// value releases its reference (tsri_value_let_go), which breaks the cycle.
//
// Inputs of an assignment node: 0 the target value, through the layout that is written; 1 the source, with the same
// shape; 2 the assignment before, only if that was pending when this one was recorded.
#ifndef TSRI_GRAPH_ASSIGN_H
#define TSRI_GRAPH_ASSIGN_H

#include "graph/plan.h"

extern const tsri_op tsri_op_assign;

// The value that tensors of `value` see at present: its latest pending assignment, or `value` itself. Returns a new
// reference. Takes the graph's lock if there is a pending assignment.
tsri_value *tsri_value_after_assignments(tsri_value *value);
static inline tsri_value *tsri_value_now(tsri_value *value) {
  return tsri_value_is_assigned(value) ? tsri_value_after_assignments(value) : tsri_value_retain(value);
}

// --- Called with the lock held ------------------------------------------------------------------------------------------

// Makes a node that is about to be linked the latest assignment of its storage.
void tsri_assign_link(tsri_node *node);

// Call when the node has run. `garbage` must have room for one more reference.
void tsri_assign_finish(tsri_node *node, tsri_garbage *garbage);

// Call when the node is freed without having run.
void tsri_assign_forget(const tsri_node *node);

// Whether the fusion whose root is `from`, the node of input `index`, may write directly into the target of the assignment `node`: the input is the source and
// is read in order, the target's elements are contiguous, and no other buffer shares their memory. If `from` is not element-wise, its shape may differ from the
// target's.
bool tsri_assign_takes(const tsri_node *node, uint32_t index, const tsri_node *from);

// Whether a reduction, or an operator with its own kernel, may write directly into the target. True if the target's buffer has no other elements, and may be
// left half-written by an operator that fails between two launches.
bool tsri_assign_takes_heavy(const tsri_node *node);

// Where the assignment `node` writes. The caller releases the buffer.
tsri_output tsri_assign_output(const tsri_node *node);

// Queues the kernel of a fusion that writes into the target of fusion->assignment, and publishes the assignment.
tsr_status tsri_assign_run_fused(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                                 tsri_garbage *garbage);

// Queues the write as a copy from the source to the target, and publishes the node.
tsr_status tsri_assign_run(tsri_graph_state *state, const tsri_plan *plan, tsri_node *node, tsri_garbage *garbage);

#endif
