// SPDX-License-Identifier: MIT
// scatter_add, scatter_mul, scatter_max and scatter_min along an axis with few targets, or along short rows: each work item joins the elements of a line along the
// axis by itself, in order (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_LINES_H
#define TSRI_OPS_SCATTER_LINES_H

#include "ops/scatter_call.h"

// How lines are divided among work items, in work-groups of `group` items: `ranges` ranges of a line's targets, of which an item has one and room for `range`
// targets; `parts` parts of `length` of its source elements. is_row: the axis is the last one.
typedef struct tsri_lines_cut {
  int64_t range, ranges, parts, length;
  int group, each;  // each: elements that an item reads at once
  bool is_row;
} tsri_lines_cut;

// Chooses the division. False: there are too many targets, or another kernel of kernels/op_scatter.tk is expected to be faster.
bool tsri_scatter_lines_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_lines_cut *out);

tsr_status tsri_scatter_lines_run(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                  const tsri_lines_cut *cut);

#endif
