// SPDX-License-Identifier: MIT
// Running pending nodes: plan, allocate, launch, publish. Also runs the nodes that must come before elements are
// overwritten.
#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "graph/assign.h"
#include "graph/autotune.h"
#include "graph/dead.h"
#include "graph/interrupt.h"
#include "graph/move.h"
#include "graph/node.h"
#include "graph/number.h"
#include "graph/paired.h"
#include "graph/place.h"
#include "graph/plan.h"
#include "graph/profiled.h"
#include "graph/transfer.h"
#include "graph/watch.h"
#include "runtime/native_op.h"
#include "runtime/sharing.h"
#include "runtime/tape.h"

// Allocates the memory of a node's result, uninitialised.
static tsr_status create_output(const tsri_node *node, tsr_buffer **out_output) {
  return tsri_buffer_create_temporary(node->value.device, (size_t)node->count * tsri_dtype_bytes(node->dtype),
                                      out_output);
}

// Publishes `output` as the node's elements if `status` is TSR_OK, else releases it.
static tsr_status publish(tsri_graph_state *state, tsri_node *node, tsr_status status, tsr_buffer *output,
                          tsri_garbage *garbage) {
  if (status == TSR_OK) tsri_node_finish(state, node, output, garbage);
  else tsr_buffer_release(output);
  return status;
}

// Publishes the other results of an operator whose nodes still exist. Takes over the references to the buffers.
static void publish_others(tsri_graph_state *state, tsri_node *node, tsr_buffer *const *outputs,
                           tsri_garbage *garbage) {
  for (uint32_t i = 1; i < node->result_count; i++) {
    tsri_node *result = node->results[i].node;
    if (result && tsri_value_retain_living(&result->value)) {
      tsri_node_finish(state, result, outputs[i], garbage);
      tsri_garbage_add(garbage, &result->value);
    } else {
      tsr_buffer_release(outputs[i]);
    }
  }
}

// As publish, for all results of the node.
static tsr_status publish_all(tsri_graph_state *state, tsri_node *node, tsr_status status, tsr_buffer *const *outputs,
                              tsri_garbage *garbage) {
  if (status == TSR_OK && node->results) publish_others(state, node, outputs, garbage);
  for (uint32_t i = 1; i < node->result_count && status != TSR_OK; i++) tsr_buffer_release(outputs[i]);
  return publish(state, node, status, outputs[0], garbage);
}

// Allocates memory for all results, also for those whose nodes are gone, since the kernel writes them all.
static tsr_status create_outputs(const tsri_node *node, tsr_buffer **outputs) {
  if (!node->results) return create_output(node, &outputs[0]);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < node->result_count && status == TSR_OK; i++) {
    status = tsri_buffer_create_temporary(node->value.device, node->results[i].bytes, &outputs[i]);
  }
  return status;
}

// Memory that is allocated from now on belongs to the training pass of this node.
static void enter_pass(tsri_graph_state *state, const tsri_node *node) {
  if (node->pass == state->pass) return;
  state->pass = node->pass;
  tsri_pool_set_pass(node->value.device->pool, node->pass);
}

static void leave_pass(tsri_graph_state *state, const tsr_device *device) {
  if (state->pass != 0) tsri_pool_set_pass(device->pool, 0);
  state->pass = 0;
}

// The place to which the result of a fusion is written, and the node whose elements it is: the fusion's root or assignment.
typedef struct result_place {
  tsri_node *node;
  tsri_output output;
} result_place;

// Finds the place of the fusion's result: the target of its assignment, or newly allocated memory. The caller publishes the buffer.
static tsr_status place_result(const tsri_plan *plan, const tsri_fusion *fusion, result_place *out) {
  *out = (result_place){.node = plan->nodes[fusion->root].node};
  if (fusion->assignment == TSRI_NONE) return create_output(out->node, &out->output.buffer);
  out->node = plan->nodes[fusion->assignment].node;
  out->output = tsri_assign_output(out->node);
  return TSR_OK;
}

