// SPDX-License-Identifier: MIT
// The plan of a run: which pending nodes are needed, in which order they run, and which are fused into one kernel.
//
// Every node of the plan that is not a duplicate (same_as) is in exactly one fusion. A fusion is one generated kernel,
// or one operator with its own kernel. Only the elements of its root are written to memory. A fusion without a
// reduction is indexed by the root's shape ("outer space"). In a fusion with one, the nodes before the reduction are
// indexed by the shape of its input ("inner space"), those after it by the shape of its result.
#ifndef TSRI_PLAN_H
#define TSRI_PLAN_H

#include "graph/readers.h"

#define TSRI_NONE UINT32_MAX

enum { TSRI_MAX_FUSION_NODES = 48 };

typedef enum tsri_space { TSRI_OUTER, TSRI_INNER } tsri_space;

// One node of the plan. Nodes are in topological order: inputs come first.
typedef struct tsri_planned {
  tsri_node *node;
  uint32_t same_as;      // the first node that computes the same; the node itself if there is none
  uint32_t equals_left;  // number of nodes equal to this one (same_as) that the run has not reached yet
  uint32_t fusion;
  tsri_space space;
  bool is_target;  // its elements must be written to memory
  // The assignment of this plan that overwrites elements which this node reads; TSRI_NONE: none. The node either joins
  // the fusion that is computed into the target of this assignment, or gets its own kernel, which runs before it.
  uint32_t overwriter;
  // How many references to the node's value are inputs of members of its fusion that are used nowhere else
  // (is_used_up), and whether these are all references, so that nobody can read this node after the run.
  uint32_t used_up_refs;
  bool is_used_up;
  // A consumer on another tape reads this node's own buffer, so it must not be merged with an equal node.
  bool is_unmerged;
  bool is_wanted;    // a consumer can inline this node
  bool is_refused;   // consumers are in different fusions or one cannot inline it, so it gets its own kernel
  uint32_t wanting;  // the fusion of that consumer (is_wanted)
  // The view through which the fusion's index space reads this node's row-major elements.
  tsri_layout seen;
} tsri_planned;

typedef struct tsri_fusion {
  uint32_t root;
  // The number of its reduction or of its operator with its own kernel, of which it may have one; else TSRI_NONE.
  uint32_t heavy;
  // Number of inputs from outside the fusion, an upper bound of the number of its leaves. An input counts once for each node that reads it; an input that is
  // listed in `plain` counts once.
  uint32_t edges;
  // The different inputs that element-wise nodes of the fusion read in row-major order; at most TSRI_MAX_LEAVES are listed.
  uint32_t plain_count;
  struct tsri_plain_input {
    const tsri_value *value;
    tsr_dtype dtype;
  } plain[TSRI_MAX_LEAVES];
  uint32_t node_count;
  // Its members are plan->members[first … first + node_count), in topological order.
  uint32_t first;
  // An assignment into whose target the root is computed directly; the fusion runs at the assignment's place in the
  // order. Else TSRI_NONE. The assignment is not a member.
  uint32_t assignment;
  // The fusion reads the elements of the assignment's target that it overwrites: each work item reads an element before it writes
  // the same one. Such a fusion has element-wise members only.
  bool is_in_place;
  // Another fusion that the launch of this fusion's native product computes as well (paired.h). It runs with this fusion and not when its own turn comes. Else TSRI_NONE.
  uint32_t paired;
} tsri_fusion;

// Where a result goes: to `buffer`, from element `first` on.
typedef struct tsri_output {
  tsr_buffer *buffer;
  int64_t first;
} tsri_output;

enum { TSRI_FEW = 16 };

// Must not be moved: it may point into itself (few_nodes …).
typedef struct tsri_plan {
  tsri_planned *nodes;
  uint32_t node_count;
  tsri_fusion *fusions;  // a fusion runs when the loop over `nodes` reaches its root, or its assignment
  uint32_t fusion_count;
  uint32_t *members;
  size_t input_count;  // inputs of all nodes; tsri_garbage needs room for them
  tsri_readers readers;
  // Storage of nodes, fusions and members for plans of up to TSRI_FEW nodes, which are most.
  tsri_planned few_nodes[TSRI_FEW];
  tsri_fusion few_fusions[TSRI_FEW];
  uint32_t few_members[TSRI_FEW];
} tsri_plan;

// Plans everything that `targets` need; all are nodes of one device, and those that have run are skipped. Call with
// state->lock held, and hold it until the plan has been run.
//
// A pending node that reads elements which an assignment of the plan overwrites is put before the assignment, and its
// result is written to memory, unless only the assignment needs it and it reads each element where its own result is
// written (tsri_fusion.is_in_place). References to such nodes go to `garbage`.
//
// Ownership: the caller calls tsri_plan_deinit, unless this fails. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_plan_init(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                          tsri_garbage *garbage, tsri_plan *out_plan);
void tsri_plan_deinit(tsri_plan *plan);

// The view of input `index` of a node over the index space of its fusion (for the input of a reduction: the inner
// space). False if strides cannot express it.
bool tsri_plan_input_layout(const tsri_plan *plan, const tsri_planned *planned, uint32_t index,
                            tsri_layout *out_layout);

// Whether the layout is that of a bias: only the index on the last axis matters, and along that axis elements are
// contiguous.
bool tsri_is_along_last_axis(const tsri_layout *layout);

// An axis, or several neighbouring axes taken as one, of a tensor that is broadcast along all other axes. Index i of the layout, in row-major order, addresses
// element i / inner % size of the tensor.
typedef struct tsri_one_axis {
  int64_t inner, size;  // `inner`: number of indices of the axes after this one; `size`: the axis's own size
} tsri_one_axis;

// Whether the layout is that of such a tensor, and contiguous along the axis.
bool tsri_is_along_one_axis(const tsri_layout *layout, tsri_one_axis *out_axis);

// Whether the store hook of the kernel of `heavy` indexes a tensor with this layout by index / inner % size (tsri_one_axis). False: it indexes the tensor by
// `index` or by `column`, or cannot index it.
bool tsri_is_by_axis(const tsri_node *heavy, const tsri_layout *layout, tsri_one_axis *out_axis);

// The number in the plan of the node that computes a value (of the first of several equal nodes), or TSRI_NONE if the
// value has been computed.
uint32_t tsri_plan_number(const tsri_plan *plan, const tsri_value *value);

#endif
