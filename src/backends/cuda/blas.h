// SPDX-License-Identifier: MIT
// Matrix products by cuBLASLt, opened on first use: it is half a gigabyte, and many programs never multiply matrices.
#ifndef TSRI_CUDA_BLAS_H
#define TSRI_CUDA_BLAS_H

#include "backends/cuda/cuda.h"

// A stored matrix as cuBLASLt sees it: column by column, `leading` elements from one column to the next.
typedef struct cuda_matrix {
  int64_t rows, cols, leading;
  int64_t batch_stride;   // in elements; 0: the same for all
  int64_t is_transposed;  // the product takes it turned
} cuda_matrix;

// d = activation(alpha * op(a) op(b) + beta * c + bias) for `batch` products. Everything that the choice of an algorithm
// depends on, and nothing else: it is the key of the plans that are kept, and compared as bytes, so it has no padding.
typedef struct cuda_product {
  tsr_dtype dtype;
  tsri_activation activation;
  uint32_t has_c, has_bias;
  uint32_t alignments[4];  // bytes, up to 256, at which a, b, c and d begin
  int64_t batch;
  cuda_matrix a, b, c, d;  // c is there where has_c
} cuda_product;

_Static_assert(sizeof(cuda_product) == 8 * sizeof(uint32_t) + 21 * sizeof(int64_t), "no padding");

typedef struct cuda_product_memory {
  cu_address a, b, c, d, bias;
  double alpha, beta;
} cuda_product_memory;

// Queues the product. The context is current.
//
// Errors: TSR_ERR_UNSUPPORTED, without a message: cuBLASLt is not there or has nothing for it. TSR_ERR_OUT_OF_MEMORY,
// TSR_ERR_DEVICE_LOST, TSR_ERR_LAUNCH.
tsr_status tsri_cuda_multiply(cuda_queue *queue, const cuda_product *product, const cuda_product_memory *memory);

// When the proposals for a product are timed. Tests change it.
typedef struct cuda_timing {
  int64_t least_work;   // multiplications
  uint64_t longest_ns;  // after which no further round begins
} cuda_timing;
extern cuda_timing tsri_cuda_timing;

// The names tried, in order; ends with NULL. Tests point it elsewhere.
extern const char *const *tsri_cublaslt_names;

#endif
