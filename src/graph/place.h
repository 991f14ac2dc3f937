// SPDX-License-Identifier: MIT
// Placement of recorded operators by measurement (runtime/placing.h).
//
// When a graph of a device is about to run, its work is estimated on the device and on the CPU, including copies of its inputs.
// If the CPU is faster, each node of the graph gets a twin there, and the nodes that anybody still sees become moves of their
// twins' results. All the rest is done by what moves between devices need anyway (move.h). The host reads the result of a twin
// directly (tsri_place_source).
//
// Graphs stay on their device that assign to memory, that a capture has recorded, or that have operators for that device alone.
#ifndef TSRI_GRAPH_PLACE_H
#define TSRI_GRAPH_PLACE_H

#include "graph/node.h"

// Has the graph that computes the nodes run on the CPU if that is faster. The nodes are of the state's device, and the caller holds
// references to them. If host memory is out, the graph stays. Call without the lock.
void tsri_place_nodes(tsri_graph_state *state, tsri_node *const *nodes, uint32_t count);

// A tensor of the CPU with the elements of `tensor`, if they are computed or were made there; the caller releases it. Else NULL.
tsr_tensor *tsri_place_source(tsr_tensor *tensor);

// The CPU, if a new tensor of so many bytes that the host gives to `device` should stay there until a graph needs it on the device. Else NULL.
tsr_device *tsri_place_of_data(const tsr_device *device, size_t bytes);

#endif