// Runs a product and the fusion that is paired with it, in one launch. TSR_ERR_UNSUPPORTED: the device cannot; nothing has run.
static tsr_status run_paired(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                             tsri_garbage *garbage) {
  result_place product = {0}, other = {0};
  tsr_status status = place_result(plan, fusion, &product);
  if (status == TSR_OK) status = place_result(plan, &plan->fusions[fusion->paired], &other);
  if (status == TSR_OK) status = tsri_paired_run(plan, fusion, &product.output, &other.output);
  (void)publish(state, product.node, status, product.output.buffer, garbage);
  return publish(state, other.node, status, other.output.buffer, garbage);
}

static tsr_status run_fusion(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                             tsri_garbage *garbage) {
  tsri_node *root = plan->nodes[fusion->root].node;
  if (root->op == &tsri_op_assign) return tsri_assign_run(state, plan, root, garbage);
  if (fusion->paired != TSRI_NONE) {
    tsr_status status = run_paired(state, plan, fusion, garbage);
    if (status != TSR_ERR_UNSUPPORTED) return status;
  }
  if (fusion->assignment != TSRI_NONE) return tsri_assign_run_fused(state, plan, fusion, garbage);
  tsr_buffer *outputs[TSRI_MAX_RESULTS] = {NULL};
  tsr_status status = create_outputs(root, outputs);
  if (status == TSR_OK && root->op == &tsri_op_number) status = tsri_number_run(root, outputs[0]);
  else if (status == TSR_OK && (root->count > 0 || root->results))
    status = tsri_autotune_launch(state->autotune, state, plan, fusion, outputs);
  return publish_all(state, root, status, outputs, garbage);
}

static tsr_status run_profiled(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                               tsri_garbage *garbage) {
  tsri_profile_context context;
  tsri_profile_fusion(plan, fusion, &context);
  tsri_profile_context *before = tsri_profile_enter(&context);
  tsr_status status = run_fusion(state, plan, fusion, garbage);
  tsri_profile_enter(before);
  return status;
}

// A node equal to one that has run becomes a copy of it, not a second owner of its buffer: writing to one tensor must
// not change the other. If the node is a target the copy is made now, else when it is read.
static tsr_status run_equal(tsri_graph_state *state, const tsri_plan *plan, const tsri_planned *planned,
                            tsri_garbage *garbage) {
  tsri_node *node = planned->node, *first = plan->nodes[planned->same_as].node;
  tsri_view view = {.buffer = tsri_value_buffer(&first->value), .dtype = node->dtype};
  if (!view.buffer) return TSR_OK;  // `first` was fused and has no buffer; this node stays as it is
  tsri_node_become_copy(node, &first->value, garbage);
  if (!planned->is_target) return TSR_OK;
  tsr_buffer *output = NULL;
  view.layout = node->inputs[0].layout;
  tsr_status status = create_output(node, &output);
  if (status == TSR_OK) status = tsri_copy_packed(&view, output);
  return publish(state, node, status, output, garbage);
}

static tsr_status run_planned(tsri_graph_state *state, const tsri_plan *plan, uint32_t number, tsri_garbage *garbage) {
  const tsri_planned *planned = &plan->nodes[number];
  if (tsri_value_buffer(&planned->node->value)) return TSR_OK;  // published together with another result
  if (planned->same_as != number) {
    enter_pass(state, planned->node);
    plan->nodes[planned->same_as].equals_left--;
    return run_equal(state, plan, planned, garbage);
  }
  const tsri_fusion *fusion = &plan->fusions[planned->fusion];
  uint32_t due = fusion->assignment != TSRI_NONE ? fusion->assignment : fusion->root;
  if (due != number) return TSR_OK;
  enter_pass(state, planned->node);
  return tsri_profiling() ? run_profiled(state, plan, fusion, garbage) : run_fusion(state, plan, fusion, garbage);
}

