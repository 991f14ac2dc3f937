// SPDX-License-Identifier: MIT
#include "graph/place.h"

#include <string.h>

#include "core/alloc.h"
#include "graph/assign.h"
#include "graph/move.h"
#include "graph/profiled.h"
#include "graph/transfer.h"
#include "runtime/placing.h"
#include "runtime/tape.h"

// An input of the graph that is in the device's memory, and the nodes of its move to the CPU.
typedef struct moved_leaf {
  const tsri_value *value;
  tsr_dtype dtype;
  tsri_layout view;  // the elements that are moved: broadcast axes (stride 0) have size 1
  // copy: node on the device that copies the view; NULL if `value` is a pending move. move: node on the CPU that reads the copy. We hold one reference to each.
  tsri_node *copy, *move;
} moved_leaf;

// The graph that is about to run, and the nodes that replace it if it is moved to the CPU.
typedef struct graph {
  tsri_graph_state *state;
  const tsri_placing *placing;
  tsri_node **nodes;   // its nodes, without moves; node->slot is the index in the array
  uint32_t *uses;      // uses[i]: how many inputs of the graph's nodes are nodes[i]
  tsri_node **twins;   // twins[i]: the twin of nodes[i] on the CPU
  tsri_node **copies;  // copies[i]: copy of twins[i], for the move back to the device; NULL unless is_seen(i)
  uint32_t count, room;
  moved_leaf *leaves;
  uint32_t leaf_count, leaf_room;
  bool is_good;  // false: the graph stays on its device
  tsri_work work;
  size_t garbage_count;  // references to inputs that its nodes will give up
  double host_bytes;     // bytes of its inputs that are on the CPU
  double moved_bytes;    // bytes of its inputs that are on the device
  tsri_garbage *living;  // references to nodes of other results of its operators (add_results)
} graph;

static double bytes_of(tsr_dtype dtype, int64_t count) { return (double)count * (double)tsr_dtype_bytes(dtype); }

// The layout with broadcast axes (stride 0) reduced to size 1.
static tsri_layout distinct_elements(const tsri_layout *layout) {
  tsri_layout view = *layout;
  view.count = 1;
  for (int i = 0; i < view.shape.rank; i++) {
    if (view.strides[i] == 0 && view.shape.dims[i] > 1) view.shape.dims[i] = 1;
    view.count *= view.shape.dims[i];
  }
  return view;
}

// --- Collecting, and estimating --------------------------------------------------------------------------------------

static void *grown(void *items, uint32_t *room, size_t item_bytes) {
  uint32_t larger = *room ? 2 * *room : 32;
  void *memory = tsri_realloc(items, larger * item_bytes);
  if (memory) *room = larger;
  return memory;
}

static void add_node(graph *g, tsri_node *node) {
  bool stays = node->tape != 0 || node->value.storage || node->op->is_for_device;
  if (g->count == g->room && g->is_good) {
    tsri_node **nodes = grown(g->nodes, &g->room, sizeof *nodes);
    if (nodes) g->nodes = nodes;
    else stays = true;
  }
  if (stays) g->is_good = false;
  if (!g->is_good) return;
  node->mark = g->state->run_mark;
  node->slot = g->count;
  g->nodes[g->count++] = node;
}

// Adds the nodes of the operator's other results to the graph, so that they get twins as well.
static void add_results(graph *g, tsri_node *node) {
  for (uint32_t i = 1; i < node->result_count && node->results; i++) {
    tsri_node *result = node->results[i].node;
    if (!result || result->mark == g->state->run_mark) continue;
    if (!tsri_garbage_reserve(g->living, 1)) g->is_good = false;
    else if (tsri_value_retain_living(&result->value)) {
      tsri_garbage_add(g->living, &result->value);
      add_node(g, result);
    }
  }
}

