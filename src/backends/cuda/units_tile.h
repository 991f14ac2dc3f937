// SPDX-License-Identifier: MIT
// Private to units.c and units_group.c: how the work of a product is divided, and how its kernel is built.
#ifndef TSRI_CUDA_UNITS_TILE_H
#define TSRI_CUDA_UNITS_TILE_H

#include "backends/cuda/units.h"

enum { UNITS_DEPTH = 32 };  // elements of a strip along k

// A way to divide the work: a work-group has `down` x `across` warp groups of 128 items and computes a tile of 64 * down x `columns` elements.
// The sum over k is divided among `parts` work-groups, which form a cluster.
typedef struct units_tile {
  int down, across, columns, parts;
} units_tile;

// The kernel's arguments for one product; the same as in units.cu.
typedef struct units_arguments {
  cu_address a, b, c, bias, y;
  int64_t a_step, b_step, c_step;
  int64_t a_batch, b_batch, c_batch;
  int32_t m, n, k, activation;
  float alpha, beta;
  cu_address row_sums;
} units_arguments;

static inline int64_t units_divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline int64_t units_inner(const cuda_product *p) { return p->a.is_transposed ? p->a.rows : p->a.cols; }

// The kernel's layout: 2 * A_TURNED + B_TURNED.
static inline int units_layout(const cuda_product *p) { return 2 * !!p->b.is_transposed + !p->a.is_transposed; }

static inline int units_rows(const units_tile *tile) { return 64 * tile->down; }

static inline int units_items(const units_tile *tile) { return 128 * tile->down * tile->across; }

// Whether the items hold their elements of a in registers (units.cu).
static inline bool units_is_held(const units_tile *tile) { return tile->parts > 1 && tile->columns == 64; }

// The number of tiles of one product of the batch.
static inline int64_t units_tile_count(const units_tile *tile, const cuda_product *p) {
  return units_divided(p->d.rows, tile->columns) * units_divided(p->d.cols, units_rows(tile));
}

// Estimates the cycles that `tile_count` tiles of sums over `inner` elements take. The constants were measured on an H200.
double tsri_cuda_units_cost(const units_tile *tile, int64_t tile_count, int64_t inner, int multiprocessors);

// Bytes of shared memory of a work-group: two strips of b, and two of a unless a is held in registers; or, later in the same memory, the sums that the
// work-groups of a cluster exchange. The larger of both counts.
uint32_t tsri_cuda_units_shared_bytes(const units_tile *tile);

// Builds the kernel for a tile and a layout unless it is there already. False: it cannot be built.
bool tsri_cuda_units_build(const cuda_device *device, const units_tile *tile, int layout, const units_parts *parts,
                           cuda_own_kernel *kernel);

units_arguments tsri_cuda_units_arguments(const cuda_product *p, const cuda_product_memory *memory);

#endif