// Runs every node on the tape on which it was recorded, which may be another thread's, or on none.
static tsr_status run_plan(tsri_graph_state *state, const tsri_plan *plan, tsri_garbage *garbage) {
  // Room for all inputs and one more per node: the copy that an equal node becomes has an input, and the storage of an
  // assignment releases its reference to it.
  if (!tsri_garbage_reserve(garbage, plan->input_count + plan->node_count)) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to run %u operators", plan->node_count);
  }
  tsr_status status = TSR_OK;
  size_t seen = garbage->count;
  tsri_tape_explain_begin();
  for (uint32_t i = 0; i < plan->node_count && status == TSR_OK; i++) {
    const tsri_node *node = plan->nodes[i].node;
    tsri_taping before = tsri_tape_enter(node->tape);
    tsri_track_entry track = tsri_track_enter(node->value.device, node->track);
    status = tsri_interrupt_check();
    if (status == TSR_OK) status = run_planned(state, plan, i, garbage);
    tsri_track_leave(track);
    if (i + 1 < plan->node_count) seen = tsri_dead_find(state, plan, garbage, seen);
    tsri_tape_leave(before);
  }
  tsri_tape_explain_end();
  if (plan->node_count > 0) leave_pass(state, plan->nodes[0].node->value.device);
  return status;
}

// --- Running ----------------------------------------------------------------------------------------------------------

// Runs everything the targets need as one plan; targets that have run are skipped. Call with state->lock held.
// References go to `garbage`; the caller drops them after unlocking.
static tsr_status run_targets(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                              tsri_garbage *garbage) {
  tsri_plan plan;
  uint64_t start = tsri_autotune_is_on(state->autotune) ? tsri_clock_ns() : 0;
  tsr_status status = tsri_plan_init(state, targets, target_count, garbage, &plan);
  if (start) state->plan_ns = tsri_clock_ns() - start;
  if (status != TSR_OK) return status;
  status = run_plan(state, &plan, garbage);
  tsri_plan_deinit(&plan);
  return status;
}

// The tape and the track that were current before enter_node; leave_node makes them current again.
typedef struct run_context {
  tsri_taping tape;
  tsri_track_entry track;
} run_context;

static run_context enter_node(tsri_graph_state *state, const tsri_node *node) {
  run_context before = {tsri_tape_enter(0), tsri_track_enter(node->value.device, node->track)};
  enter_pass(state, node);
  return before;
}

static void leave_node(tsri_graph_state *state, const tsri_node *node, run_context before) {
  leave_pass(state, node->value.device);
  tsri_track_leave(before.track);
  tsri_tape_leave(before.tape);
}

static tsr_status run_repeat(tsri_graph_state *state, tsri_node *node, const tsri_repeat *repeat,
                             const tsri_repeat_form *form, tsri_garbage *garbage) {
  tsr_buffer *output = NULL;
  run_context before = enter_node(state, node);
  tsr_status status = create_output(node, &output);
  tsri_profile_context context, *before_context = NULL;
  bool is_profiled = tsri_profiling();
  if (is_profiled) {
    tsri_profile_repeat(form, &context);
    before_context = tsri_profile_enter(&context);
  }
  if (status == TSR_OK) status = tsri_repeat_launch(repeat, form, output);
  if (is_profiled) tsri_profile_enter(before_context);
  status = publish(state, node, status, output, garbage);
  leave_node(state, node, before);
  return status;
}

static tsr_status run_single(tsri_graph_state *state, tsri_node *node, tsri_single *single,
                             const tsri_single_form *form, tsri_garbage *garbage) {
  tsr_buffer *outputs[TSRI_MAX_RESULTS] = {NULL};
  run_context before = enter_node(state, node);
  tsr_status status = create_outputs(node, outputs);
  if (status == TSR_OK) status = tsri_single_run(single, form, outputs);
  status = publish_all(state, node, status, outputs, garbage);
  leave_node(state, node, before);
  return status;
}

