// SPDX-License-Identifier: MIT
// Scatters of rows that have an index each, and puts, by work-groups that own targets (scatter_owned of kernels/op_scatter.tk): one launch, which also copies x. For
// lists of some thousand indices, since every work-group reads all of them.
#ifndef TSRI_OPS_SCATTER_OWNED_H
#define TSRI_OPS_SCATTER_OWNED_H

#include "ops/scatter_call.h"

// How the work is divided: 2^owner_bits owners of blocks of 2^block_bits targets, each of which has a work-group for each of `chunks` ranges of columns.
typedef struct tsri_owned_cut {
  int64_t chunks, owned;  // owned: blocks of an owner
  int owner_bits, block_bits, position_bits;
  int held;                   // keys for which an owner has room
  int group, lanes, columns;  // a team of `lanes` work items has a row, and each of them `columns`
  int quad;                   // elements that are copied at once
  bool copies, is_quads;      // copies: the kernel copies x. is_quads: an item's columns are four neighbours
} tsri_owned_cut;

// Whether the kernel computes this scatter, or this put (TSRI_COMBINE_REPLACE), and is faster than the other ways.
bool tsri_scatter_owned_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_owned_cut *out);

tsr_status tsri_scatter_owned_run(const tsri_kernel_run *run, const tsri_scatter *s, const tsri_scatter_sizes *z,
                                  const tsri_owned_cut *cut);

#endif
