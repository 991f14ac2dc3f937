// SPDX-License-Identifier: MIT
// How kernels/op_product.tk cuts a product into tiles, for devices with matrix units.
#ifndef TSRI_OPS_FRAGMENT_TILE_H
#define TSRI_OPS_FRAGMENT_TILE_H

#include "backends/backend.h"
#include "runtime/device.h"

// The parameters of the kernel with these names.
typedef struct tsri_fragment_tile {
  tsr_fragment_size fragment;
  int part_m, part_n;         // of a subgroup
  int tile_m, tile_n, depth;  // of a group
  int subgroup_size;
  bool a_by_columns, b_by_columns;
} tsri_fragment_tile;

int tsri_fragment_tile_items(const tsri_fragment_tile *tile);            // of a group
size_t tsri_fragment_tile_shared_bytes(const tsri_fragment_tile *tile);  // of shared memory

// The tile with which the device takes the least time for the product, by its own figures: matrix units, subgroups, shared memory
// and cores. False: it has no units for the dtype, or the product is too small for them.
bool tsri_fragment_tile_choose(const tsr_device *device, const tsri_product_op *product, tsr_dtype dtype,
                               tsri_fragment_tile *out_tile);

#endif
