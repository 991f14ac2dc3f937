// SPDX-License-Identifier: MIT
// Chains of element-wise operators in our own kernels for products (units.cu, halves.cu): their text, and what such a kernel gets beside its other arguments.
#ifndef TSRI_CUDA_OWN_CHAIN_H
#define TSRI_CUDA_OWN_CHAIN_H

#include "backends/cuda/blas.h"

// As in the kernels' struct product.
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

// `text` after the lines `defines`, and after the function of the chain with the macros by which the kernel calls it (NULL: no chain). The caller frees it. NULL: host memory is out.
char *tsri_cuda_text_with_chain(const tsri_chain_function *chain, const char *defines, const unsigned char *text);

#endif
