// SPDX-License-Identifier: MIT
// A fusion made ready for a kernel: what it reads, and its index spaces with as few axes as the strides allow.
#ifndef TSRI_FUSED_H
#define TSRI_FUSED_H

#include "graph/plan.h"

// Something the kernel reads.
typedef struct tsri_leaf {
  const tsri_value *value;
  tsri_layout layout;  // over the shape of its space
  tsr_dtype dtype;
  tsri_space space;
} tsri_leaf;

// An index space after joining axes: leaf i steps by strides[i][axis].
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
  const tsri_node *heavy;  // a reduction or a kernel with a hook; NULL: neither
  uint32_t leaf_count;
  tsri_leaf leaves[TSRI_MAX_LEAVES];
  uint8_t leaf_of[TSRI_MAX_FUSION_NODES]
                 [TSRI_MAX_LEAVES];  // by place in the fusion and input; 255: computed in the fusion
  // Without a reduction: `kept` is the root's shape. With one: inner leaves over kept and reduced axes.
  tsri_extent kept, reduced;
} tsri_fused;

// Errors: TSR_ERR_INTERNAL (more leaves than planned).
tsr_status tsri_fused_init(const tsri_plan *plan, const tsri_fusion *fusion, tsri_fused *out_fused);

// Works the extents out anew after leaves' layouts have changed.
void tsri_fused_measure(tsri_fused *fused);

// The place of a node among the fusion's members.
uint32_t tsri_fused_place(const tsri_fused *fused, uint32_t number);

// The number of the leaf that input `index` of the member at `place` is, or TSRI_NONE if it is computed in the fusion.
static inline uint32_t tsri_fused_leaf(const tsri_fused *fused, uint32_t place, uint32_t index) {
  uint8_t leaf = fused->leaf_of[place][index];
  return leaf == UINT8_MAX ? TSRI_NONE : leaf;
}

#endif