// The number of commands that have been queued on the device so far.
static uint64_t queued_commands(tsr_device *device) {
  tsri_device_lock(device);
  uint64_t count = device->tracks[0].queued;
  tsri_device_unlock(device);
  return count;
}

// Plans and runs the node. If native operators and fused kernels are all that was queued for it, the launch cache (single.h) gets
// them, unless tuning has another way for the node.
static tsr_status run_and_keep(tsri_graph_state *state, tsri_node *node, const tsri_single_form *form,
                               tsri_garbage *garbage) {
  tsr_device *device = node->value.device;
  uint64_t before = queued_commands(device), unusual = tsri_autotune_unusual(state->autotune);
  tsri_steps steps;
  tsri_steps_begin(&steps);
  tsr_status status = run_targets(state, &node, 1, garbage);
  tsri_steps_end();
  bool is_all = queued_commands(device) == before + (uint64_t)steps.count;
  bool is_usual = tsri_autotune_unusual(state->autotune) == unusual;
  if (status == TSR_OK && is_usual)
    tsri_single_keep(&state->singles, form, &steps, is_all, tsri_value_buffer(&node->value));
  return status;
}

// Whether the launch caches may run the node. Not if something needs to observe its plan, its launches or its commands.
static bool may_skip_plan(const tsri_node *node) {
  return !tsri_profiling() && !tsri_log_wants(TSR_LOG_PLAN) && node->value.device->track_count == 1;
}

// As run_targets, for one node. Skips planning if a launch cache (repeat.h, single.h) has this launch.
static tsr_status run_piece(tsri_graph_state *state, tsri_node *node, tsri_garbage *garbage) {
  tsri_repeat_form form;
  tsri_single_form single_form;
  const tsri_repeat *repeat = tsri_repeat_find(&state->repeats, node, &form);
  if (repeat) return run_repeat(state, node, repeat, &form, garbage);
  if (!may_skip_plan(node) || !tsri_single_describe(node, &single_form)) {
    return run_targets(state, &node, 1, garbage);
  }
  tsri_single *single = tsri_single_find(&state->singles, &single_form);
  if (!single) return run_and_keep(state, node, &single_form, garbage);
  tsr_status status =
      single->step_count > 0 ? run_single(state, node, single, &single_form, garbage) : TSR_ERR_UNSUPPORTED;
  return status == TSR_ERR_UNSUPPORTED ? run_targets(state, &node, 1, garbage) : status;
}

// The node whose run computes `node`: the first result's, if the node is another result of an operator.
static tsri_node *node_to_run(tsri_node *node) {
  tsri_node *first = node->op == &tsri_op_result ? tsri_pending_node(node->inputs[0].value) : NULL;
  return first && first->results ? first : node;
}

// As run_targets, for one node. A long chain of element-wise operators runs piece by piece: each is a kernel that the launch cache may have.
static tsr_status run_node(tsri_graph_state *state, tsri_node *node, tsri_garbage *garbage) {
  enum { MOST_PIECES = TSRI_MAX_DEPTH / TSRI_REPEAT_NODES + 1 };
  tsri_node *roots[MOST_PIECES];
  node = node_to_run(node);
  uint32_t count = tsri_repeat_cut(node, roots, MOST_PIECES);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < count && status == TSR_OK; i++) {
    if (tsri_value_buffer(&roots[i]->value)) continue;  // it ran with the piece before
    bool has_room = tsri_garbage_reserve(garbage, roots[i]->input_count + 2 * roots[i]->result_count);
    status = has_room ? run_piece(state, roots[i], garbage)
                      : TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to run a chain of operators");
  }
  return status;
}