static void add_input(graph *g, const tsri_input *input) {
  tsri_node *node = tsri_pending_node(input->value);
  tsri_layout view = distinct_elements(&input->layout);
  double bytes = bytes_of(input->dtype, view.count);
  if (node && node->op != &tsri_op_move) {
    if (node->mark != g->state->run_mark) add_node(g, node);
    return;
  }
  bool is_on_host = node && node->inputs[0].value->device == g->placing->cpu;
  *(is_on_host ? &g->host_bytes : &g->moved_bytes) += bytes;
  g->work.bytes += bytes;  // an input that no node of the graph computes is read from memory
}

// Adds the work of a node. An element-wise node that is not a target counts as free: it usually becomes part of another kernel and writes no memory.
static void add_work(graph *g, const tsri_node *node, bool is_target) {
  g->garbage_count += node->input_count;
  if (node->op->kind == TSRI_OP_ELEMENTWISE && !is_target) return;
  g->work.kernels += node->op != &tsri_op_result;
  g->work.bytes += bytes_of(node->dtype, node->count);
  if (node->op->kind == TSRI_OP_ELEMENTWISE) return;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsri_input *input = &node->inputs[i];
    bool is_result = tsri_pending_node(input->value) && tsri_pending_node(input->value)->op != &tsri_op_move;
    if (is_result) g->work.bytes += bytes_of(input->dtype, distinct_elements(&input->layout).count);
  }
  if (node->op->kind == TSRI_OP_KERNEL) g->work.multiply_adds += 0.5 * (double)tsri_node_operations(node);
}

static void collect(graph *g, tsri_node *const *targets, uint32_t target_count) {
  g->state->run_mark++;
  for (uint32_t i = 0; i < target_count; i++) {
    tsri_node *node = tsri_pending_node(&targets[i]->value);
    bool is_new = node && node->mark != g->state->run_mark && node->op != &tsri_op_move;
    if (is_new) add_node(g, node);
  }
  uint32_t first_count = g->count;
  for (uint32_t i = 0; i < g->count && g->is_good; i++) {
    tsri_node *node = g->nodes[i];
    for (uint32_t j = 0; j < node->input_count; j++) add_input(g, &node->inputs[j]);
    add_results(g, node);
    add_work(g, node, i < first_count);
  }
}

// Compares the estimated times. If the graph runs on the CPU and has inputs on the device, the CPU must wait for these and copy them, and the results are
// usually needed on the device again: each of the two directions is estimated as an empty run of the device (run_ns).
static bool is_faster_on_cpu(const graph *g, double *out_there, double *out_here) {
  const tsr_device_speed *there = &g->placing->there;
  *out_there = tsri_work_ns(&g->work, there) + g->host_bytes * there->copied_byte_ns;
  *out_here = tsri_work_ns(&g->work, &g->placing->here);
  if (g->moved_bytes > 0) *out_here += 2 * there->run_ns + g->moved_bytes * there->copied_byte_ns;
  return *out_here < *out_there;
}

// --- Twins -------------------------------------------------------------------------------------------------------------

static tsri_node *create_reader(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsri_value *value,
                                const tsri_layout *layout) {
  tsri_node *node = tsri_node_create(op, device, dtype, 1, NULL);
  if (!node) return NULL;
  node->inputs[0] = (tsri_input){.value = tsri_value_retain(value), .layout = *layout, .dtype = dtype, .as = dtype};
  return node;
}

static moved_leaf *find_leaf(const graph *g, const tsri_value *value, tsr_dtype dtype, const tsri_layout *view) {
  for (uint32_t i = 0; i < g->leaf_count; i++) {
    moved_leaf *leaf = &g->leaves[i];
    bool is_same = leaf->value == value && leaf->dtype == dtype && leaf->view.offset == view->offset &&
                   tsri_shape_equal(leaf->view.shape, view->shape) &&
                   memcmp(leaf->view.strides, view->strides, (size_t)view->shape.rank * sizeof view->strides[0]) == 0;
    if (is_same) return leaf;
  }
  return NULL;
}

