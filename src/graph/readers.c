// SPDX-License-Identifier: MIT
// Lists the readers of all pending assignments in one pass over the pending nodes.
#include "graph/readers.h"

#include "core/alloc.h"
#include "graph/assign.h"

// The pending assignment that overwrites the elements which a reader of `value` sees; NULL: none.
static tsri_node *overwriter_of(const tsri_value *value) {
  bool is_pending = tsri_value_buffer(value) == NULL;
  // An assignment that has run has the buffer of its storage, so the storage's next pending assignment overwrites it.
  const tsri_value *at = value->storage && !is_pending ? value->storage : value;
  return (tsri_node *)at->successor;
}

// An assignment reads only its source, input 1: its target and the assignment before it are inputs to keep the order.
tsri_node *tsri_readers_overwriter(const tsri_node *node, uint32_t index) {
  if (node->op == &tsri_op_assign && index != 1) return NULL;
  tsri_node *assignment = overwriter_of(node->inputs[index].value);
  return assignment == node ? NULL : assignment;
}

// How often the node reads elements that a pending assignment overwrites.
static size_t count_reads(const tsri_node *node) {
  size_t count = 0;
  for (uint32_t i = 0; i < node->input_count; i++) count += tsri_readers_overwriter(node, i) != NULL;
  return count;
}

// Counts the readers and clears the lists that tsri_readers_init then builds.
static size_t count_readers(const tsri_graph_state *state) {
  size_t count = 0;
  for (tsri_node *node = state->pending; node; node = node->next) {
    node->first_reader = 0;
    count += count_reads(node);
  }
  return count;
}

static void list_readers_of_inputs(tsri_node *node, tsri_readers *out) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    tsri_node *assignment = tsri_readers_overwriter(node, i);
    if (!assignment) continue;
    out->all[out->count++] = (tsri_reader){.node = node, .next = assignment->first_reader};
    assignment->first_reader = out->count;
  }
}

bool tsri_readers_init(tsri_graph_state *state, tsri_garbage *garbage, tsri_readers *out) {
  *out = (tsri_readers){0};
  size_t count = state->assign_count > 0 ? count_readers(state) : 0;
  if (count == 0) return true;
  out->all = tsri_malloc(count * sizeof *out->all);
  if (!out->all || !tsri_garbage_reserve(garbage, count)) {
    tsri_free(out->all);
    *out = (tsri_readers){0};
    return false;
  }
  for (tsri_node *node = state->pending; node; node = node->next) {
    // Only readers are retained: this function must not release a node, because the lock is held and freeing a node takes it.
    if (count_reads(node) == 0) continue;
    // No reference is left: another thread is about to free the node, so it need not run.
    if (!tsri_value_retain_living(&node->value)) continue;
    list_readers_of_inputs(node, out);
    tsri_garbage_add(garbage, &node->value);
  }
  return true;
}

uint32_t tsri_readers_first(const tsri_node *node) { return node->op == &tsri_op_assign ? node->first_reader : 0; }