// Runs everything the nodes need, unless a move from another device must run first: then nothing runs, and the moves
// are put into `out_moves`.
static tsr_status run_or_find_moves(tsri_graph_state *state, tsri_node *const *nodes, uint32_t count,
                                    tsri_needed_moves *out_moves) {
  tsri_garbage garbage;
  garbage.values = NULL;
  garbage.count = 0;
  tsr_status status = TSR_OK;
  tsri_mutex_lock(&state->lock);
  if (state->move_count > 0) status = tsri_moves_find(state, nodes, count, &garbage, out_moves);
  // Another thread may have run a single node before we locked; run_targets skips such nodes itself.
  bool is_due = status == TSR_OK && out_moves->count == 0 && (count > 1 || !tsri_value_buffer(&nodes[0]->value));
  if (is_due) status = count > 1 ? run_targets(state, nodes, count, &garbage) : run_node(state, nodes[0], &garbage);
  tsri_mutex_unlock(&state->lock);
  tsri_garbage_drop(&garbage);
  return status;
}

// Runs everything the nodes need, moves from other devices first. The caller holds references to the nodes and does not
// hold the lock.
static tsr_status run_nodes(tsri_graph_state *state, tsri_node *const *nodes, uint32_t count) {
  tsri_needed_moves moves = {0};
  if (nodes[0]->value.device->placing) tsri_place_nodes(state, nodes, count);
  tsr_status status = run_or_find_moves(state, nodes, count, &moves);
  while (moves.count > 0) {
    if (status == TSR_OK) status = tsri_moves_run(&moves);
    tsri_moves_release(&moves);
    if (status == TSR_OK) status = run_or_find_moves(state, nodes, count, &moves);
  }
  return status;
}

tsr_status tsri_graph_run_value(tsri_value *value) {
  if (tsri_value_buffer(value)) return TSR_OK;
  tsri_node *node = (tsri_node *)value;  // a value without a buffer is a node
  return run_nodes(tsri_graph_of(value->device), &node, 1);
}

tsr_status tsri_graph_run(tsr_tensor *tensor) {
  if (!tsri_value_is_assigned(tensor->value)) return tsri_graph_run_value(tensor->value);
  tsri_value *now = tsri_value_now(tensor->value);
  tsr_status status = tsri_graph_run_value(now);
  tsri_value_release(now);
  return status;
}

tsr_status tsri_graph_run_all(tsr_tensor *const *tensors, int count) {
  if (count <= 0) return TSR_OK;
  tsri_node **nodes = tsri_malloc((size_t)count * sizeof *nodes);
  if (!nodes) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to run %d tensors", count);
  uint32_t pending = 0;
  for (int i = 0; i < count; i++) {
    tsri_value *now = tsri_value_now(tensors[i]->value);
    if (tsri_value_buffer(now)) tsri_value_release(now);
    else nodes[pending++] = (tsri_node *)now;
  }
  tsr_status status = pending ? run_nodes(tsri_graph_of(tensors[0]->value->device), nodes, pending) : TSR_OK;
  for (uint32_t i = 0; i < pending; i++) tsri_value_release(&nodes[i]->value);
  tsri_free(nodes);
  return status;
}

// --- Before elements are overwritten ----------------------------------------------------------------------------------

typedef struct node_list {
  tsri_node **nodes;
  uint32_t count;
} node_list;

// Tells whether a pending node must run first; `data` is a buffer or a tape.
typedef bool (*node_test)(const tsri_node *node, const void *data);

static bool reads_buffer(const tsri_node *node, const void *data) {
  const tsr_buffer *buffer = data;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const tsr_buffer *input = tsri_value_buffer(node->inputs[i].value);
    if (input && tsri_buffers_overlap(input, buffer)) return true;
  }
  return false;
}

// Whether the node is an assignment to memory that the tape reads or writes.
static bool assigns_to_tape(const tsri_node *node, const void *data) {
  if (node->op != &tsri_op_assign) return false;
  const tsr_buffer *target = tsri_value_buffer(node->value.storage);
  return target && tsri_tape_has(data, target);
}

