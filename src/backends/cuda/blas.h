// SPDX-License-Identifier: MIT
// Matrix products by cuBLASLt, or by a library of the same form (blas_api.h). The library is opened at the first product, because it is half a gigabyte and many
// programs never multiply matrices.
#ifndef TSRI_CUDA_BLAS_H
#define TSRI_CUDA_BLAS_H

#include "backends/cuda/cuda.h"

// A stored matrix as cuBLASLt sees it: column-major, with `leading` elements from one column to the next.
typedef struct cuda_matrix {
  int64_t rows, cols, leading;
  int64_t batch_stride;   // in elements; 0: all products of the batch use the same matrix
  int64_t is_transposed;  // the product uses the transposed matrix
} cuda_matrix;

// d = activation(alpha * op(a) op(b) + beta * c + bias), for `batch` products. The struct holds everything that the
// choice of an algorithm depends on, and nothing else. It is the key of the stored plans and is compared as bytes, so
// it must have no padding.
typedef struct cuda_product {
  tsr_dtype dtype, result;  // of a and b; of c and d
  tsri_activation activation;
  uint32_t has_c, has_bias;
  uint32_t unused;         // keeps the struct free of padding
  uint32_t alignments[4];  // alignment of the addresses of a, b, c and d in bytes, at most 256
  int64_t batch;
  cuda_matrix a, b, c, d;  // c is valid only if has_c
} cuda_product;

_Static_assert(sizeof(cuda_product) == 10 * sizeof(uint32_t) + 21 * sizeof(int64_t), "no padding");

typedef struct cuda_product_memory {
  cu_address a, b, c, d, bias;
  double alpha, beta;
  cu_address
      row_sums;  // receives the sums of the rows of b, which is our a (native.c); 0: they are not needed. Only our own kernel has them (units.h)
  // The chain after the product, and the addresses that go with it. NULL: there is none. Only our own kernel has chains.
  const tsri_product_chain *chain;
  cu_address chain_inputs[TSRI_CHAIN_INPUTS], kept;
} cuda_product_memory;

// Fills in a column-major library's view of the product. False: the library cannot read the operands in place, or calling
// it is not worthwhile.
bool tsri_cuda_describe_product(const tsri_native_op *op, cuda_product *out);

// The addresses and factors of an operator whose operands are bound.
cuda_product_memory tsri_cuda_product_memory(const tsri_native_op *op);

// Whether the library is there and proposes an algorithm for the product. The device's context must be current.
bool tsri_cuda_can_multiply(cuda_device *device, const cuda_product *product);

// Queues the product. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if the library is missing or has no algorithm for the product;
// TSR_ERR_OUT_OF_MEMORY, TSR_ERR_DEVICE_LOST, TSR_ERR_LAUNCH.
tsr_status tsri_cuda_multiply(cuda_queue *queue, const cuda_product *product, const cuda_product_memory *memory);

// Queues products that can share a launch (tsri_cuda_units_group_of). The device's context must be current. False: they cannot be launched together.
bool tsri_cuda_multiply_group(cuda_queue *queue, const cuda_product *products, const cuda_product_memory *memories,
                              int count);

// Library names to try, in order; the list ends with NULL. Tests replace it.
extern const char *const *tsri_cublaslt_names;

#endif
