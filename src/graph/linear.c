// SPDX-License-Identifier: MIT
#include "graph/linear.h"

#include <string.h>

#include "graph/compose.h"

static bool reads(const tsri_plan *plan, const tsri_node *node, uint32_t index, uint32_t from) {
  return tsri_plan_number(plan, node->inputs[index].value) == from &&
         tsri_layout_is_identity(&node->inputs[index].layout, node->count);
}

static bool is_named(const tsri_node *node, const char *name) { return strcmp(node->op->name, name) == 0; }

// The addition of a bias to what node `from` computes.
static bool add_bias(const tsri_plan *plan, const tsri_planned *planned, uint32_t from, tsri_linear *out) {
  const tsri_node *node = planned->node;
  if (out->has_bias || out->activation != TSRI_ACTIVATION_NONE || !is_named(node, "add")) return false;
  uint32_t other = reads(plan, node, 0, from) ? 1 : 0;
  if (!reads(plan, node, 1 - other, from) || node->inputs[other].dtype != out->dtype) return false;
  tsri_layout layout;
  uint32_t source = tsri_plan_number(plan, node->inputs[other].value);
  bool is_outside = source == TSRI_NONE || plan->nodes[source].fusion != planned->fusion;
  if (!is_outside || !tsri_plan_input_layout(plan, planned, other, &layout)) return false;
  if (!tsri_is_along_last_axis(&layout) || !tsri_shape_equal(layout.shape, node->shape)) return false;
  out->has_bias = true;
  out->columns = node->shape.dims[node->shape.rank - 1];
  return true;
}

static bool add_activation(const tsri_plan *plan, const tsri_node *node, uint32_t from, tsri_linear *out) {
  if (out->activation != TSRI_ACTIVATION_NONE || node->input_count != 1 || !reads(plan, node, 0, from)) return false;
  if (is_named(node, "relu")) out->activation = TSRI_ACTIVATION_RELU;
  if (is_named(node, "gelu_tanh")) out->activation = TSRI_ACTIVATION_GELU_TANH;
  return out->activation != TSRI_ACTIVATION_NONE;
}

bool tsri_linear_match(const tsri_plan *plan, const tsri_fusion *fusion, tsri_linear *out) {
  uint32_t last = fusion->heavy;
  *out = (tsri_linear){.dtype = plan->nodes[last].node->dtype};
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    uint32_t number = plan->members[fusion->first + i];
    const tsri_planned *planned = &plan->nodes[number];
    if (number == fusion->heavy) continue;
    if (planned->space != TSRI_OUTER || planned->node->dtype != out->dtype) return false;
    if (!add_bias(plan, planned, last, out) && !add_activation(plan, planned->node, last, out)) return false;
    last = number;
  }
  return last == fusion->root && last != fusion->heavy;
}
