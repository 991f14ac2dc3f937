// SPDX-License-Identifier: MIT
// Private to the dnn files: kernels of a plan as recorded graphs of the driver.
//
// At each run of a plan, cuDNN prepares the parameters of its kernels and launches them one by one. A recorded graph needs only one call of the
// driver, but it contains the addresses of the operands. So a graph is recorded when a plan has run often enough with the same addresses, which
// happens in loops, where results get the same memory again and again.
//
// Whether a graph is faster depends on the loop: it saves time of the host, but between two graphs the GPU pauses longer than between two kernels
// (1.3 to 2.2 us on an H200). So both ways are timed in turns, from the begin of one run to the begin of the next, and the faster one is kept.
#ifndef TSRI_CUDA_DNN_REPLAY_H
#define TSRI_CUDA_DNN_REPLAY_H

#include "backends/cuda/cuda.h"
#include "backends/cuda/dnn_api.h"

enum { DNN_MOST_BINDINGS = 16, DNN_REPLAYS = 4 };

// Everything that a run of a plan depends on. Compared as bytes: what is unused is 0.
typedef struct dnn_run {
  dnn_node plan;
  cu_address workspace;
  uint64_t operands[DNN_MOST_BINDINGS];  // addresses, and the bits of numbers that the host passes
} dnn_run;

typedef enum dnn_way { DNN_BY_LIBRARY, DNN_BY_GRAPH, DNN_WAYS } dnn_way;

typedef struct dnn_replay {
  dnn_run run;
  int uses;                  // runs so far; stops counting when the graph is recorded
  bool is_settled;           // the way is chosen, or the graph cannot be recorded
  dnn_way way;               // way of the next run; DNN_BY_GRAPH only if there is a graph
  cu_graph_exec exec;        // NULL: not recorded, or given up
  cu_event begins[2];        // begin of a run and of the next one; NULL: not timed yet, or no longer
  int queued;                // how many of the events are queued
  int timed;                 // number of runs whose times are known, both ways together
  float least_ms[DNN_WAYS];  // the shortest of those times, for each way
} dnn_replay;

// The last runs of a graph's plans; all 0 at first.
typedef struct dnn_replays {
  dnn_replay list[DNN_REPLAYS];
  int next;  // the one that a new run replaces
} dnn_replays;

// Queues on the queue's stream what `launch` queues there, by a recorded graph if the run has come often enough. Returns the code of `launch`.
int tsri_dnn_replay(dnn_replays *replays, cuda_queue *queue, const dnn_run *run, int (*launch)(const void *context),
                    const void *context);

void tsri_dnn_replays_deinit(dnn_replays *replays, const tsri_cuda_api *cu);

#endif