// Adds a move of the view to the CPU. If the input is itself a pending move, the new move reads the source of that move.
static moved_leaf *add_leaf(graph *g, const tsri_input *input, const tsri_layout *view) {
  if (g->leaf_count == g->leaf_room) {
    moved_leaf *leaves = grown(g->leaves, &g->leaf_room, sizeof *leaves);
    if (!leaves) return NULL;
    g->leaves = leaves;
  }
  moved_leaf *leaf = &g->leaves[g->leaf_count];
  tsri_node *node = tsri_pending_node(input->value);
  tsri_layout packed = tsri_packed_layout(view);
  *leaf = (moved_leaf){.value = input->value, .dtype = input->dtype, .view = *view};
  if (!node) {
    leaf->copy = create_reader(&tsri_op_copy, input->value->device, input->dtype, input->value, view);
    if (!leaf->copy) return NULL;
  }
  tsri_value *copy = node ? node->inputs[0].value : &leaf->copy->value;
  leaf->move = create_reader(&tsri_op_move, g->placing->cpu, input->dtype, copy, &packed);
  if (!leaf->move) {
    if (leaf->copy) tsri_node_abandon(leaf->copy);
    return NULL;
  }
  g->leaf_count++;
  return leaf;
}

// Sets `*out` to the input of a twin, for an input of the original node that no node of the graph computes.
static bool take_leaf(graph *g, const tsri_input *input, tsri_input *out) {
  const tsri_node *node = tsri_pending_node(input->value);
  tsri_value *source = node ? node->inputs[0].value : NULL;
  if (source && source->device == g->placing->cpu) {  // the source on the CPU is row-major, like the move's result
    out->value = tsri_value_retain(source);
    return true;
  }
  // Move all elements of a pending move's source, since the layouts of its readers are relative to its whole row-major result.
  tsri_layout view = node ? node->inputs[0].layout : distinct_elements(&input->layout);
  moved_leaf *leaf = find_leaf(g, input->value, input->dtype, &view);
  if (!leaf) leaf = add_leaf(g, input, &view);
  if (!leaf) return false;
  out->value = tsri_value_retain(&leaf->move->value);
  if (node) return true;
  tsri_layout packed = tsri_packed_layout(&view);
  for (int i = 0; i < packed.shape.rank; i++) {
    bool is_repeated = view.shape.dims[i] != input->layout.shape.dims[i];
    out->layout.strides[i] = is_repeated ? 0 : packed.strides[i];
  }
  out->layout.offset = 0;
  return true;
}

static bool take_inputs(graph *g, const tsri_node *node, tsri_node *twin) {
  bool is_good = true;
  for (uint32_t i = 0; i < node->input_count && is_good; i++) {
    const tsri_input *input = &node->inputs[i];
    const tsri_node *from = tsri_pending_node(input->value);
    twin->inputs[i] = *input;
    twin->inputs[i].value = NULL;
    if (from && from->op != &tsri_op_move) {
      g->uses[from->slot]++;
      twin->inputs[i].value = tsri_value_retain(&g->twins[from->slot]->value);
    } else {
      is_good = take_leaf(g, input, &twin->inputs[i]);
    }
  }
  return is_good;
}

static tsri_node *create_twin(const graph *g, const tsri_node *node) {
  tsri_node *twin = tsri_node_create_results(node->op, g->placing->cpu, node->dtype, node->input_count,
                                             node->attributes, node->result_count);
  if (!twin) return NULL;
  twin->axes = node->axes;
  twin->depth = node->depth;
  twin->label = node->label;
  return twin;
}

// Sets the results of the twin of an operator with several results. A result whose node is not in the graph gets no node.
static void connect_results(const graph *g, const tsri_node *node, tsri_node *twin) {
  for (uint32_t i = 0; i < node->result_count && node->results; i++) {
    const tsri_node *result = node->results[i].node;
    bool is_wanted = result && result->mark == g->state->run_mark;
    twin->results[i] =
        (tsri_node_result){.node = is_wanted ? g->twins[result->slot] : NULL, .bytes = node->results[i].bytes};
  }
}

