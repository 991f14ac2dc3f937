// SPDX-License-Identifier: MIT
// Scatters along rows whose targets fit in shared memory, where atomics find the result whatever their order: the largest or smallest floats, and the last of the
// elements that replace another (scatter_words of kernels/op_scatter.tk).
#ifndef TSRI_OPS_SCATTER_WORDS_H
#define TSRI_OPS_SCATTER_WORDS_H

#include "ops/scatter_call.h"

// A team of `team` work items has a row, and room for `range` targets.
typedef struct tsri_words_cut {
  int64_t range;
  int team;
} tsri_words_cut;

// Chooses the sizes. False: the rows are too long or too few, or not of such a scatter.
bool tsri_scatter_words_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_words_cut *out);

tsr_status tsri_scatter_words_run(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                  const tsri_words_cut *cut);

#endif