// Lists all pending nodes for which `test` is true, with a reference to each. Skips nodes without references: another
// thread is about to free them.
static tsr_status find_nodes(const tsri_graph_state *state, node_test test, const void *data, node_list *out) {
  uint32_t count = 0;
  for (tsri_node *node = state->pending; node; node = node->next) count += test(node, data);
  if (count == 0) return TSR_OK;
  out->nodes = tsri_malloc(count * sizeof *out->nodes);
  if (!out->nodes)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "write: no host memory to run the %u operators that wait for it", count);
  for (tsri_node *node = state->pending; node; node = node->next) {
    if (test(node, data) && tsri_value_retain_living(&node->value)) out->nodes[out->count++] = node;
  }
  return TSR_OK;
}

// Runs the pending nodes for which `test` is true, as one plan. `*out_count` is their number.
static tsr_status run_found(tsri_graph_state *state, node_test test, const void *data, uint32_t *out_count) {
  node_list found = {0};
  tsri_mutex_lock(&state->lock);
  tsr_status status = find_nodes(state, test, data, &found);
  tsri_mutex_unlock(&state->lock);
  if (found.count > 0) status = run_nodes(state, found.nodes, found.count);
  for (uint32_t i = 0; i < found.count; i++) tsri_value_release(&found.nodes[i]->value);
  tsri_free(found.nodes);
  *out_count = found.count;
  return status;
}

// Runs the pending nodes that read the buffer. Repeats until there are none: a node that reads a pending assignment
// reads the buffer only once that assignment has run.
static tsr_status run_readers(tsr_device *device, const tsr_buffer *buffer) {
  tsri_graph_state *state = tsri_graph_of(device);
  uint32_t count = state ? 1 : 0;
  tsr_status status = TSR_OK;
  while (count > 0 && status == TSR_OK) status = run_found(state, reads_buffer, buffer, &count);
  return status;
}

// As run_readers, for all other devices that have shared buffers. Waits for each of them, since their queues are not
// ordered with ours.
static tsr_status run_readers_elsewhere(const tsr_device *device, const tsr_buffer *buffer) {
  enum { MOST_DEVICES = 64 };
  tsr_device *others[MOST_DEVICES];
  int count = tsri_sharing_devices(device, others, MOST_DEVICES);
  tsr_status status = TSR_OK;
  if (count > MOST_DEVICES) {
    status = TSRI_FAIL(TSR_ERR_UNSUPPORTED, "write: its memory is shared while %d devices share memory, at most %d may",
                       count, MOST_DEVICES);
    count = MOST_DEVICES;
  }
  for (int i = 0; i < count; i++) {
    if (status == TSR_OK) status = run_readers(others[i], buffer);
    if (status == TSR_OK) status = tsri_device_wait(others[i]);
    tsr_device_release(others[i]);
  }
  return status;
}

tsr_status tsri_graph_before_overwrite(tsr_device *device, const tsr_buffer *buffer) {
  tsr_status status = run_readers(device, buffer);
  if (status != TSR_OK || !tsri_buffer_is_shared(buffer)) return status;
  return run_readers_elsewhere(device, buffer);
}

tsr_status tsri_graph_before_play(const tsri_tape *tape) {
  tsr_device *device = tsri_tape_device(tape);
  tsri_graph_state *state = tsri_graph_of(device);
  uint32_t count = 0;
  tsr_status status = state ? run_found(state, assigns_to_tape, tape, &count) : TSR_OK;
  for (int i = 0; i < tsri_tape_written_count(tape) && status == TSR_OK; i++) {
    status = tsri_graph_before_overwrite(device, tsri_tape_written(tape, i));
  }
  return status;
}

tsr_status tsri_graph_before_write(tsr_tensor *tensor) {
  if (tsri_watching) tsri_watching->overwritten(tsri_watching, tensor->value);
  tsr_status status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  return tsri_graph_before_overwrite(tensor->value->device, tsri_tensor_buffer(tensor));
}
