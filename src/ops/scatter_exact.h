// SPDX-License-Identifier: MIT
// scatter_add of f32, f16 and bf16 along the last axis: sums that are the same in any order (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_EXACT_H
#define TSRI_OPS_SCATTER_EXACT_H

#include "ops/scatter_call.h"

// How the work is shared out among work-groups of `group` items, which take `each` indices at a time: `range` targets of a row for each group, or `per` whole rows.
// is_binned: indices are put into the order of `ranges` bins first, so that a group reads only those of its own targets.
typedef struct tsri_exact_cut {
  int64_t range, ranges, per;
  int group, each;
  bool is_binned;
} tsri_exact_cut;

// False: the dtype, the combination or the axis is another one, or there are too many targets.
bool tsri_scatter_exact_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_exact_cut *out);

tsr_status tsri_scatter_exact_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut);

#endif
