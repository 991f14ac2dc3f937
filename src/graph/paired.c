// SPDX-License-Identifier: MIT
// Finds pairs, and runs them.
#include "graph/paired.h"

#include "core/log.h"
#include "graph/chain.h"
#include "runtime/native_op.h"

// The number of the node at which a fusion runs (tsri_plan.fusions).
static uint32_t due_of(const tsri_fusion *fusion) {
  return fusion->assignment != TSRI_NONE ? fusion->assignment : fusion->root;
}

static bool run_together(const tsri_node *a, const tsri_node *b) {
  return a->tape == b->tape && a->track == b->track && a->pass == b->pass;
}

// --- A product, and element-wise nodes that read it -------------------------------------------------------------------

static bool match_chained(const tsri_plan *plan, const tsri_fusion *product, const tsri_fusion *chained,
                          tsri_matched *out) {
  const tsri_node *root = plan->nodes[product->root].node;
  return tsri_native_match(plan, product, out) && out->op.result == root->dtype &&
         !(out->op.parts & TSRI_PRODUCT_CHAIN) && tsri_chain_match(plan, chained, &root->value, out);
}

// Whether everything that the fusion reads, except the result of `before`, has been computed when `before` runs.
static bool can_run_with(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_fusion *before) {
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    const tsri_planned *planned = &plan->nodes[plan->members[fusion->first + i]];
    for (uint32_t j = 0; j < planned->node->input_count; j++) {
      uint32_t number_of = tsri_plan_number(plan, planned->node->inputs[j].value);
      if (number_of == TSRI_NONE || plan->nodes[number_of].fusion == planned->fusion) continue;
      const tsri_fusion *from = &plan->fusions[plan->nodes[number_of].fusion];
      if (from != before && due_of(from) > before->root) return false;
    }
  }
  return run_together(plan->nodes[fusion->root].node, plan->nodes[before->root].node);
}

// The last fusion with a native operator whose result this element-wise fusion reads; NULL: there is none.
static tsri_fusion *heavy_before(tsri_plan *plan, const tsri_fusion *fusion) {
  tsri_fusion *last = NULL;
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    const tsri_node *node = plan->nodes[plan->members[fusion->first + i]].node;
    for (uint32_t j = 0; j < node->input_count; j++) {
      uint32_t number_of = tsri_plan_number(plan, node->inputs[j].value);
      tsri_fusion *from = number_of == TSRI_NONE ? NULL : &plan->fusions[plan->nodes[number_of].fusion];
      bool is_heavy = from && from != fusion && from->root == number_of && from->heavy != TSRI_NONE;
      if (!is_heavy || !plan->nodes[from->heavy].node->op->describe) continue;
      if (!last || from->root > last->root) last = from;
    }
  }
  return last;
}

static void find_chained(tsri_plan *plan, uint32_t number) {
  const tsri_fusion *fusion = &plan->fusions[number];
  if (fusion->assignment != TSRI_NONE || plan->nodes[fusion->root].node->op->kind != TSRI_OP_ELEMENTWISE) return;
  tsri_fusion *before = heavy_before(plan, fusion);
  tsri_matched match;
  if (!before || before->paired != TSRI_NONE || before->assignment != TSRI_NONE) return;
  if (can_run_with(plan, fusion, before) && match_chained(plan, before, fusion, &match)) before->paired = number;
}

// --- A product, and the sum of its rows ---------------------------------------------------------------------------------

// Whether the node sums contiguous f32 elements over all axes but the last: p->k rows of p->m elements.
static bool sums_rows(const tsri_node *node, const tsri_product_op *p) {
  const tsri_input *input = &node->inputs[0];
  const tsri_layout *layout = &input->layout;
  int last = layout->shape.rank - 1;
  bool is_f32 = node->dtype == TSR_F32 && input->dtype == TSR_F32 && input->as == TSR_F32;
  if (node->op->reduce != TSRI_REDUCE_SUM || !is_f32 || last < 0 || layout->shape.dims[last] != p->m) return false;
  for (int i = 0; i <= last; i++) {
    bool is_reduced = (node->axes >> i & 1u) != 0;
    if (layout->shape.dims[i] > 1 && is_reduced != (i < last)) return false;
  }
  return tsri_layout_is_contiguous(layout) && layout->count == p->m * p->k;
}

