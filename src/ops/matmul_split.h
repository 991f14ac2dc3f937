// SPDX-License-Identifier: MIT
// Matrix products with few tiles and long sums: several work-groups share the sums of a tile, each for a part of k, and a second launch adds up
// their results. Web pages do without it (matmul_split_wasm.c).
#ifndef TSRI_OPS_MATMUL_SPLIT_H
#define TSRI_OPS_MATMUL_SPLIT_H

#include "ops/call.h"

typedef struct tsri_matmul_split {
  int64_t parts;  // 1: sums are not split
  int64_t depth;  // products of a sum that a part has, a multiple of `unit`; the last part may have fewer
} tsri_matmul_split;

// Whether the sums of such a product can be split.
bool tsri_matmul_can_split(const tsri_product_op *p, tsr_dtype dtype);

// Chooses the parts for a product that takes `items` work items in all, whose kernel goes through k in steps of `unit`. `busy_share`: how many
// items keep the device busy, as a part of those that tuning says.
tsri_matmul_split tsri_matmul_split_choose(const tsr_device *device, const tsri_product_op *p, tsr_dtype dtype,
                                           int64_t items, int unit, double busy_share);

// The product whose outer batch axis counts the parts. Its k is still the whole one.
tsri_product_op tsri_matmul_split_product(const tsri_product_op *p, const tsri_matmul_split *split);

// Adds up the parts, `sums`, which are in the accumulator's dtype, and stores the result of the run, with its epilogue.
tsr_status tsri_matmul_split_join(const tsri_kernel_run *run, const tsri_product_op *p, int64_t parts,
                                  tsr_buffer *sums);

#endif
