// SPDX-License-Identifier: MIT
// Chains of element-wise operators after a product in our own kernels (units.cu, halves.cu): the text of their functions, and their arguments.
#ifndef TSRI_CUDA_OWN_CHAIN_H
#define TSRI_CUDA_OWN_CHAIN_H

#include "backends/cuda/blas.h"

// The chain's arguments to a kernel; the same as in the kernels' struct product.
typedef struct cuda_chain_arguments {
  struct {
    cu_address at;
    int32_t by_row, by_column;
  } inputs[TSRI_CHAIN_INPUTS];
  cu_address kept;
  uint32_t words[TSRI_CHAIN_WORDS];
} cuda_chain_arguments;

// The arguments of the product's chain; all are 0 if it has none.
cuda_chain_arguments tsri_cuda_chain_arguments(const cuda_product_memory *memory);

// Returns the kernel text: the lines `defines`, then the chain's function and the macros by which the kernel calls it (if there is a chain), then `text`. The
// caller frees it. NULL: host memory is out.
char *tsri_cuda_text_with_chain(const tsri_chain_function *chain, const char *defines, const unsigned char *text);

#endif
