// SPDX-License-Identifier: MIT
// scatter_add of f32, f16 and bf16 along the last axis, by sums that do not depend on the order of additions (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_EXACT_H
#define TSRI_OPS_SCATTER_EXACT_H

#include "ops/scatter_call.h"

// Whether these kernels can compute the scatter: sums of floats along the last axis.
bool tsri_scatter_is_exact(const tsri_scatter *s, const tsri_scatter_sizes *z);

// How many targets a work-group has room for in shared memory: a power of two, or 0 if there are too few.
int64_t tsri_scatter_exact_range(const tsr_device *device);

// The parameter `room` of the kernels, for rows of n source elements.
int64_t tsri_scatter_exact_room(int64_t n);

// How the work is divided among work-groups of `group` items, which load `each` indices at a time: `range` targets of a row, or `per` whole rows, for each
// work-group. is_binned: elements are first sorted into `ranges` bins, so that a work-group reads only elements of its targets.
typedef struct tsri_exact_cut {
  int64_t range, ranges, per;
  int group, each;
  bool is_binned;
} tsri_exact_cut;

// Chooses the division. False: tsri_scatter_is_exact is false, or there are too many targets, or too few targets for so many elements.
bool tsri_scatter_exact_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_exact_cut *out);

tsr_status tsri_scatter_exact_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_exact_cut *cut);

#endif
