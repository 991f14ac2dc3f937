// SPDX-License-Identifier: MIT
// Finding dead values: counts how many of a value's references have been given up.
#include "graph/dead.h"

#include "graph/assign.h"
#include "runtime/buffer.h"

static void count_lost(tsri_graph_state *state, const tsri_plan *plan, tsri_value *value);

// A dead node that is still pending was computed inside another node's kernel. Hides it, so that no search of the pending nodes finds and runs it, and counts
// its references to its inputs as given up. Assignments and operators with several results are never computed inside another kernel.
static void bury_pending(tsri_graph_state *state, const tsri_plan *plan, tsri_node *node) {
  if (node->results || node->op == &tsri_op_result || node->value.storage) return;
  tsri_node_hide(state, node);
  for (uint32_t i = 0; i < node->input_count; i++) count_lost(state, plan, node->inputs[i].value);
}

// Whether nodes that are equal to this one (tsri_planned.same_as) still come in the plan. They will read this node's memory.
static bool has_equals_to_come(const tsri_graph_state *state, const tsri_plan *plan, const tsri_node *node) {
  return node->mark == state->run_mark && plan->nodes[node->slot].equals_left > 0;
}

static void bury(tsri_graph_state *state, const tsri_plan *plan, tsri_node *node) {
  tsr_buffer *buffer = tsri_value_buffer(&node->value);
  if (has_equals_to_come(state, plan, node)) return;
  if (buffer) tsri_buffer_give_memory(buffer);
  else bury_pending(state, plan, node);
}

// Counts one more reference to the value as given up. The recursion ends at values that have been computed, since they
// have no inputs: it visits at most the nodes of one kernel.
static void count_lost(tsri_graph_state *state, const tsri_plan *plan, tsri_value *value) {
  if (!tsri_value_is_node(value) || tsri_graph_of(value->device) != state) return;
  tsri_node *node = (tsri_node *)value;
  if (node->lost_mark != state->run_mark) node->lost_refs = 0;
  node->lost_mark = state->run_mark;
  node->lost_refs++;
  if (tsri_value_refs(value) == node->lost_refs) bury(state, plan, node);
}

size_t tsri_dead_find(tsri_graph_state *state, const tsri_plan *plan, const tsri_garbage *garbage, size_t from) {
  tsri_value *const *values = garbage->values ? garbage->values : garbage->few;
  for (size_t i = from; i < garbage->count; i++) count_lost(state, plan, values[i]);
  return garbage->count;
}
