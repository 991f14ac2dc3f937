// SPDX-License-Identifier: MIT
// Chooses how kernels/op_product.tk divides a product into tiles, for devices with matrix units.
#ifndef TSRI_OPS_FRAGMENT_TILE_H
#define TSRI_OPS_FRAGMENT_TILE_H

#include "backends/backend.h"
#include "runtime/device.h"

// A tile; the kernel's parameters have the same names.
typedef struct tsri_fragment_tile {
  tsr_fragment_size fragment;
  int pieces;  // how many numbers of the fragment's dtype hold an element: 2 for f32, which is split into two bf16, else 1
  int part_m, part_n;         // of a subgroup
  int tile_m, tile_n, depth;  // of a group
  int subgroup_size;
  bool a_by_columns, b_by_columns;
} tsri_fragment_tile;

int tsri_fragment_tile_items(const tsri_fragment_tile *tile);            // of a group
size_t tsri_fragment_tile_shared_bytes(const tsri_fragment_tile *tile);  // of shared memory

// Elements that an item moves at once: four words of them.
int tsri_fragment_tile_run(const tsri_fragment_tile *tile);

// Chooses the tile with the least estimated time, from the device's matrix units, subgroups, shared memory and cores. False: it has no matrix units for the
// dtype, or the product is too small for them. f32 is multiplied as bf16 where the device may round it to TF32.
bool tsri_fragment_tile_choose(const tsr_device *device, const tsri_product_op *product, tsr_dtype dtype,
                               tsri_fragment_tile *out_tile);

#endif
