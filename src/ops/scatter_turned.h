// SPDX-License-Identifier: MIT
// scatter_add of f32, f16 and bf16 along an axis that is not the last one: indices and source are copied with that axis as the last one, and their rows are summed as in
// scatter_exact.h and scatter_parts.h (kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_TURNED_H
#define TSRI_OPS_SCATTER_TURNED_H

#include "ops/scatter_exact.h"
#include "ops/scatter_parts.h"

// The scatter of the rows of the copies.
typedef struct tsri_turned_cut {
  tsri_scatter_sizes rows;
  bool is_exact;  // by `exact`; otherwise by `parts`
  tsri_exact_cut exact;
  tsri_parts_cut parts;
  tsr_dtype key, bits;  // of the copies of indices and source
} tsri_turned_cut;

// Chooses how the rows are summed. False: neither way can do it, or each row of the source has one index, for which there is a better way.
bool tsri_scatter_turned_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_turned_cut *out);

tsr_status tsri_scatter_turned_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_turned_cut *cut);

#endif
