// SPDX-License-Identifier: MIT
// Products of f32 by the matrix units of Hopper GPUs (wgmma). The kernel is units.cu, which is compiled for each layout and tile when it is first needed.
#ifndef TSRI_CUDA_UNITS_H
#define TSRI_CUDA_UNITS_H

#include "backends/cuda/blas.h"
#include "backends/cuda/own_kernel.h"

enum { UNITS_TILES = 9, UNITS_GROUP_TILES = 4, UNITS_LAYOUTS = 4 };

// What a kernel computes beside one product: a chain of element-wise operators after it (NULL: none), sums of the rows of a, and further products (0: none).
typedef struct units_parts {
  const tsri_chain_function *chain;
  bool has_sums;
  int most_grouped;
} units_parts;

// A kernel for one product with a chain or sums.
typedef struct units_special {
  units_parts parts;
  int tile, layout;
  cuda_own_kernel kernel;
} units_special;

// The kernels of a device. The caller must ensure that only one thread at a time uses them.
typedef struct cuda_units {
  cuda_own_kernel kernels[UNITS_TILES][UNITS_LAYOUTS];
  cuda_own_kernel groups[UNITS_GROUP_TILES][UNITS_LAYOUTS];  // for several products in one launch (units_group.c)
  units_special **special;                                   // special_count of them
  int special_count;
} cuda_units;

// Whether the kernel can compute the product: large enough, of f32 that must not be rounded to TF32, on a Hopper GPU, and in layouts that can be read in quads.
bool tsri_cuda_units_take(const cuda_device *device, const cuda_product *product);

// Queues a product for which tsri_cuda_units_take is true. The device's context must be current. False: the kernel cannot be built or launched; the reason is
// logged.
bool tsri_cuda_units_multiply(cuda_queue *queue, cuda_units *units, const cuda_product *product,
                              const cuda_product_memory *memory);

// The group of products that can share a launch with this one: products of one layout that leave most of the GPU idle even if k is divided. kind 0: none.
// tsri_cuda_units_take must be true for the product.
tsri_op_group tsri_cuda_units_group_of(const cuda_device *device, const cuda_product *product);

// Queues up to TSRI_MOST_GROUPED products of one kind as one launch. Otherwise as tsri_cuda_units_multiply.
bool tsri_cuda_units_multiply_group(cuda_queue *queue, cuda_units *units, const cuda_product *products,
                                    const cuda_product_memory *memories, int count);

// Unloads all kernels. The device's context must be current.
void tsri_cuda_units_clear(const cuda_device *device, cuda_units *units);

#endif