// Whether anything outside the graph has a reference to the node.
static bool is_seen(const graph *g, uint32_t index) {
  return tsri_value_refs(&g->nodes[index]->value) > g->uses[index];
}

static bool create_copies(graph *g) {
  bool is_good = true;
  for (uint32_t i = 0; i < g->count && is_good; i++) {
    if (!is_seen(g, i)) continue;
    tsri_layout layout;
    (void)tsri_layout_init("copy", g->nodes[i]->shape, g->nodes[i]->dtype, &layout, NULL);  // it has this shape already
    g->copies[i] = create_reader(&tsri_op_copy, g->placing->cpu, g->nodes[i]->dtype, &g->twins[i]->value, &layout);
    is_good = g->copies[i] != NULL;
  }
  return is_good;
}

static bool create_twins(graph *g) {
  bool is_good = g->uses && g->twins && g->copies;
  for (uint32_t i = 0; i < g->count && is_good; i++) is_good = (g->twins[i] = create_twin(g, g->nodes[i])) != NULL;
  for (uint32_t i = 0; i < g->count && is_good; i++) {
    connect_results(g, g->nodes[i], g->twins[i]);
    is_good = take_inputs(g, g->nodes[i], g->twins[i]);
  }
  return is_good && create_copies(g);
}

// --- Replacing the graph -------------------------------------------------------------------------------------------

static void link_row_major(tsri_graph_state *state, tsri_node *node, const tsri_node *like) {
  tsri_layout layout;
  (void)tsri_layout_init("copy", like->shape, like->dtype, &layout, NULL);  // it has this shape already
  tsri_node_link(state, node, &layout);
}

static void link_leaves(const graph *g, tsri_graph_state *cpu) {
  for (uint32_t i = 0; i < g->leaf_count; i++) {
    const moved_leaf *leaf = &g->leaves[i];
    tsri_layout packed = tsri_packed_layout(&leaf->view);
    if (leaf->copy) tsri_node_link(g->state, leaf->copy, &packed);
    tsri_node_link(cpu, leaf->move, &packed);
  }
}

// Turns the nodes that are still seen into moves from the CPU. Hides all others, which are freed with the references in `garbage`.
static void replace_nodes(graph *g, tsri_garbage *garbage) {
  for (uint32_t i = 0; i < g->count; i++) {
    if (g->copies[i]) tsri_node_become_move(g->state, g->nodes[i], &g->copies[i]->value, garbage);
    else tsri_node_hide(g->state, g->nodes[i]);
    g->copies[i] = NULL;
  }
}

static void put_in_place(graph *g, tsri_graph_state *cpu, tsri_garbage *garbage) {
  tsri_mutex_lock(&cpu->lock);
  link_leaves(g, cpu);
  for (uint32_t i = 0; i < g->count; i++) {
    link_row_major(cpu, g->twins[i], g->nodes[i]);
    if (g->copies[i]) link_row_major(cpu, g->copies[i], g->nodes[i]);
  }
  tsri_mutex_unlock(&cpu->lock);
  replace_nodes(g, garbage);
}

// Releases our reference to a node. A node that was never linked is marked as hidden, because it is in no list of
// pending nodes.
static void drop(tsri_node *node, bool is_linked) {
  if (!node) return;
  if (!is_linked) node->is_hidden = true;
  // A tsri_op_result that has not got its first node yet.
  if (node->input_count > 0 && !node->inputs[0].value) node->op = &tsri_op_copy;
  tsri_value_release(&node->value);
}

// Call without locks.
static void release_all(graph *g, bool is_linked) {
  for (uint32_t i = 0; i < g->count && g->copies; i++) drop(g->copies[i], is_linked);
  for (uint32_t i = 0; i < g->count && g->twins; i++) drop(g->twins[i], is_linked);
  for (uint32_t i = 0; i < g->leaf_count; i++) drop(g->leaves[i].move, is_linked);
  for (uint32_t i = 0; i < g->leaf_count; i++) drop(g->leaves[i].copy, is_linked);
  tsri_free(g->nodes);
  tsri_free(g->uses);
  tsri_free(g->twins);
  tsri_free(g->copies);
  tsri_free(g->leaves);
}

