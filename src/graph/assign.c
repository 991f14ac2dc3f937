// SPDX-License-Identifier: MIT
// Recording and running assignments. The planner (plan.c) decides which of them are fused with the computation of their
// source.
#include "graph/assign.h"

#include "core/error.h"
#include "graph/compose.h"
#include "graph/launch.h"
#include "graph/transfer.h"
#include "runtime/sharing.h"

const tsri_op tsri_op_assign = {.name = "assign", .kind = TSRI_OP_KERNEL};

enum { TARGET, SOURCE, BEFORE };

tsri_value *tsri_value_after_assignments(tsri_value *value) {
  tsri_graph_state *state = tsri_graph_of(value->device);
  tsri_mutex_lock(&state->lock);
  tsri_value *latest = atomic_load(&value->latest);  // the assignment may have run before we locked
  tsri_value *now = tsri_value_retain(latest ? latest : value);
  tsri_mutex_unlock(&state->lock);
  return now;
}

void tsri_assign_link(tsri_node *node) {
  tsri_value *storage = node->value.storage;
  tsri_value *before = atomic_exchange(&storage->latest, tsri_value_retain(&node->value));
  (before ? before : storage)->successor = &node->value;
  node->assignments = before ? ((const tsri_node *)before)->assignments + 1 : 1;
  if (!before) return;
  node->inputs[BEFORE] =
      (tsri_input){.value = before, .layout = node->inputs[TARGET].layout, .dtype = node->dtype, .as = node->dtype};
  node->input_count = BEFORE + 1;  // the reference that the storage held now belongs to this input
}

void tsri_assign_finish(tsri_node *node, tsri_garbage *garbage) {
  tsri_value *storage = node->value.storage, *latest = &node->value;
  storage->successor = node->value.successor;
  node->value.successor = NULL;
  if (atomic_compare_exchange_strong(&storage->latest, &latest, NULL)) tsri_garbage_add(garbage, &node->value);
}

void tsri_assign_forget(const tsri_node *node) {
  // No assignment follows this one: it would hold a reference to it.
  tsri_value *before = node->input_count > BEFORE ? node->inputs[BEFORE].value : node->value.storage;
  if (before->successor == &node->value) before->successor = NULL;
  if (node->value.storage->successor == &node->value) node->value.storage->successor = NULL;
}

tsr_status tsri_assign_run(tsri_graph_state *state, const tsri_plan *plan, tsri_node *node, tsri_garbage *garbage) {
  const tsri_input *source = &node->inputs[SOURCE];
  uint32_t number = tsri_plan_number(plan, source->value);
  const tsri_value *value = number == TSRI_NONE ? source->value : &plan->nodes[number].node->value;
  tsri_view from = {.buffer = tsri_value_buffer(value), .dtype = source->dtype, .layout = source->layout};
  tsri_view to = {
      .buffer = tsri_value_buffer(node->value.storage), .dtype = node->dtype, .layout = node->inputs[TARGET].layout};
  tsr_status status = tsri_copy_view(&from, &to);
  if (status == TSR_OK) tsri_node_finish(state, node, tsr_buffer_retain(to.buffer), garbage);
  return status;
}

bool tsri_assign_takes_heavy(const tsri_node *node) {
  const tsr_buffer *buffer = tsri_value_buffer(node->value.storage);
  const tsri_layout *target = &node->inputs[TARGET].layout;
  return buffer && buffer->may_tear && target->offset == 0 &&
         (size_t)target->count * tsr_dtype_bytes(node->dtype) == buffer->bytes;
}

bool tsri_assign_takes(const tsri_node *node, uint32_t index, const tsri_node *from) {
  const tsri_input *target = &node->inputs[TARGET], *source = &node->inputs[SOURCE];
  // NULL: the target has not been computed yet, so its buffer will be new and unshared
  const tsr_buffer *buffer = tsri_value_buffer(node->value.storage);
  if (index != SOURCE || (buffer && tsri_buffer_is_shared(buffer))) return false;
  bool is_heavy = from->op->kind != TSRI_OP_ELEMENTWISE && tsri_assign_takes_heavy(node);
  return source->layout.count > 0 && tsri_layout_is_contiguous(&target->layout) &&
         tsri_layout_is_identity(&source->layout, from->count) &&
         (is_heavy || tsri_shape_equal(source->layout.shape, from->shape));
}

