// SPDX-License-Identifier: MIT
// The plan of a run: which pending nodes are needed, in which order, and which become one kernel.
//
// Every node of the run is in exactly one fusion; a fusion is one kernel (or one operator of its own). Its root is the only node whose
// elements are written to memory. A fusion without a reduction works on the root's shape ("outer space"). With one, nodes
// before the reduction work on the reduction's input shape ("inner space"), those after it on its result's.
#ifndef TSRI_PLAN_H
#define TSRI_PLAN_H

#include "graph/readers.h"

#define TSRI_NONE UINT32_MAX

enum { TSRI_MAX_FUSION_NODES = 48 };

typedef enum tsri_space { TSRI_OUTER, TSRI_INNER } tsri_space;

// One node of the run, at its place in topological order: inputs come before it.
typedef struct tsri_planned {
  tsri_node *node;
  uint32_t same_as;  // an earlier node that computes the same, or its own number
  uint32_t fusion;
  tsri_space space;
  bool is_target;    // must be written to memory
  bool is_unmerged;  // consumers on another tape read its own memory, whatever node is equal to it
  bool is_wanted;    // a consumer can inline this node
  bool is_refused;   // consumers are in different fusions or one cannot inline it, so it gets its own kernel
  uint32_t wanting;  // the fusion of that consumer
  tsri_layout seen;  // how its consumers see its row-major elements, over the space's shape
} tsri_planned;

typedef struct tsri_fusion {
  uint32_t root;
  uint32_t heavy;  // its reduction, or its operator with a kernel of its own: at most one of these. Or TSRI_NONE.
  uint32_t edges;  // inputs from outside, counted with repetition
  uint32_t node_count;
  uint32_t first;  // its nodes are plan->members[first … first + node_count), in topological order
  uint32_t
      assignment;  // which its root's elements are computed for, and written to the target of; it runs in its place. Or TSRI_NONE.
} tsri_fusion;

enum { TSRI_FEW = 16 };

// Not to be moved: it may point into itself.
typedef struct tsri_plan {
  tsri_planned *nodes;
  uint32_t node_count;
  tsri_fusion *fusions;  // each is run when its root comes up in the order of `nodes`
  uint32_t fusion_count;
  uint32_t *members;
  size_t input_count;  // over all nodes
  tsri_readers readers;
  // Where the three are kept for the plans there are most of, those of few nodes.
  tsri_planned few_nodes[TSRI_FEW];
  tsri_fusion few_fusions[TSRI_FEW];
  uint32_t few_members[TSRI_FEW];
} tsri_plan;

// Plans what `targets` (nodes of one device; those that have run are passed over) need. Under the device's graph lock, which must be held until the plan
// has been run.
//
// What reads elements that an assignment of the plan overwrites comes before it, and is written to memory. References to such nodes go
// to `garbage`.
//
// Ownership: caller calls tsri_plan_deinit. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_plan_init(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                          tsri_garbage *garbage, tsri_plan *out_plan);
void tsri_plan_deinit(tsri_plan *plan);

// How input `index` of a node is seen over the shape of its space in the fusion; for the input of a reduction that is the inner one.
// False: the strides do not allow it.
bool tsri_plan_input_layout(const tsri_plan *plan, const tsri_planned *planned, uint32_t index,
                            tsri_layout *out_layout);

// Whether only the place on the last axis counts, where elements lie side by side: a bias.
bool tsri_is_along_last_axis(const tsri_layout *layout);

// The number of the node that computes a value, or TSRI_NONE if its elements are there.
uint32_t tsri_plan_number(const tsri_plan *plan, const tsri_value *value);

#endif
