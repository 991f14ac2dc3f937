// SPDX-License-Identifier: MIT
// scatter_add of many elements to few targets along the last axis: groups share out the elements of a row, and join what each has in memory. Sums are those of
// scatter_exact.h, the same in any order (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_PARTS_H
#define TSRI_OPS_SCATTER_PARTS_H

#include "ops/scatter_call.h"

// `parts` parts of `length` elements for each row. A group has room for `range` targets, and `copies` of each of them.
typedef struct tsri_parts_cut {
  int64_t parts, length, range, copies;
} tsri_parts_cut;

// False: the dtype, the combination or the axis is another one, there are too many targets for a group, or too few elements.
bool tsri_scatter_parts_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_parts_cut *out);

tsr_status tsri_scatter_parts_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_parts_cut *cut);

#endif
