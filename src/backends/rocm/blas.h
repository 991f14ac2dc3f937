// SPDX-License-Identifier: MIT
// AMD's two libraries for matrix products: hipBLASLt (blas_lt.c, computed with by cuda/blas.c) and rocBLAS (blas.c).
#ifndef TSRI_ROCM_BLAS_H
#define TSRI_ROCM_BLAS_H

#include "backends/cuda/blas.h"
#include "backends/rocm/rocm.h"

// Queues the product, which has neither bias nor activation and whose sizes fit in an int, by rocBLAS. The device must be
// current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if rocBLAS is missing or does not compute the product.
tsr_status tsri_rocm_multiply(cuda_queue *queue, const cuda_product *product, const cuda_product_memory *memory);

#endif
