// SPDX-License-Identifier: MIT
// Distances between rows in tiles, for GPUs (the second half of kernels/op_distance.tk). Pages do without: distance_tiles_wasm.c.
#ifndef TSRI_OPS_DISTANCE_TILES_H
#define TSRI_OPS_DISTANCE_TILES_H

#include "ops/call.h"

// Sizes of a launch: y is [batch, m, n], rows have k elements.
typedef struct tsri_distance_sizes {
  int64_t batch, m, n, k;
} tsri_distance_sizes;

// A tile of y (m x n) that a work-group computes, and the part of it that an item computes.
typedef struct tsri_distance_tile {
  int m, n, item_m, item_n;
} tsri_distance_tile;

// Chooses the tile for distances of this dtype. False if the kernel `distance` shall be used instead.
bool tsri_distance_choose_tile(tsr_device *device, const tsri_distance_sizes *s, tsr_dtype dtype,
                               tsri_distance_tile *out_tile);

// Launches the kernel `distance_tiles`. Inputs as those of tsri_run_distance.
tsr_status tsri_distance_launch_tiles(const tsri_kernel_run *run, const tsri_distance_sizes *s,
                                      const tsri_distance_tile *t);

// Passes what both kernels have in common (distance.c).
void tsri_distance_pass(const tsri_kernel_run *run, const tsri_distance_sizes *s, tsri_call *call);

#endif
