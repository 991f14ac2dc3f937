// SPDX-License-Identifier: MIT
// The life of a node: it is in its device's list while it is pending, and is freed without recursion.
#include "graph/node.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "graph/assign.h"
#include "graph/autotune.h"
#include "graph/chain.h"
#include "graph/kernels.h"
#include "graph/move.h"
#include "graph/trace.h"
#include "graph/watch.h"
#include "runtime/profile.h"
#include "runtime/tape.h"

// --- The state of a device ------------------------------------------------------------------------------------------

static void destroy_state(void *memory) {
  tsri_graph_state *state = memory;
  tsri_kernel_cache_destroy(state->kernels);
  tsri_chains_destroy(state->chains);
  tsri_autotune_destroy(state->autotune);
  tsri_free(state->known_texts);
  tsri_mutex_deinit(&state->lock);
  tsri_free(state);
}

tsr_status tsri_graph_state_for(tsr_device *device, tsri_graph_state **out_state) {
  *out_state = tsri_graph_of(device);
  if (*out_state) return TSR_OK;
  static tsri_mutex making = TSRI_MUTEX_INIT;
  tsri_mutex_lock(&making);
  tsri_graph_state *state = tsri_graph_of(device);
  if (!state) {
    state = tsri_calloc(1, sizeof *state);
    if (state) state->kernels = tsri_kernel_cache_create(device);
    if (state && state->kernels) {
      tsri_mutex_init(&state->lock);
      tsri_tuning_init(device, &state->tuning);
      state->autotune = tsri_autotune_create(device);
      device->graph_destroy = destroy_state;
      atomic_store_explicit(&device->graph, state, memory_order_release);
    } else {
      tsri_free(state);
      state = NULL;
    }
  }
  tsri_mutex_unlock(&making);
  if (!state) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for the graph of %s", device->info.name);
  *out_state = state;
  return TSR_OK;
}

const tsri_op tsri_op_result = {.name = "result", .kind = TSRI_OP_KERNEL};
const tsri_op tsri_op_copy = {.name = "copy", .kind = TSRI_OP_ELEMENTWISE, .expression = "$0"};

// --- Pending and dying --------------------------------------------------------------------------------------------

static void link_pending(tsri_graph_state *state, tsri_node *node) {
  node->previous = NULL;
  node->next = state->pending;
  if (state->pending) state->pending->previous = node;
  state->pending = node;
  state->pending_count++;
  state->pending_bytes += node->bytes;
  state->move_count += node->op == &tsri_op_move;
  state->assign_count += node->op == &tsri_op_assign;
}

static void unlink_pending(tsri_graph_state *state, tsri_node *node) {
  if (node->previous) node->previous->next = node->next;
  else state->pending = node->next;
  if (node->next) node->next->previous = node->previous;
  node->previous = node->next = NULL;
  state->pending_count--;
  state->pending_bytes -= node->bytes;
  state->move_count -= node->op == &tsri_op_move;
  state->assign_count -= node->op == &tsri_op_assign;
}

// A thread's work of freeing nodes. Nodes whose last reference is released while the thread frees another node wait in `dying`, and destroy_node frees
// them in a loop: with recursion, a chain of a hundred thousand nodes would need as many stack frames.
typedef struct node_frees {
  bool is_freeing;
  tsri_node *dying;
} node_frees;

static TSRI_THREAD_LOCAL node_frees frees_here;

static void free_node(tsri_node *node) {
  tsr_device *device = node->value.device;
  tsri_graph_state *state = tsri_graph_of(device);
  if (!tsri_value_buffer(&node->value)) {
    tsri_mutex_lock(&state->lock);
    if (!node->is_hidden) unlink_pending(state, node);
    if (node->value.storage) tsri_assign_forget(node);
    if (node->op == &tsri_op_result) ((tsri_node *)node->inputs[0].value)->results[node->axes].node = NULL;
    tsri_mutex_unlock(&state->lock);
  }
  for (uint32_t i = 0; i < node->input_count; i++) tsri_value_release(node->inputs[i].value);
  tsri_value_release(node->value.storage);
  tsr_buffer_release(tsri_value_buffer(&node->value));
  tsri_record_free(node, node->bytes);
  tsr_device_release(device);
}

static void destroy_node(tsri_value *value) {
  tsri_node *node = (tsri_node *)value;
  node_frees *frees = &frees_here;
  if (frees->is_freeing) {
    node->dying_next = frees->dying;
    frees->dying = node;
    return;
  }
  frees->is_freeing = true;
  free_node(node);
  while (frees->dying) {
    tsri_node *next = frees->dying;
    frees->dying = next->dying_next;
    free_node(next);
  }
  frees->is_freeing = false;
}

bool tsri_value_is_node(const tsri_value *value) { return value->destroy == destroy_node; }

