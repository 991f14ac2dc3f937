// SPDX-License-Identifier: MIT
// scatter_add of f32, f16 and bf16 along the last axis: sums that are the same in any order (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_EXACT_H
#define TSRI_OPS_SCATTER_EXACT_H

#include "ops/scatter_call.h"

// Whether sums are made in this way at all: floats along the last axis.
bool tsri_scatter_is_exact(const tsri_scatter *s, const tsri_scatter_sizes *z);

// Targets that a group has room for in shared memory: a power of two; 0: too few.
int64_t tsri_scatter_exact_range(const tsr_device *device);

// `room` of the kernels, for n elements of a row.
int64_t tsri_scatter_exact_room(int64_t n);

// How the work is shared out among work-groups of `group` items, which take `each` indices at a time: `range` targets of a row for each group, or `per` whole rows.
// is_binned: indices are put into the order of `ranges` bins first, so that a group reads only those of its own targets.
typedef struct tsri_exact_cut {
  int64_t range, ranges, per;
  int group, each;
  bool is_binned;
} tsri_exact_cut;

// False: tsri_scatter_is_exact is, or there are too many targets, or too few for so many elements.
bool tsri_scatter_exact_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_exact_cut *out);

tsr_status tsri_scatter_exact_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut);

#endif
