// SPDX-License-Identifier: MIT
// Matrix products with few tiles and long sums: several work-groups share the sums of a tile, each for a part of k (split-k), and a second launch adds up their
// results. Not part of the browser module (matmul_split_wasm.c).
#ifndef TSRI_OPS_MATMUL_SPLIT_H
#define TSRI_OPS_MATMUL_SPLIT_H

#include "ops/call.h"

typedef struct tsri_matmul_split {
  int64_t parts;  // 1: sums are not split
  int64_t depth;  // products in a part of a sum, a multiple of `unit`; the last part may have fewer
} tsri_matmul_split;

// Whether the sums of such a product can be split.
bool tsri_matmul_can_split(const tsri_product_op *p, tsr_dtype dtype);

// Chooses the parts for a product that takes `items` work items in all, whose kernel takes `unit` products of a sum at a time. `busy_share`: how many items
// keep the device busy, as a factor of what the tuning says.
tsri_matmul_split tsri_matmul_split_choose(const tsr_device *device, const tsri_product_op *p, tsr_dtype dtype,
                                           int64_t items, int unit, double busy_share);

// Describes the partial products as a batch: the outer batch axis counts the parts. The description's k is still the complete k.
tsri_product_op tsri_matmul_split_product(const tsri_product_op *p, const tsri_matmul_split *split);

// Adds up the parts in `sums`, which have the accumulator's dtype, applies the run's epilogue, and stores the result of the run.
tsr_status tsri_matmul_split_join(const tsri_kernel_run *run, const tsri_product_op *p, int64_t parts,
                                  tsr_buffer *sums);

#endif
