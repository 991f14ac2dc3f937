// SPDX-License-Identifier: MIT
// A fusion prepared for code generation: its leaves (the buffers it reads), and its index spaces, with axes joined
// where strides allow.
#ifndef TSRI_FUSED_H
#define TSRI_FUSED_H

#include "graph/plan.h"

// A buffer that the kernel reads, and the view of it.
typedef struct tsri_leaf {
  const tsri_value *value;
  tsri_layout layout;  // over the shape of its index space
  tsr_dtype dtype;
  tsri_space space;
} tsri_leaf;

// An index space after joining axes. strides[i][axis] is the step of leaf i along an axis.
typedef struct tsri_extent {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  int64_t strides[TSRI_MAX_LEAVES][TSR_MAX_RANK];
  int64_t count;
} tsri_extent;

typedef struct tsri_fused {
  const tsri_plan *plan;
  const tsri_fusion *fusion;
  const tsri_node *root;
  const tsri_node *heavy;  // the fusion's reduction, or its operator whose kernel has hooks; NULL: it has neither
  uint32_t leaf_count;
  tsri_leaf leaves[TSRI_MAX_LEAVES];
  // leaf_of[place][input]: the leaf that input `input` of member `place` of the fusion reads. UINT8_MAX: another member computes that input. Read it by
  // tsri_fused_leaf.
  uint8_t leaf_of[TSRI_MAX_FUSION_NODES][TSRI_MAX_LEAVES];
  // Without a reduction, `kept` has the root's axes and `reduced` has none. With a reduction, they have the kept and the reduced axes of its input, and the
  // strides of the leaves in TSRI_INNER.
  tsri_extent kept, reduced;
} tsri_fused;

// Errors: TSR_ERR_INTERNAL (more leaves than the planner allows).
tsr_status tsri_fused_init(const tsri_plan *plan, const tsri_fusion *fusion, tsri_fused *out_fused);

// Recomputes the extents after the leaves' layouts have changed.
void tsri_fused_measure(tsri_fused *fused);

// The index among the fusion's members of node `number` of the plan.
uint32_t tsri_fused_place(const tsri_fused *fused, uint32_t number);

// The leaf that input `index` of the member at `place` reads, or TSRI_NONE if the fusion computes that input.
static inline uint32_t tsri_fused_leaf(const tsri_fused *fused, uint32_t place, uint32_t index) {
  uint8_t leaf = fused->leaf_of[place][index];
  return leaf == UINT8_MAX ? TSRI_NONE : leaf;
}

#endif
