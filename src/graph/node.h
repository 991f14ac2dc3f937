// SPDX-License-Identifier: MIT
// Nodes: recorded operators that are pending or have run; and tsri_graph_state, the graph's data of one device.
#ifndef TSRI_NODE_H
#define TSRI_NODE_H

#include "graph/graph.h"
#include "graph/repeat.h"
#include "graph/single.h"
#include "graph/tuning.h"
#include "platform/platform.h"

typedef struct tsri_input {
  tsri_value *value;  // one reference
  // The view through which the operator reads `value`. ELEMENTWISE: broadcast to the node's shape.
  tsri_layout layout;
  tsr_dtype dtype;  // of the elements in memory
  // ELEMENTWISE and REDUCE: the dtype elements are converted to before the operator uses them.
  tsr_dtype as;
} tsri_input;

// One result of an operator that has several.
typedef struct tsri_node_result {
  tsri_node *node;  // not a reference; NULL once the result's node has been freed
  size_t bytes;
} tsri_node_result;

// A node is pending until value.buffer is set. Its inputs are then released.
struct tsri_node {
  tsri_value value;  // must be first: a tsri_node * is cast to a tsri_value * and back
  const tsri_op *op;
  tsr_dtype dtype;
  tsr_shape shape;
  int64_t count;
  // REDUCE: bit i is set if axis i of the input is reduced. Nodes with the operator tsri_op_result: the index of the result.
  uint32_t axes;
  uint32_t depth;                 // number of nodes in the longest chain of pending nodes that ends in this node
  uint64_t tape;                  // tsri_tape_id() when the node was recorded
  uint32_t traced;                // number of the node's result in the trace of that tape (trace.h); 0: not traced
  uint64_t pass;                  // the training pass in which it was recorded (tsri_pool_set_pass); 0: none
  tsri_node *previous, *next;     // links of the device's list of pending nodes
  tsri_node *dying_next;          // link of the thread's list of nodes to free (node.c)
  uint32_t mark, slot;            // planning: run_mark of the last run that visited it, and its number there
  uint32_t lost_mark, lost_refs;  // references that the run with the number lost_mark has given up (dead.h)
  uint32_t label;                 // the profiler's label when the node was recorded; 0: none
  bool is_hidden;                 // pending, but not in the device's list: see tsri_node_hide
  uint8_t track;                  // the track it runs on: that of the queue bound when the node was recorded
  uint32_t assignments;           // assignments: pending assignments to its value when it was linked, itself included
  uint32_t first_reader;          // planning: an assignment's list of readers, see tsri_readers_first
  // ELEMENTWISE: tsri_scalars; KERNEL: the struct of the operator's attribute set. NULL: none. Allocated together with
  // the node.
  const void *attributes;
  // All results of an operator with several; results[0] is this node. NULL for an operator with one result. Allocated
  // together with the node.
  tsri_node_result *results;
  uint32_t result_count;
  uint32_t input_count;
  uint32_t bytes;  // of host memory that the node takes
  tsri_input inputs[];
};

// The graph's data of one device.
typedef struct tsri_graph_state {
  tsri_mutex lock;     // guards all fields below, and every pending node of the device
  tsri_node *pending;  // list of the device's pending nodes, the newest first
  size_t pending_count;
  uint64_t pending_bytes;  // host memory of pending nodes
  size_t move_count;       // pending moves: nodes whose input is on another device
  size_t assign_count;     // pending assignments
  uint32_t run_mark;       // number of the latest run; see tsri_node.mark
  uint64_t pass;           // tsri_node.pass of the node that runs at present
  struct tsri_kernel_cache *kernels;
  struct tsri_chains *chains;            // see chain.h; NULL: none yet
  tsri_tuning tuning;                    // set when the state is created, then constant
  struct tsri_autotune *autotune;        // NULL: launches are not tuned; set when the state is created
  uint64_t plan_ns;                      // how long the latest plan took to make; only while launches are timed
  struct tsri_known_texts *known_texts;  // the profiler's cache of descriptions (profiled.c); NULL: none yet
  tsri_repeats repeats;
  tsri_singles singles;
} tsri_graph_state;

// Pending nodes run without being read as soon as a chain has TSRI_MAX_DEPTH of them, or a device has TSRI_MAX_PENDING, or the nodes of a device take more than
// tsr_device.pending_bytes of host memory.
enum { TSRI_MAX_DEPTH = 512, TSRI_MAX_PENDING = 16384 };

// The graph state of the device, or NULL if nothing has been recorded there yet.
static inline tsri_graph_state *tsri_graph_of(tsr_device *device) {
  return atomic_load_explicit(&device->graph, memory_order_acquire);
}

