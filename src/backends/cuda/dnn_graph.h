// SPDX-License-Identifier: MIT
// Private to the dnn files: a graph of cuDNN's operations over tensors of four axes, or five for convolutions over three, which cuDNN computes by one kernel or a few.
//
// The functions that build a graph do nothing once one of them has failed; tsri_dnn_graph_plan then reports it.
#ifndef TSRI_CUDA_DNN_GRAPH_H
#define TSRI_CUDA_DNN_GRAPH_H

#include "backends/cuda/dnn.h"
#include "backends/cuda/dnn_api.h"
#include "backends/cuda/dnn_replay.h"

enum {
  DNN_RANK = 4,
  DNN_MOST_RANK = 5,
  DNN_MOST_CONFIGS = 192,
  DNN_FEW_CONFIGS = 8,
  DNN_MOST_NODES = 640,
  DNN_MOST_OPERATIONS = 32
};

typedef struct dnn_graph {
  const cuda_dnn *dnn;
  int code;          // code of the first failure
  int64_t next_id;   // ids for tensors between operations
  int most_configs;  // how many of cuDNN's proposals are considered
  uint32_t
      refused_notes;  // bits 1 << DNN_NOTE_…: proposals with such a note are skipped; at first DNN_NOTE_NONDETERMINISTIC
  dnn_node nodes[DNN_MOST_NODES], operations[DNN_MOST_OPERATIONS];
  int node_count, operation_count;
  dnn_node plan;
  int64_t workspace_bytes;
  dnn_replays replays;  // recorded runs of all plans of the graph
} dnn_graph;

typedef struct dnn_shape {
  int64_t dims[DNN_MOST_RANK], strides[DNN_MOST_RANK];  // strides in elements
  int rank;
} dnn_shape;

dnn_shape tsri_dnn_packed(int64_t a, int64_t b, int64_t c, int64_t d);

void tsri_dnn_graph_init(dnn_graph *graph, const cuda_dnn *dnn);
void tsri_dnn_graph_deinit(dnn_graph *graph);

// Tensors of three kinds: `stored` in device memory, at an address that is a multiple of 16; `between` two operations, not in memory; `passed`,
// an f32 that the host passes with each run. `id` is positive and below 100.
dnn_node tsri_dnn_stored(dnn_graph *graph, int64_t id, int type, const dnn_shape *shape);
dnn_node tsri_dnn_between(dnn_graph *graph, int type, const dnn_shape *shape);
dnn_node tsri_dnn_passed(dnn_graph *graph, int64_t id);

// Operations. Each returns its result `y`. Sums are f32.
dnn_node tsri_dnn_unary(dnn_graph *graph, dnn_pointwise mode, dnn_node x, dnn_node y);
dnn_node tsri_dnn_binary(dnn_graph *graph, dnn_pointwise mode, dnn_node x, dnn_node b, dnn_node y);
dnn_node tsri_dnn_reduce(dnn_graph *graph, int operator, dnn_node x, dnn_node y);
dnn_node tsri_dnn_multiply(dnn_graph *graph, dnn_node a, dnn_node b, dnn_node y);
dnn_node tsri_dnn_reshape(dnn_graph *graph, dnn_node x, dnn_node y);

// x where the index along axis 2 is at least the index along axis 3, else `other`. `shape` is that of x.
dnn_node tsri_dnn_lower_triangle(dnn_graph *graph, dnn_node x, dnn_node other, const dnn_shape *shape);

// The convolution or gradient that `conv` describes: conv->direction says which of the three operands is computed from the two others.
void tsri_dnn_convolve(dnn_graph *graph, const cuda_conv *conv, dnn_node x, dnn_node w, dnn_node y);

// A way to compute the graph: its plan, which belongs to the graph, the workspace that it needs, and cuDNN's number of the engine.
typedef struct dnn_proposal {
  dnn_node plan;
  int64_t bytes, engine;
} dnn_proposal;

// Finishes the graph and makes plans of up to `most` of cuDNN's proposals, in cuDNN's order of preference. Skips proposals that do not run on this
// GPU, have one of the graph's refused_notes, or need more than `most_bytes` of workspace. Returns the number of plans.
int tsri_dnn_graph_proposals(dnn_graph *graph, int64_t most_bytes, dnn_proposal *out, int most);

// Finishes the graph and makes a plan of the first such proposal. False: there is none.
bool tsri_dnn_graph_plan(dnn_graph *graph, int64_t most_bytes);

// The memory of one of the graph's tensors in a run: a device address, or if is_passed the host address of an f32.
typedef struct dnn_binding {
  int64_t id;
  const void *at;
  bool is_passed;
} dnn_binding;

// A run of a graph by one of its plans.
typedef struct dnn_call {
  dnn_graph *graph;
  dnn_node plan;
  dnn_binding bindings[DNN_MOST_BINDINGS];
  int count;
  cu_address workspace;
  bool is_timed;  // to compare plans: it must not be recorded
} dnn_call;

// Queues the call on the queue, whose stream the handle must have. Returns cuDNN's code.
int tsri_dnn_graph_run(cuda_queue *queue, const dnn_call *call);

#endif
