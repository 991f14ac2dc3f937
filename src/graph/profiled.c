// SPDX-License-Identifier: MIT
// Describes fusions for the profiler.
#include "graph/profiled.h"

#include <stdio.h>
#include <string.h>

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

static void add_node(const tsri_node *node, names *list, tsri_profile_context *out) {
  add_name(list, node->op->name);
  out->operations += tsri_node_operations(node);
  if (out->label == 0) out->label = node->label;
}

static void finish(const names *list, const tsri_node *root, tsri_profile_context *out) {
  char result[TSR_SHAPE_TEXT_BYTES + 16], shape[TSR_SHAPE_TEXT_BYTES];
  snprintf(result, sizeof result, "%s %s", tsr_dtype_name(root->dtype),
           tsr_shape_format(root->shape, shape, sizeof shape));
  out->operators = tsri_profile_intern(list->text);
  out->result = tsri_profile_intern(result);
}

void tsri_profile_fusion(const tsri_plan *plan, const tsri_fusion *fusion, tsri_profile_context *out) {
  names list = {.bytes = 0};
  *out = (tsri_profile_context){.label = plan->nodes[fusion->root].node->label};
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    add_node(plan->nodes[plan->members[fusion->first + i]].node, &list, out);
  }
  finish(&list, plan->nodes[fusion->root].node, out);
}

// The form lists the root first.
void tsri_profile_repeat(const tsri_repeat_form *form, tsri_profile_context *out) {
  names list = {.bytes = 0};
  *out = (tsri_profile_context){.label = form->nodes[0]->label};
  for (uint32_t i = form->node_count; i-- > 0;) add_node(form->nodes[i], &list, out);
  finish(&list, form->nodes[0], out);
}
