// SPDX-License-Identifier: MIT
// Products of f16, bf16, and f32 as TF32, by the matrix units of Hopper GPUs (wgmma). The kernel is halves.cu, which is compiled for each dtype, layout, tile, activation and chain when it is first needed.
#ifndef TSRI_CUDA_HALVES_H
#define TSRI_CUDA_HALVES_H

#include "backends/cuda/blas.h"
#include "backends/cuda/own_kernel.h"

// The parameters that a kernel is compiled for.
typedef struct halves_form {
  tsr_dtype dtype;
  tsri_activation activation;
  bool has_c;
  int tile;
  bool a_is_turned, b_is_turned, y_is_turned;  // as in halves.cu
  const tsri_chain_function *chain;            // NULL: none
} halves_form;

typedef struct halves_kernel {
  halves_form form;
  cuda_own_kernel kernel;
} halves_kernel;

// The kernels of a device. The caller must ensure that only one thread at a time uses them.
typedef struct cuda_halves {
  halves_kernel **kernels;  // kernel_count of them
  int kernel_count;
} cuda_halves;

// Whether the kernel can compute the product: large enough; f16, bf16, or f32 where TF32 is allowed, with results of the same dtype; on a Hopper GPU; and in
// layouts that the GPU's copy engine reads.
bool tsri_cuda_halves_take(const cuda_device *device, const cuda_product *product);

// Whether the product with this chain in the kernel is estimated to be faster than cuBLASLt's product followed by a kernel for the chain. tsri_cuda_halves_take
// must be true for the product.
bool tsri_cuda_halves_gain(const cuda_device *device, const cuda_product *product, const tsri_product_chain *chain);

// Queues a product for which tsri_cuda_halves_take is true. The device's context must be current. False: the kernel cannot be built or launched; the reason is
// logged.
bool tsri_cuda_halves_multiply(cuda_queue *queue, cuda_halves *halves, const cuda_product *product,
                               const cuda_product_memory *memory);

// Unloads all kernels. The device's context must be current.
void tsri_cuda_halves_clear(const cuda_device *device, cuda_halves *halves);

#endif