tsri_output tsri_assign_output(const tsri_node *node) {
  return (tsri_output){tsr_buffer_retain(tsri_value_buffer(node->value.storage)), node->inputs[TARGET].layout.offset};
}

tsr_status tsri_assign_run_fused(tsri_graph_state *state, const tsri_plan *plan, const tsri_fusion *fusion,
                                 tsri_garbage *garbage) {
  tsri_node *node = plan->nodes[fusion->assignment].node;
  tsr_buffer *buffer = tsri_value_buffer(node->value.storage);
  tsr_status status = tsri_launch_fusion_at(state, plan, fusion, buffer, node->inputs[TARGET].layout.offset);
  if (status == TSR_OK) tsri_node_finish(state, node, tsr_buffer_retain(buffer), garbage);
  return status;
}

// --- Recording ----------------------------------------------------------------------------------------------------------

// Runs the pending assignments to the target if there are MOST_PENDING of them. Each keeps the inputs of its source in memory; and if nobody reads the target,
// as with a running mean, hundreds of assignments would pile up and then keep the host busy for milliseconds in one run. Call it before the next assignment is
// recorded: the caller still holds the source of that one, so running it now would not compute it in place (is_used_up in plan.c). An error is dropped; the
// next read retries.
static void run_if_many(const tsr_tensor *target) {
  enum { MOST_PENDING = 15 };
  if (!tsri_value_is_assigned(target->value)) return;
  tsri_value *latest = tsri_value_now(target->value);
  bool is_pending = tsri_value_buffer(latest) == NULL;
  if (is_pending && latest->storage && ((const tsri_node *)latest)->assignments >= MOST_PENDING)
    (void)tsri_graph_run_value(latest);
  tsri_value_release(latest);
}

// `source` is on the target's device, has its dtype and shape, and does not share its memory.
static tsr_status record(tsr_tensor *target, tsr_tensor *source) {
  run_if_many(target);
  tsri_node *node = tsri_node_create(&tsri_op_assign, target->value->device, target->dtype, BEFORE + 1, NULL);
  if (!node) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "assign: no host memory for its record");
  node->input_count = BEFORE;
  node->value.storage = tsri_value_retain(target->value);
  node->inputs[TARGET] = (tsri_input){
      .value = tsri_value_retain(target->value), .layout = target->layout, .dtype = target->dtype, .as = target->dtype};
  node->inputs[SOURCE] = (tsri_input){
      .value = tsri_value_now(source->value), .layout = source->layout, .dtype = source->dtype, .as = source->dtype};
  tsr_status status = tsri_node_enter(node, &target->layout);
  // Release our reference: the storage now holds one (tsri_assign_link).
  if (status == TSR_OK) tsri_value_release(&node->value);
  return status;
}

static bool is_shared(const tsr_tensor *tensor) {
  const tsr_buffer *buffer = tsri_tensor_buffer(tensor);
  return buffer && tsri_buffer_is_shared(buffer);
}

tsr_status tsri_record_assign(tsr_tensor *target, tsr_tensor *source) {
  bool is_seen_outside = is_shared(target), is_self = source->value == target->value;
  tsr_tensor *copy = NULL;
  if (is_self || (is_seen_outside && is_shared(source))) {
    tsri_layout packed = tsri_packed_layout(&source->layout);
    copy = source = tsri_record_copy(source, &packed);
  }
  tsr_status status = source->status;
  // Others can read shared memory at any time, so the write is not deferred: run the readers, record, and run.
  if (status == TSR_OK && is_seen_outside) status = tsri_graph_before_write(target);
  if (status == TSR_OK) status = record(target, source);
  if (status == TSR_OK && is_seen_outside) status = tsri_graph_run(target);
  tsr_release(copy);
  return status;
}