// Matches a product and the sum of the rows of its first operand.
static bool match_sum(const tsri_plan *plan, const tsri_fusion *product, const tsri_fusion *sum, tsri_matched *out) {
  const tsri_node *node = plan->nodes[sum->root].node;
  if (!tsri_native_match(plan, product, out) || out->op.kind != TSRI_NATIVE_PRODUCT) return false;
  const tsri_product_op *p = &out->op.is.product;
  uint32_t number = tsri_plan_number(plan, node->inputs[0].value);
  const tsri_value *summed = number == TSRI_NONE ? node->inputs[0].value : &plan->nodes[number].node->value;
  bool is_turned = p->batch_rank == 0 && p->a.row == 1 && p->a.column == p->m;
  bool is_same = out->values[0] == summed && p->a.at.offset == (size_t)node->inputs[0].layout.offset * sizeof(float);
  if (out->op.dtype != TSR_F32 || !is_turned || !is_same || !sums_rows(node, p)) return false;
  out->op.parts |= TSRI_PRODUCT_ROW_SUMS;
  return tsri_device_takes(node->value.device, &out->op);
}

static void find_sum(tsri_plan *plan, uint32_t number) {
  const tsri_fusion *sum = &plan->fusions[number];
  if (sum->node_count != 1 || sum->root == 0) return;
  // The sum must come directly after the product in the plan: running it with the product then changes the order of no other node.
  const tsri_node *node = plan->nodes[sum->root].node, *before = plan->nodes[sum->root - 1].node;
  tsri_fusion *product = &plan->fusions[plan->nodes[sum->root - 1].fusion];
  bool is_next = due_of(product) == sum->root - 1 && due_of(sum) <= sum->root + 1;
  bool is_free = product->paired == TSRI_NONE && product->heavy == product->root;
  tsri_matched match;
  if (is_next && is_free && run_together(before, node) && match_sum(plan, product, sum, &match))
    product->paired = number;
}

// --- Interface ------------------------------------------------------------------------------------------------------------

void tsri_paired_find(tsri_plan *plan) {
  const tsr_device *device = plan->node_count ? plan->nodes[0].node->value.device : NULL;
  // The kernel that computes a product in a pair may differ from the one for the product alone, and add in another order.
  if (!device || device->is_deterministic) return;
  bool has_chains = tsri_native_offers(device, TSRI_PRODUCT_CHAIN);
  bool has_sums = tsri_native_offers(device, TSRI_PRODUCT_ROW_SUMS);
  for (uint32_t i = 0; i < plan->fusion_count && (has_chains || has_sums); i++) {
    const tsri_fusion *fusion = &plan->fusions[i];
    bool is_sum = fusion->heavy != TSRI_NONE && plan->nodes[fusion->heavy].node->op->kind == TSRI_OP_REDUCE;
    if (fusion->heavy == TSRI_NONE && has_chains) find_chained(plan, i);
    else if (is_sum && has_sums) find_sum(plan, i);
  }
}

tsr_status tsri_paired_run(const tsri_plan *plan, const tsri_fusion *product, const tsri_output *output,
                           const tsri_output *other) {
  const tsri_fusion *paired = &plan->fusions[product->paired];
  bool is_chained = paired->heavy == TSRI_NONE;
  tsri_matched match;
  bool is_matched =
      is_chained ? match_chained(plan, product, paired, &match) : match_sum(plan, product, paired, &match);
  if (!is_matched) return TSR_ERR_UNSUPPORTED;
  tsri_log(TSR_LOG_PLAN, "a product, and %s in the same launch", plan->nodes[paired->root].node->op->name);
  // The first result of a product with a chain is that of the chain; the product itself is its second result.
  return tsri_native_run(output->buffer->device, &match, is_chained ? other : output, is_chained ? output : other);
}
