// SPDX-License-Identifier: MIT
// scatter_add of many elements to few targets along the last axis: work-groups sum parts of a row, and a second launch adds their sums. The sums are as in
// scatter_exact.h, independent of the order (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_PARTS_H
#define TSRI_OPS_SCATTER_PARTS_H

#include "ops/scatter_call.h"

// `parts` parts of `length` elements in each row. A work-group has room for `range` targets, with `copies` copies of each.
typedef struct tsri_parts_cut {
  int64_t parts, length, range, copies;
} tsri_parts_cut;

// Chooses the division. False: the dtype, the operation or the axis is not supported, there are too many targets for a work-group, or too few elements.
bool tsri_scatter_parts_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_parts_cut *out);

tsr_status tsri_scatter_parts_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_parts_cut *cut);

#endif
