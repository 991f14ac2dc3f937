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

// What the texts of a fusion are made of: its operators, and the dtype and the shape of its result.
static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

static uint64_t hash_of(const tsri_node *const *nodes, uint32_t count) {
  const tsri_node *root = nodes[count - 1];
  uint64_t hash = mix(count, (uint64_t)root->dtype << 8 | (uint64_t)root->shape.rank);
  for (int i = 0; i < root->shape.rank; i++) hash = mix(hash, (uint64_t)root->shape.dims[i]);
  for (uint32_t i = 0; i < count; i++) hash = mix(hash, (uint64_t)(uintptr_t)nodes[i]->op);
  return hash | 1;
}

// Texts of fusions that were described before, by hash: making them anew takes longer than a launch. A direct-mapped table; hash 0: the place is free.
struct tsri_known_texts {
  struct {
    uint64_t hash;
    uint32_t operators, result;
  } places[1024];
};

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
  *out = (tsri_profile_context){.label = nodes[count - 1]->label};
  for (uint32_t i = 0; i < count; i++) {
    out->operations += tsri_node_operations(nodes[i]);
    if (out->label == 0) out->label = nodes[i]->label;
  }
  if (!state->known_texts) state->known_texts = tsri_calloc(1, sizeof *state->known_texts);
  if (!state->known_texts) {
    make_texts(nodes, count, &out->operators, &out->result);
    return;
  }
  uint64_t hash = hash_of(nodes, count);
  size_t at = hash >> 54;
  _Static_assert(sizeof state->known_texts->places / sizeof state->known_texts->places[0] == 1 << 10, "ten bits");
  if (state->known_texts->places[at].hash != hash) {
    state->known_texts->places[at].hash = hash;
    make_texts(nodes, count, &state->known_texts->places[at].operators, &state->known_texts->places[at].result);
  }
  out->operators = state->known_texts->places[at].operators;
  out->result = state->known_texts->places[at].result;
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
