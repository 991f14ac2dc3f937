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

// --- Names that are known -----------------------------------------------------------------------------------------------

// What the texts and the operations of a fusion follow from: its operators, the dtype and the shape of its result, and the shapes that its operators read.
static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

static uint64_t mix_shape(uint64_t hash, const tsr_shape *shape) {
  hash = mix(hash, (uint64_t)shape->rank);
  for (int i = 0; i < shape->rank; i++) hash = mix(hash, (uint64_t)shape->dims[i]);
  return hash;
}

static uint64_t hash_of(const tsri_node *const *nodes, uint32_t count) {
  const tsri_node *root = nodes[count - 1];
  uint64_t hash = mix_shape(mix(count, (uint64_t)root->dtype), &root->shape);
  for (uint32_t i = 0; i < count; i++) {
    hash = mix(hash, (uint64_t)(uintptr_t)nodes[i]->op);
    if (nodes[i]->op->kind == TSRI_OP_ELEMENTWISE) continue;  // it reads as many elements as it writes
    for (uint32_t k = 0; k < nodes[i]->input_count; k++) hash = mix_shape(hash, &nodes[i]->inputs[k].layout.shape);
  }
  return hash | 1;
}

// Fusions that were described before, by hash: making the texts anew takes longer than a launch. A direct-mapped table; hash 0: the place is free.
struct tsri_known_texts {
  struct tsri_known_fusion {
    uint64_t hash, operations;
    uint32_t operators, result;
  } places[1024];
};

static uint64_t count_operations(const tsri_node *const *nodes, uint32_t count) {
  uint64_t operations = 0;
  for (uint32_t i = 0; i < count; i++) operations += tsri_node_operations(nodes[i]);
  return operations;
}

static void make_texts(const tsri_node *const *nodes, uint32_t count, uint32_t *out_operators, uint32_t *out_result) {
  names list = {.bytes = 0};
  const tsri_node *root = nodes[count - 1];
  for (uint32_t i = 0; i < count; i++) add_name(&list, nodes[i]->op->name);
  char result[TSR_SHAPE_TEXT_BYTES + 16], shape[TSR_SHAPE_TEXT_BYTES];
  snprintf(result, sizeof result, "%s %s", tsr_dtype_name(root->dtype),
           tsr_shape_format(root->shape, shape, sizeof shape));
  *out_operators = tsri_profile_intern(list.text);
  *out_result = tsri_profile_intern(result);
}

// Describes nodes in the order in which they are computed. Called with the graph's lock held.
static void describe(const tsri_node *const *nodes, uint32_t count, tsri_profile_context *out) {
  tsri_graph_state *state = tsri_graph_of(nodes[0]->value.device);
  if (!state->known_texts) state->known_texts = tsri_calloc(1, sizeof *state->known_texts);
  uint64_t hash = hash_of(nodes, count);
  struct tsri_known_fusion none = {0}, *known = state->known_texts ? &state->known_texts->places[hash >> 54] : &none;
  _Static_assert(sizeof state->known_texts->places / sizeof state->known_texts->places[0] == 1 << 10, "ten bits");
  if (known->hash != hash) {
    known->hash = hash;
    known->operations = count_operations(nodes, count);
    make_texts(nodes, count, &known->operators, &known->result);
  }
  *out = (tsri_profile_context){known->operators, known->result, nodes[count - 1]->label, known->operations};
  for (uint32_t i = 0; i < count && out->label == 0; i++) out->label = nodes[i]->label;
}

void tsri_profile_fusion(const tsri_plan *plan, const tsri_fusion *fusion, tsri_profile_context *out) {
  const tsri_node *nodes[TSRI_MAX_FUSION_NODES] = {NULL};
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    nodes[i] = plan->nodes[plan->members[fusion->first + i]].node;
  }
  describe(nodes, fusion->node_count, out);
}

// The form lists the root first.
void tsri_profile_repeat(const tsri_repeat_form *form, tsri_profile_context *out) {
  const tsri_node *nodes[TSRI_REPEAT_NODES] = {NULL};
  for (uint32_t i = 0; i < form->node_count; i++) nodes[i] = form->nodes[form->node_count - 1 - i];
  describe(nodes, form->node_count, out);
}