// Whether the graph has a node that is not a copy. A graph of copies alone only fetches inputs or results from the device.
static bool has_operators(const graph *g) {
  bool has = false;
  for (uint32_t i = 0; i < g->count && !has; i++) has = g->nodes[i]->op != &tsri_op_copy;
  return has;
}

static bool place(graph *g, tsri_graph_state *cpu, tsri_garbage *garbage) {
  double there_ns = 0, here_ns = 0;
  if (!g->is_good || !has_operators(g) || !is_faster_on_cpu(g, &there_ns, &here_ns)) return false;
  g->uses = tsri_calloc(g->count, sizeof *g->uses);
  g->twins = tsri_calloc(g->count, sizeof *g->twins);
  g->copies = tsri_calloc(g->count, sizeof *g->copies);
  if (!create_twins(g) || !tsri_garbage_reserve(garbage, g->garbage_count)) return false;
  tsr_device *device = g->nodes[0]->value.device;
  put_in_place(g, cpu, garbage);
  tsri_placing_note(device, &g->work, there_ns, here_ns, (uint64_t)g->moved_bytes);
  return true;
}

void tsri_place_nodes(tsri_graph_state *state, tsri_node *const *nodes, uint32_t count) {
  const tsri_placing *placing = nodes[0]->value.device->placing;
  tsri_graph_state *cpu = NULL;
  if (tsri_graph_state_for(placing->cpu, &cpu) != TSR_OK) return;
  tsri_garbage garbage = {0}, living = {0};
  graph g = {.state = state, .placing = placing, .is_good = true, .living = &living};
  tsri_mutex_lock(&state->lock);
  collect(&g, nodes, count);
  bool is_placed = place(&g, cpu, &garbage);
  tsri_mutex_unlock(&state->lock);
  release_all(&g, is_placed);
  tsri_garbage_drop(&garbage);
  tsri_garbage_drop(&living);
}

// --- Data of the host ---------------------------------------------------------------------------------------------------

// If the value is a pending move from the CPU: the value on the CPU that it moves, with a reference that a tensor may hold. Otherwise NULL.
static tsri_value *find_source(tsri_graph_state *state, const tsri_value *value, const tsr_device *cpu) {
  tsri_value *source = NULL;
  tsri_mutex_lock(&state->lock);
  const tsri_node *node = tsri_pending_node(value);
  bool is_there = node && node->op == &tsri_op_move && node->inputs[0].value->device == cpu;
  if (is_there) source = tsri_value_hold(node->inputs[0].value);
  tsri_mutex_unlock(&state->lock);
  return source;
}

tsr_tensor *tsri_place_source(tsr_tensor *tensor) {
  tsr_device *device = tensor->value->device;
  tsri_value *value = tsri_value_now(tensor->value), *source = NULL;
  if (!tsri_value_buffer(value) && !tsri_tape_now()) {
    tsri_graph_state *state = tsri_graph_of(device);
    tsri_node *node = (tsri_node *)value;  // a value without a buffer is a node
    tsri_place_nodes(state, &node, 1);
    source = find_source(state, value, device->placing->cpu);
  }
  tsri_value_release(value);
  return source ? tsri_tensor_of(source, tensor->dtype, &tensor->layout) : NULL;
}

tsr_device *tsri_place_of_data(const tsr_device *device, size_t bytes) {
  const tsri_placing *placing = device->placing;
  if (!placing || tsri_tape_now()) return NULL;
  tsri_work least = {.kernels = 1, .bytes = (double)bytes};
  double there = tsri_work_ns(&least, &placing->there) + (double)bytes * placing->there.copied_byte_ns;
  return tsri_work_ns(&least, &placing->here) < there ? placing->cpu : NULL;
}
