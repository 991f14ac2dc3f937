// SPDX-License-Identifier: MIT
// Describes fusions for the profiler.
#include "graph/profiled.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "graph/node.h"

// Names of operators, separated by blanks. A text that would become too long ends with an ellipsis.
typedef struct names {
  char text[512];
  size_t bytes;
} names;

static void add_name(names *list, const char *name) {
  size_t bytes = strlen(name);
  if (list->bytes + bytes + sizeof " ..." > sizeof list->text) {
    if (list->bytes > 0 && list->text[list->bytes - 1] != '.') {
      memcpy(list->text + list->bytes, "...", sizeof "...");
      list->bytes += 3;
    }
    return;
  }
  if (list->bytes > 0) list->text[list->bytes++] = ' ';
  memcpy(list->text + list->bytes, name, bytes + 1);
  list->bytes += bytes;
}

uint64_t tsri_node_operations(const tsri_node *node) {
  if (node->op->kind == TSRI_OP_ELEMENTWISE) return node->op == &tsri_op_copy ? 0 : (uint64_t)node->count;
  if (node->op->kind == TSRI_OP_REDUCE) return (uint64_t)node->inputs[0].layout.count;
  tsri_native_op op;
  if (!node->op->describe || !node->op->describe(node, &op)) return 0;
  return tsri_native_op_cost(&op).operations;
}

// The nodes to describe, in the order in which they are computed: the members of a fusion, or the nodes of a form (repeat.h), which lists the root first.
typedef struct profiled_nodes {
  const tsri_planned *planned;  // NULL: a form
  const uint32_t *members;
  const tsri_node *heavy;  // of a fusion, the one that is not element-wise; NULL: there is none
  const tsri_node *const *reversed;
  uint32_t count;
} profiled_nodes;

static const tsri_node *node_at(const profiled_nodes *nodes, uint32_t i) {
  return nodes->planned ? nodes->planned[nodes->members[i]].node : nodes->reversed[nodes->count - 1 - i];
}

// Whether the node is element-wise. For the members of a fusion this does not read the operator's record, which is
// seldom in the CPU's cache.
static bool is_elementwise(const profiled_nodes *nodes, const tsri_node *node) {
  return nodes->planned ? node != nodes->heavy : node->op->kind == TSRI_OP_ELEMENTWISE;
}

static const tsri_node *root_of(const profiled_nodes *nodes) { return node_at(nodes, nodes->count - 1); }

// --- Known descriptions -----------------------------------------------------------------------------------------------

// A hash of all that a fusion's texts and its number of operations depend on: its operators, the dtype and the shape of
// its result, and the shapes that its operators read. Each word is multiplied by a different factor, and the products are
// added. The products do not depend on each other, so the CPU computes several at a time.
typedef struct fusion_sum {
  uint64_t sum, factor;
} fusion_sum;

static inline void add_word(fusion_sum *hash, uint64_t word) {
  hash->sum += (word ^ word >> 32) * hash->factor;
  hash->factor += UINT64_C(0x9E3779B97F4A7C16);  // even, so that all factors are odd
}

static inline void add_shape(fusion_sum *hash, const tsr_shape *shape) {
  add_word(hash, (uint64_t)shape->rank);
  for (int i = 0; i < shape->rank; i++) add_word(hash, (uint64_t)shape->dims[i]);
}

static uint64_t hash_of(const profiled_nodes *nodes) {
  const tsri_node *root = root_of(nodes);
  fusion_sum hash = {nodes->count, UINT64_C(0xBF58476D1CE4E5B9)};
  add_word(&hash, (uint64_t)root->dtype);
  add_shape(&hash, &root->shape);
  for (uint32_t i = 0; i < nodes->count; i++) {
    const tsri_node *node = node_at(nodes, i);
    add_word(&hash, (uint64_t)(uintptr_t)node->op);
    if (is_elementwise(nodes, node)) continue;  // it reads as many elements as it writes
    for (uint32_t k = 0; k < node->input_count; k++) add_shape(&hash, &node->inputs[k].layout.shape);
  }
  uint64_t mixed = (hash.sum ^ hash.sum >> 29) * UINT64_C(0x9FB21C651E98DF25);
  return (mixed ^ mixed >> 32) | 1;
}

// A cache of descriptions, because writing the texts of a fusion takes longer than a launch. It is two-way set-associative; a pair is within one cache line.
enum { PAIRS = 1024 };
struct tsri_known_texts {
  struct known_fusion {
    uint64_t hash;  // 0: the place is free
    uint64_t operations;
    uint32_t operators, result;
    uint64_t unused;  // pads the entry to 32 bytes, so that no pair spans two cache lines
  } pairs[PAIRS][2];
};

static uint64_t count_operations(const profiled_nodes *nodes) {
  uint64_t operations = 0;
  for (uint32_t i = 0; i < nodes->count; i++) operations += tsri_node_operations(node_at(nodes, i));
  return operations;
}

static struct known_fusion make_known(const profiled_nodes *nodes) {
  names list = {.bytes = 0};
  const tsri_node *root = root_of(nodes);
  for (uint32_t i = 0; i < nodes->count; i++) add_name(&list, node_at(nodes, i)->op->name);
  char result[TSR_SHAPE_TEXT_BYTES + 16], shape[TSR_SHAPE_TEXT_BYTES];
  snprintf(result, sizeof result, "%s %s", tsr_dtype_name(root->dtype),
           tsr_shape_format(root->shape, shape, sizeof shape));
  return (struct known_fusion){.operations = count_operations(nodes),
                               .operators = tsri_profile_intern(list.text),
                               .result = tsri_profile_intern(result)};
}

// The description of the fusion, from the cache or made anew. A description that was the second of its pair, or is new, becomes the first; the one that was
// first becomes the second.
static struct known_fusion find_known(tsri_graph_state *state, const profiled_nodes *nodes) {
  if (!state->known_texts) state->known_texts = tsri_calloc(1, sizeof *state->known_texts);
  if (!state->known_texts) return make_known(nodes);
  uint64_t hash = hash_of(nodes);
  struct known_fusion *pair = state->known_texts->pairs[(hash >> 1) % PAIRS];
  if (pair[0].hash == hash) return pair[0];
  struct known_fusion found = pair[1];
  if (found.hash != hash) found = make_known(nodes);
  found.hash = hash;
  pair[1] = pair[0];
  pair[0] = found;
  return found;
}

// Sets `*out` to the description of the nodes. Call with the graph's lock held.
static void describe(const profiled_nodes *nodes, tsri_profile_context *out) {
  const tsri_node *root = root_of(nodes);
  struct known_fusion known = find_known(tsri_graph_of(root->value.device), nodes);
  *out = (tsri_profile_context){known.operators, known.result, root->label, known.operations};
  if (!tsri_profile_has_labels()) return;
  for (uint32_t i = 0; i < nodes->count && out->label == 0; i++) out->label = node_at(nodes, i)->label;
}

void tsri_profile_fusion(const tsri_plan *plan, const tsri_fusion *fusion, tsri_profile_context *out) {
  describe(&(profiled_nodes){.planned = plan->nodes,
                             .members = &plan->members[fusion->first],
                             .heavy = fusion->heavy == TSRI_NONE ? NULL : plan->nodes[fusion->heavy].node,
                             .count = fusion->node_count},
           out);
}

void tsri_profile_repeat(const tsri_repeat_form *form, tsri_profile_context *out) {
  describe(&(profiled_nodes){.reversed = form->nodes, .count = form->node_count}, out);
}