void tsri_node_hide(tsri_graph_state *state, tsri_node *node) {
  if (!node->is_hidden) unlink_pending(state, node);
  node->is_hidden = true;
}

bool tsri_garbage_reserve(tsri_garbage *garbage, size_t count) {
  size_t few = sizeof garbage->few / sizeof garbage->few[0], wanted = garbage->count + count;
  if (wanted <= (garbage->values ? garbage->room : few)) return true;
  tsri_value **values = tsri_realloc(garbage->values, wanted * sizeof *values);
  if (!values) return false;
  if (!garbage->values) memcpy(values, garbage->few, garbage->count * sizeof *values);
  garbage->values = values;
  garbage->room = wanted;
  return true;
}

void tsri_garbage_drop(tsri_garbage *garbage) {
  tsri_value **values = garbage->values ? garbage->values : garbage->few;
  for (size_t i = 0; i < garbage->count; i++) tsri_value_release(values[i]);
  if (garbage->values) tsri_free(garbage->values);
}

void tsri_garbage_add(tsri_garbage *garbage, tsri_value *value) {
  (garbage->values ? garbage->values : garbage->few)[garbage->count++] = value;
}

static void drop_inputs(tsri_node *node, tsri_garbage *garbage) {
  for (uint32_t i = 0; i < node->input_count; i++) tsri_garbage_add(garbage, node->inputs[i].value);
  node->input_count = 0;
}

// Turns the node into operator `op` with one input, `value`, of the same shape. Takes over the reference to `value`.
static void become(tsri_node *node, const tsri_op *op, tsri_value *value, tsri_garbage *garbage) {
  drop_inputs(node, garbage);
  node->op = op;
  node->attributes = NULL;
  node->axes = 0;
  tsri_input *input = &node->inputs[0];
  *input = (tsri_input){.value = value, .dtype = node->dtype, .as = node->dtype};
  (void)tsri_layout_init("copy", node->shape, node->dtype, &input->layout, NULL);  // the node has this shape already
  node->input_count = 1;
}

void tsri_node_become_copy(tsri_node *node, tsri_value *value, tsri_garbage *garbage) {
  become(node, &tsri_op_copy, tsri_value_retain(value), garbage);
}

void tsri_node_become_move(tsri_graph_state *state, tsri_node *node, tsri_value *copy, tsri_garbage *garbage) {
  become(node, &tsri_op_move, copy, garbage);
  // The array node->results stays, because the nodes of other results clear their entries in it when they are freed.
  node->result_count = 1;
  node->depth = 1;
  state->move_count++;
}

void tsri_node_finish(tsri_graph_state *state, tsri_node *node, tsr_buffer *buffer, tsri_garbage *garbage) {
  unlink_pending(state, node);
  drop_inputs(node, garbage);
  if (node->value.storage) tsri_assign_finish(node, garbage);
  atomic_store_explicit(&node->value.buffer, buffer, memory_order_release);
}

// --- Recording ----------------------------------------------------------------------------------------------------

// The node, its inputs, its attributes and its results are one allocation. There is always room for at least one input,
// which tsri_node_become_copy needs.
tsri_node *tsri_node_create(const tsri_op *op, tsr_device *device, tsr_dtype dtype, uint32_t input_count,
                            const void *attributes) {
  return tsri_node_create_results(op, device, dtype, input_count, attributes, 1);
}

tsri_node *tsri_node_create_results(const tsri_op *op, tsr_device *device, tsr_dtype dtype, uint32_t input_count,
                                    const void *attributes, uint32_t result_count) {
  size_t inputs = (size_t)(input_count ? input_count : 1) * sizeof(tsri_input);
  size_t numbers = attributes ? tsri_op_attribute_bytes(op) : 0;
  size_t results = result_count > 1 ? result_count * sizeof(tsri_node_result) : 0;
  size_t bytes = sizeof(tsri_node) + inputs + numbers + results;
  tsri_node *node = tsri_record_alloc(bytes);
  if (!node) return NULL;
  node->bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
  tsri_value_init(&node->value, NULL, device, destroy_node);
  node->op = op;
  node->dtype = dtype;
  node->axes = node->depth = node->mark = node->slot = node->lost_mark = node->lost_refs = 0;
  node->is_hidden = false;
  node->tape = tsri_tape_id();
  node->traced = 0;
  node->label = tsri_profiling() ? tsri_profile_label() : 0;
  node->previous = node->next = node->dying_next = NULL;  // shape, count and track are set by link_node
  node->input_count = input_count;
  node->result_count = result_count;
  node->results = results ? (tsri_node_result *)((char *)node->inputs + inputs + numbers) : NULL;
  for (uint32_t i = 0; i < input_count; i++) node->inputs[i].value = NULL;
  node->attributes = attributes ? memcpy((char *)node->inputs + inputs, attributes, numbers) : NULL;
  return node;
}

