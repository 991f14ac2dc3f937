// SPDX-License-Identifier: MIT
// The first elements of sorted rows together with their indices, for topk.
#ifndef TSRI_OPS_FIRST_H
#define TSRI_OPS_FIRST_H

#include "graph/graph.h"

// The operator that tsri_first_of_rows records, and how it runs.
extern const tsri_op tsri_op_first;
tsr_status tsri_run_first(const tsri_kernel_run *run);

// Records the first `keep` elements of each sorted row of x, a contiguous tensor whose last axis has the rows, and their indices, as two results of one operator.
// `keep` is such that tsri_sort_rows finds them. False: the device has no kernels that give both, or x is a failed tensor.
bool tsri_first_of_rows(tsr_tensor *x, bool is_descending, int64_t keep, tsr_tensor *out_results[2]);

#endif
