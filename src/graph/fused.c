// SPDX-License-Identifier: MIT
// Finds the leaves of a fusion and joins its axes.
#include "graph/fused.h"

#include "core/error.h"
#include "graph/compose.h"

static bool is_inside(const tsri_fused *fused, const tsri_value *value) {
  uint32_t number = tsri_plan_number(fused->plan, value);
  return number != TSRI_NONE && fused->plan->nodes[number].fusion == (uint32_t)(fused->fusion - fused->plan->fusions);
}

static const tsri_value *value_of(const tsri_fused *fused, const tsri_value *value) {
  uint32_t number = tsri_plan_number(fused->plan, value);
  return number == TSRI_NONE ? value : &fused->plan->nodes[number].node->value;
}

static tsri_leaf make_leaf(const tsri_fused *fused, const tsri_planned *planned, uint32_t index) {
  const tsri_input *input = &planned->node->inputs[index];
  tsri_leaf leaf = {.value = value_of(fused, input->value), .dtype = input->dtype, .space = planned->space};
  if (planned->node == fused->heavy) leaf.space = TSRI_INNER;               // the input of the reduction itself
  (void)tsri_plan_input_layout(fused->plan, planned, index, &leaf.layout);  // cannot fail: the planner has checked it
  return leaf;
}

// Whether two leaves read the same memory. A value and all assignments to it have one buffer.
static bool has_same_memory(const tsri_leaf *a, const tsri_leaf *b) {
  const tsr_buffer *buffer = tsri_value_buffer(a->value);
  return a->value == b->value || (buffer && buffer == tsri_value_buffer(b->value));
}

static uint32_t find_leaf(const tsri_fused *fused, const tsri_leaf *leaf) {
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    const tsri_leaf *known = &fused->leaves[i];
    bool is_same = has_same_memory(known, leaf) && known->space == leaf->space && known->dtype == leaf->dtype;
    if (is_same && tsri_layout_equal(&known->layout, &leaf->layout)) return i;
  }
  return TSRI_NONE;
}

uint32_t tsri_fused_place(const tsri_fused *fused, uint32_t number) {
  const uint32_t *members = fused->plan->members + fused->fusion->first;
  uint32_t place = 0;
  while (members[place] != number) place++;
  return place;
}

static tsr_status add_leaves(tsri_fused *fused, uint32_t place) {
  const tsri_planned *planned = &fused->plan->nodes[fused->plan->members[fused->fusion->first + place]];
  if (planned->node->op->kind == TSRI_OP_KERNEL) return TSR_OK;  // op->run binds its own inputs
  for (uint32_t i = 0; i < planned->node->input_count; i++) {
    fused->leaf_of[place][i] = UINT8_MAX;
    if (is_inside(fused, planned->node->inputs[i].value)) continue;
    tsri_leaf leaf = make_leaf(fused, planned, i);
    uint32_t number = find_leaf(fused, &leaf);
    if (number == TSRI_NONE && fused->leaf_count == TSRI_MAX_LEAVES) {
      return TSRI_FAIL(TSR_ERR_INTERNAL, "a kernel for %s would read more than %d buffers", fused->root->op->name,
                       TSRI_MAX_LEAVES);
    }
    if (number == TSRI_NONE) {
      number = fused->leaf_count++;
      fused->leaves[number] = leaf;
    }
    fused->leaf_of[place][i] = (uint8_t)number;
  }
  return TSR_OK;
}

// Adds an axis to the extent. Joins it to the previous axis if that gives the same addresses for every leaf of the
// space.
static void add_axis(const tsri_fused *fused, tsri_extent *extent, tsri_space space, int axis, int64_t size) {
  if (size == 1) return;
  int last = extent->rank - 1;
  bool joins = last >= 0;
  for (uint32_t i = 0; i < fused->leaf_count && joins; i++) {
    if (fused->leaves[i].space != space) continue;
    joins = extent->strides[i][last] == fused->leaves[i].layout.strides[axis] * size;
  }
  int at = joins ? last : extent->rank++;
  extent->dims[at] = joins ? extent->dims[at] * size : size;
  for (uint32_t i = 0; i < fused->leaf_count; i++) {
    extent->strides[i][at] = fused->leaves[i].space == space ? fused->leaves[i].layout.strides[axis] : 0;
  }
}

void tsri_fused_measure(tsri_fused *fused) {
  fused->kept.rank = fused->reduced.rank = 0;
  bool reduces = fused->heavy && fused->heavy->op->kind == TSRI_OP_REDUCE;
  tsri_space space = reduces ? TSRI_INNER : TSRI_OUTER;
  tsr_shape shape = reduces ? fused->heavy->inputs[0].layout.shape : fused->root->shape;
  uint32_t axes = reduces ? fused->heavy->axes : 0;
  fused->kept.count = fused->reduced.count = 1;
  for (int i = 0; i < shape.rank; i++) {
    tsri_extent *extent = axes >> i & 1u ? &fused->reduced : &fused->kept;
    extent->count *= shape.dims[i];
    add_axis(fused, extent, space, i, shape.dims[i]);
  }
}

tsr_status tsri_fused_init(const tsri_plan *plan, const tsri_fusion *fusion, tsri_fused *out_fused) {
  out_fused->plan = plan;
  out_fused->fusion = fusion;
  out_fused->root = plan->nodes[fusion->root].node;
  out_fused->heavy = fusion->heavy != TSRI_NONE ? plan->nodes[fusion->heavy].node : NULL;
  out_fused->leaf_count = 0;
  for (uint32_t i = 0; i < fusion->node_count; i++) {
    tsr_status status = add_leaves(out_fused, i);
    if (status != TSR_OK) return status;
  }
  tsri_fused_measure(out_fused);
  return TSR_OK;
}