void tsri_node_link(tsri_graph_state *state, tsri_node *node, const tsri_layout *layout) {
  node->shape = layout->shape;
  node->count = layout->count;
  node->track = 0;
  node->pass = node->tape = 0;
  link_pending(state, node);
}

void tsri_node_abandon(tsri_node *node) {
  for (uint32_t i = 0; i < node->input_count; i++) tsri_value_release(node->inputs[i].value);
  tsri_value_release(node->value.storage);
  tsr_device_release(node->value.device);
  tsri_record_free(node, node->bytes);
}

static uint32_t depth_below(const tsri_node *node) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_node *input = tsri_pending_node(node->inputs[i].value);
    if (input && input->depth > depth) depth = input->depth;
  }
  return depth;
}

TSRI_THREAD_LOCAL tsri_watcher *tsri_watching;
TSRI_THREAD_LOCAL uint64_t tsri_recording_pass;

// Adds the node to the pending list. `*out_is_full` tells the caller to run the graph now: it is full, or the device is
// in eager mode.
static tsr_status link_node(tsri_node *node, const tsri_layout *layout, bool *out_is_full) {
  tsr_device *device = node->value.device;
  tsri_graph_state *state = tsri_graph_of(device);
  tsr_status status = state ? TSR_OK : tsri_graph_state_for(device, &state);
  if (status != TSR_OK) {
    tsri_node_abandon(node);
    return status;
  }
  node->shape = layout->shape;
  node->count = layout->count;
  node->track = (uint8_t)tsri_track_now(device);
  node->pass = 0;
  if (tsri_watching) {
    node->pass = tsri_recording_pass;
    tsri_watching->recorded(tsri_watching, node);
  }
  if (node->tape) tsri_trace_node(node);
  tsri_mutex_lock(&state->lock);
  if (node->value.storage) tsri_assign_link(node);
  node->depth = depth_below(node) + 1;
  link_pending(state, node);
  *out_is_full = node->depth >= TSRI_MAX_DEPTH || state->pending_count >= TSRI_MAX_PENDING || device->is_eager ||
                 state->pending_bytes > device->pending_bytes;
  tsri_mutex_unlock(&state->lock);
  return TSR_OK;
}

tsr_status tsri_node_enter(tsri_node *node, const tsri_layout *layout) {
  bool is_full = false, is_eager = node->value.device->is_eager;
  tsr_status status = link_node(node, layout, &is_full);
  if (status != TSR_OK || !is_full) return status;
  status = tsri_graph_run_value(&node->value);
  if (status == TSR_OK || !is_eager) return TSR_OK;
  tsri_value_release(&node->value);
  return status;
}

// Runs the graph when it is full or in eager mode. Eager: a failed run makes the operator return a failed tensor. Lazy:
// the error is dropped; the next read retries.
static tsr_tensor *run_now(tsr_tensor *tensor, bool is_eager) {
  tsr_status status = tsri_graph_run(tensor);
  if (status == TSR_OK || !is_eager) return tensor;
  tsr_tensor *failed = tsri_tensor_fail(status);
  tsr_release(tensor);
  return failed;
}

tsr_tensor *tsri_node_record(tsri_node *node, const tsri_layout *layout) {
  bool is_full = false, is_eager = node->value.device->is_eager;
  tsr_status status = link_node(node, layout, &is_full);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *tensor = tsri_tensor_of(&node->value, node->dtype, layout);
  return is_full && tensor->status == TSR_OK ? run_now(tensor, is_eager) : tensor;
}

void tsri_node_record_results(tsri_node *const *nodes, const tsri_layout *layouts, int count,
                              tsr_tensor **out_tensors) {
  tsri_graph_state *state = NULL;
  bool is_full = false, is_eager = nodes[0]->value.device->is_eager;
  tsr_status status = tsri_graph_state_for(nodes[0]->value.device, &state);
  for (int i = count; i-- > 0 && status != TSR_OK;) tsri_node_abandon(nodes[i]);
  for (int i = 0; i < count && status == TSR_OK; i++) {
    size_t bytes = (size_t)layouts[i].count * tsr_dtype_bytes(nodes[i]->dtype);
    nodes[0]->results[i] = (tsri_node_result){.node = nodes[i], .bytes = bytes};
  }
  // Link all of them before any can run. link_node cannot fail here, since the graph state exists.
  for (int i = 0; i < count && status == TSR_OK; i++) status = link_node(nodes[i], &layouts[i], &is_full);
  for (int i = 0; i < count; i++) {
    out_tensors[i] =
        status == TSR_OK ? tsri_tensor_of(&nodes[i]->value, nodes[i]->dtype, &layouts[i]) : tsri_tensor_fail(status);
  }
  for (int i = 0; i < count && is_full; i++) {
    if (out_tensors[i]->status == TSR_OK) out_tensors[i] = run_now(out_tensors[i], is_eager);
  }
}
