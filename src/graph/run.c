// SPDX-License-Identifier: MIT
// Running pending nodes: plan, allocate, launch, publish.
#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "graph/launch.h"
#include "graph/node.h"
#include "graph/plan.h"

// A node's elements, not initialised.
static tsr_status create_output(const tsri_node *node, tsr_buffer **out_output) {
  return tsr_buffer_create(node->value.device, (size_t)node->count * tsr_dtype_bytes(node->dtype), 0, out_output);
}

// Publishes what was launched, or gives it up.
static tsr_status publish(tsri_graph_state *state, tsri_node *node, tsr_status status, tsr_buffer *output,
                          tsri_garbage *garbage) {
  if (status == TSR_OK) tsri_node_finish(state, node, output, garbage);
  else tsr_buffer_release(output);
  return status;
}

static tsr_status run_group(tsri_graph_state *state, const tsri_plan *plan, const tsri_group *group,
                            tsri_garbage *garbage) {
  tsri_node *root = plan->nodes[group->root].node;
  tsr_buffer *output = NULL;
  tsr_status status = create_output(root, &output);
  if (status == TSR_OK && root->count > 0) status = tsri_launch_group(state, plan, group, output);
  return publish(state, root, status, output, garbage);
}

// Nodes equal to one that has run share its elements.
static void publish_equal(tsri_graph_state *state, const tsri_plan *plan, uint32_t number, tsri_garbage *garbage) {
  const tsri_planned *planned = &plan->nodes[number];
  tsr_buffer *buffer = tsri_value_buffer(&plan->nodes[planned->same_as].node->value);
  if (buffer) tsri_node_finish(state, planned->node, tsr_buffer_retain(buffer), garbage);
}

static tsr_status run_plan(tsri_graph_state *state, const tsri_plan *plan, tsri_garbage *garbage) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < plan->node_count && status == TSR_OK; i++) {
    const tsri_planned *planned = &plan->nodes[i];
    if (planned->same_as != i) publish_equal(state, plan, i, garbage);
    else if (plan->groups[planned->group].root == i)
      status = run_group(state, plan, &plan->groups[planned->group], garbage);
  }
  return status;
}

// Under the lock, which is open while references are given up: the last one of a node takes it.
static tsr_status run_targets(tsri_graph_state *state, tsri_node *const *targets, uint32_t target_count,
                              tsri_garbage *garbage) {
  tsri_plan plan;
  tsr_status status = tsri_plan_init(state, targets, target_count, &plan);
  if (status != TSR_OK) return status;
  bool is_few = plan.input_count <= sizeof garbage->few / sizeof garbage->few[0];
  garbage->values = is_few ? garbage->few : tsri_malloc(plan.input_count * sizeof *garbage->values);
  if (garbage->values) status = run_plan(state, &plan, garbage);
  else status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory to run %u operators", plan.node_count);
  tsri_plan_deinit(&plan);
  return status;
}

// The same for one node, without a plan if one like it has run before.
static tsr_status run_node(tsri_graph_state *state, tsri_node *node, tsri_garbage *garbage) {
  const tsri_repeat *repeat = tsri_repeat_find(&state->repeats, node);
  if (!repeat) return run_targets(state, &node, 1, garbage);
  tsr_buffer *output = NULL;
  tsr_status status = create_output(node, &output);
  if (status == TSR_OK) status = tsri_repeat_launch(repeat, node, output);
  garbage->values = garbage->few;
  return publish(state, node, status, output, garbage);
}

static void drop_garbage(tsri_garbage *garbage) {
  for (size_t i = 0; i < garbage->count; i++) tsri_value_release(garbage->values[i]);
  if (garbage->values != garbage->few) tsri_free(garbage->values);
}

tsr_status tsri_graph_ready(tsr_tensor *tensor) {
  if (tsri_tensor_buffer(tensor)) return TSR_OK;
  tsri_graph_state *state = tsri_graph_of(tensor->value->device);
  tsri_garbage garbage = {.count = 0};
  tsr_status status = TSR_OK;
  tsri_mutex_lock(&state->lock);
  tsri_node *node = tsri_pending_node(tensor->value);  // another thread may have run it meanwhile
  if (node) status = run_node(state, node, &garbage);
  tsri_mutex_unlock(&state->lock);
  drop_garbage(&garbage);
  return status;
}

static bool reads(const tsri_node *node, const tsr_buffer *buffer) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (tsri_value_buffer(node->inputs[i].value) == buffer) return true;
  }
  return false;
}

typedef struct readers {
  tsri_node **nodes;  // with a reference each
  uint32_t count;
} readers;

// Every pending node that reads `buffer`, but those that nobody can read any more and a thread is about to free.
static tsr_status find_readers(const tsri_graph_state *state, const tsr_buffer *buffer, readers *out) {
  uint32_t count = 0;
  for (tsri_node *node = state->pending; node; node = node->next) count += reads(node, buffer);
  if (count == 0) return TSR_OK;
  out->nodes = tsri_malloc(count * sizeof *out->nodes);
  if (!out->nodes)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "write: no host memory to run the %u operators that wait for it", count);
  for (tsri_node *node = state->pending; node; node = node->next) {
    if (reads(node, buffer) && tsri_value_retain_living(&node->value)) out->nodes[out->count++] = node;
  }
  return TSR_OK;
}

static void drop_readers(readers *found) {
  for (uint32_t i = 0; i < found->count; i++) tsri_value_release(&found->nodes[i]->value);
  tsri_free(found->nodes);
}

tsr_status tsri_graph_before_overwrite(tsr_device *device, const tsr_buffer *buffer) {
  tsri_graph_state *state = tsri_graph_of(device);
  if (!state) return TSR_OK;
  tsri_garbage garbage = {.count = 0};
  readers found = {.count = 0};
  tsri_mutex_lock(&state->lock);
  tsr_status status = find_readers(state, buffer, &found);
  if (found.count > 0) status = run_targets(state, found.nodes, found.count, &garbage);  // as one plan
  tsri_mutex_unlock(&state->lock);
  drop_garbage(&garbage);
  drop_readers(&found);
  return status;
}

tsr_status tsri_graph_before_write(tsr_tensor *tensor) {
  tsr_status status = tsri_graph_ready(tensor);
  if (status != TSR_OK) return status;
  return tsri_graph_before_overwrite(tensor->value->device, tsri_tensor_buffer(tensor));
}
