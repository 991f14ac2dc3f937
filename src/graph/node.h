// SPDX-License-Identifier: MIT
// Recorded operators, and what a device keeps for them.
#ifndef TSRI_NODE_H
#define TSRI_NODE_H

#include "graph/graph.h"
#include "graph/repeat.h"
#include "graph/tuning.h"
#include "platform/platform.h"

typedef struct tsri_input {
  tsri_value *value;   // one reference
  tsri_layout layout;  // how the operator sees it: for ELEMENTWISE broadcast to the node's shape
  tsr_dtype dtype;     // of its elements
  tsr_dtype as;        // ELEMENTWISE and REDUCE: converted to this first
} tsri_input;

// One of several results of an operator.
typedef struct tsri_node_result {
  tsri_node *node;  // not a reference; NULL once nobody has the result any more
  size_t bytes;
} tsri_node_result;

// A value that is pending until `value.buffer` is set. Then its inputs are gone, unless somebody keeps them (tsri_node_keep_inputs).
struct tsri_node {
  tsri_value value;  // first: a node is a value
  const tsri_op *op;
  tsr_dtype dtype;
  tsr_shape shape;
  int64_t count;
  uint32_t axes;               // REDUCE: bit per reduced axis of the input
  uint32_t depth;              // longest chain of pending nodes that ends here
  uint64_t tape;               // tsri_tape_id() when it was recorded
  tsri_node *previous, *next;  // in the device's list of pending nodes
  tsri_node *dying_next;       // in a thread's list of nodes to be freed
  uint32_t mark, slot;         // planning: which run saw it last, and its number there
  uint32_t first_reader;       // planning, of an assignment: assign.h
  const void *attributes;      // ELEMENTWISE: tsri_scalars; KERNEL: of its set. In the same piece of memory; NULL: none
  tsri_node_result *results;   // of an operator with several, this one first; in the same piece of memory. Else NULL.
  uint32_t result_count;
  uint32_t keeper_count;  // who wants the inputs after it has run; under the lock
  uint32_t input_count;
  tsri_input inputs[];
};

// What the graph keeps per device.
typedef struct tsri_graph_state {
  tsri_mutex lock;  // guards all below, and every pending node of the device
  tsri_node *pending;
  size_t pending_count;
  size_t move_count;    // pending nodes whose input is on another device
  size_t assign_count;  // pending assignments
  uint32_t run_mark;
  struct tsri_kernel_cache *kernels;
  tsri_tuning tuning;  // set once
  tsri_repeats repeats;
} tsri_graph_state;

// A chain this long, or a device with this many pending nodes, runs without being asked.
enum { TSRI_MAX_DEPTH = 512, TSRI_MAX_PENDING = 16384 };

// The device's state; NULL if nothing was recorded there yet.
tsri_graph_state *tsri_graph_of(tsr_device *device);

// The same, made if it is missing. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_graph_state_for(tsr_device *device, tsri_graph_state **out_state);

// The node of a pending value, or NULL if the elements are there. Under the lock.
static inline tsri_node *tsri_pending_node(const tsri_value *value) {
  return tsri_value_buffer(value) ? NULL : (tsri_node *)(uintptr_t)value;
}

static inline size_t tsri_op_attribute_bytes(const tsri_op *op) {
  return op->kind == TSRI_OP_ELEMENTWISE ? sizeof(tsri_scalars) : op->attribute_bytes;
}

// The numbers of an element-wise node; none for all others.
static inline const tsri_scalars *tsri_node_scalars(const tsri_node *node) {
  static const tsri_scalars none;
  return node->op->kind == TSRI_OP_ELEMENTWISE && node->attributes ? node->attributes : &none;
}

// References to release after unlocking: freeing a node locks again. Zero-initialised.
typedef struct tsri_garbage {
  tsri_value **values;  // NULL: in `few`
  size_t count, room;
  tsri_value *few[16];
} tsri_garbage;

// Makes room for `count` more references. False when host memory is out.
bool tsri_garbage_reserve(tsri_garbage *garbage, size_t count);

// Adds a reference, for which there is room.
void tsri_garbage_add(tsri_garbage *garbage, tsri_value *value);

// Gives all references up. Not under the lock.
void tsri_garbage_drop(tsri_garbage *garbage);

// Makes `buffer` (whose reference it takes) the node's elements; references to its inputs go to `garbage`. Under the lock.
// Room for as many as it has inputs was reserved.
void tsri_node_finish(tsri_graph_state *state, tsri_node *node, tsr_buffer *buffer, tsri_garbage *garbage);

// Makes a pending node a copy of `value`, which has the same elements in row-major order; references to its inputs go to `garbage`, which has
// room for them. Under the lock.
void tsri_node_become_copy(tsri_node *node, tsri_value *value, tsri_garbage *garbage);

// A node about to be recorded: its inputs are to be filled in, each with a reference of its own. NULL when host memory is out.
tsri_node *tsri_node_create(const tsri_op *op, tsr_device *device, tsr_dtype dtype, uint32_t input_count,
                            const void *attributes);

// The same for an operator with several results. The nodes of the others are made with tsri_op_result: their input is this node, and
// `axes` the number of the result.
enum { TSRI_MAX_RESULTS = 8 };
extern const tsri_op tsri_op_result;
tsri_node *tsri_node_create_results(const tsri_op *op, tsr_device *device, tsr_dtype dtype, uint32_t input_count,
                                    const void *attributes, uint32_t result_count);

// Gives a node up that was not recorded; inputs without a value are passed over.
void tsri_node_abandon(tsri_node *node);

// Records a node that no tensor stands for; `layout` is its result's: row-major. Its reference is then the caller's.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, and in eager mode what running gives. Then the node is gone.
tsr_status tsri_node_enter(tsri_node *node, const tsri_layout *layout);

// Records; always a tensor. `layout` is the result's: row-major. In eager mode it has run.
tsr_tensor *tsri_node_record(tsri_node *node, const tsri_layout *layout);

// The same for an operator with several results.
void tsri_node_record_results(tsri_node *const *nodes, const tsri_layout *layouts, int count, tsr_tensor **out_tensors);

// Keeps the inputs of the operator that computes `value` when it has run, for who has to read them later. False if there are none: the value was not
// computed by an operator, or that has run and nobody had asked. Each success is followed by one tsri_node_drop_inputs, while the
// caller still has a reference to the value.
//
// The elements of an input are those it has when it is read: a write in between changes them.
bool tsri_node_keep_inputs(tsri_value *value);
void tsri_node_drop_inputs(tsri_value *value);

#endif
