// SPDX-License-Identifier: MIT
// Placement of recorded operators by measurement (runtime/placing.h).
//
// When a graph of a device is about to run, its work is estimated on the device and on the CPU, including copies of its inputs.
// If the CPU is faster, each node of the graph gets a twin, the same operator on the CPU. Nodes that something outside the graph still refers to become moves
// of their twins' results to the device; move.h runs these when they are needed. The host reads the result of a twin directly (tsri_place_source).
//
// A graph stays on its device if it assigns to memory, was recorded by a capture, or has operators for that device alone (tsri_op.is_for_device).
#ifndef TSRI_GRAPH_PLACE_H
#define TSRI_GRAPH_PLACE_H

#include "graph/node.h"

// Moves the graph that computes `nodes` to the CPU if it is faster there. The nodes belong to the state's device, and the caller holds a reference to each. If
// host memory is out, the graph stays on its device. Call without the lock.
void tsri_place_nodes(tsri_graph_state *state, tsri_node *const *nodes, uint32_t count);

// A tensor on the CPU with the elements of `tensor`, if these are computed on the CPU or were created there; the caller releases it. Otherwise NULL.
tsr_tensor *tsri_place_source(tsr_tensor *tensor);

// Where to put `bytes` of host data for a new tensor of `device`. The CPU device: keep the data there until a graph needs it on `device`. NULL: upload it now.
tsr_device *tsri_place_of_data(const tsr_device *device, size_t bytes);

#endif