// As tsri_graph_of, but creates a missing state. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_graph_state_for(tsr_device *device, tsri_graph_state **out_state);

// Whether the value is the first member of a node (tsri_node.value). All other values are elements in a buffer that no recorded operator computes.
bool tsri_value_is_node(const tsri_value *value);

// Removes a pending node that nobody needs any more from the device's list, so that no search of the list finds it before it is freed. Call with the lock held.
void tsri_node_hide(tsri_graph_state *state, tsri_node *node);

// The node of a pending value; NULL if its elements have been computed. Call with the lock held.
static inline tsri_node *tsri_pending_node(const tsri_value *value) {
  return tsri_value_buffer(value) ? NULL : (tsri_node *)(uintptr_t)value;
}

static inline size_t tsri_op_attribute_bytes(const tsri_op *op) {
  return op->kind == TSRI_OP_ELEMENTWISE ? sizeof(tsri_scalars) : op->attribute_bytes;
}

// The scalars of an element-wise node. All other nodes have none.
static inline const tsri_scalars *tsri_node_scalars(const tsri_node *node) {
  static const tsri_scalars none;
  return node->op->kind == TSRI_OP_ELEMENTWISE && node->attributes ? node->attributes : &none;
}

// References to values that are to be released after unlocking, because freeing a node locks again. Zero-initialise it.
typedef struct tsri_garbage {
  tsri_value **values;  // NULL: the references are in `few`
  size_t count, room;
  tsri_value *few[16];
} tsri_garbage;

// Makes room for `count` more references. False when host memory is out.
bool tsri_garbage_reserve(tsri_garbage *garbage, size_t count);

// Adds a reference. The caller has reserved room for it.
void tsri_garbage_add(tsri_garbage *garbage, tsri_value *value);

// Releases all references. Call without the lock.
void tsri_garbage_drop(tsri_garbage *garbage);

// Publishes `buffer` as the node's elements and takes over its reference. References to the node's inputs go to
// `garbage`, in which the caller has reserved room for them. Call with the lock held.
void tsri_node_finish(tsri_graph_state *state, tsri_node *node, tsr_buffer *buffer, tsri_garbage *garbage);

// Turns a pending node into a copy of `value`, which has the same elements in row-major order. References to the old
// inputs go to `garbage`, in which the caller has reserved room for them. Call with the lock held.
void tsri_node_become_copy(tsri_node *node, tsri_value *value, tsri_garbage *garbage);

// Turns a pending node into the move of `copy`, a pending copy (move.h) of the same elements on another device, and takes over
// the reference to `copy`. References to the old inputs go to `garbage`, in which the caller has reserved room for them. Call with the lock held.
void tsri_node_become_move(tsri_graph_state *state, tsri_node *node, tsri_value *copy, tsri_garbage *garbage);

// Adds a node of the device to its list of pending nodes. Runs nothing; captures and gradients do not record the node.
// `layout` is the row-major layout of its result. Call with the lock held.
void tsri_node_link(tsri_graph_state *state, tsri_node *node, const tsri_layout *layout);

// Creates a node that is not recorded yet. The caller then sets its inputs, with a reference to each. NULL when host
// memory is out.
tsri_node *tsri_node_create(const tsri_op *op, tsr_device *device, tsr_dtype dtype, uint32_t input_count,
                            const void *attributes);

// As tsri_node_create, for the node of the first result of an operator with `result_count` results. The node of each other result has the operator
// tsri_op_result, the first node as its only input, and the index of the result in `axes`.
enum { TSRI_MAX_RESULTS = 8 };
extern const tsri_op tsri_op_result;
tsri_node *tsri_node_create_results(const tsri_op *op, tsr_device *device, tsr_dtype dtype, uint32_t input_count,
                                    const void *attributes, uint32_t result_count);

// Frees a node that was not recorded. Inputs may be NULL.
void tsri_node_abandon(tsri_node *node);

// Records a node without creating a tensor for it. `layout` is the row-major layout of its result. The caller owns the
// node's reference.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, and in eager mode those of tsri_graph_run_value. The node has then been released.
tsr_status tsri_node_enter(tsri_node *node, const tsri_layout *layout);

// Records a node and returns its tensor, or a failed tensor. `layout` is the row-major layout of its result. In eager
// mode the node has run on return.
tsr_tensor *tsri_node_record(tsri_node *node, const tsri_layout *layout);

// As tsri_node_record, for the nodes of all results of one operator, the first result first.
void tsri_node_record_results(tsri_node *const *nodes, const tsri_layout *layouts, int count, tsr_tensor **out_tensors);

#endif
