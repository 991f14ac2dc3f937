// SPDX-License-Identifier: MIT
// Which vendor libraries backends may use (the setting `native`).
#ifndef TSRI_NATIVE_H
#define TSRI_NATIVE_H

#include <stdbool.h>
#include <stddef.h>

// The names that the setting accepts, with their meaning. Backends pass these names to tsri_native_allows.
#define TSRI_NATIVE_LIBRARIES(X)                                             \
  X(cublaslt, "NVIDIA's matrix products, on CUDA")                           \
  X(wgmma, "our products and attention for Hopper GPUs, on CUDA")            \
  X(cudnn, "NVIDIA's convolutions and attention, on CUDA")                   \
  X(cooperative_matrix, "matrix products by the GPU's own units, on Vulkan") \
  X(simdgroup_matrix, "matrix products by the GPU's own units, on Metal")    \
  X(subgroup_matrix, "matrix products by the GPU's own units, on WebGPU")    \
  X(mps, "Apple's matrix products, on Metal")                                \
  X(sleef, "vectorised mathematics, on the CPU")                             \
  X(lapack, "factors of matrices, on the CPU")                               \
  X(cusolver, "factors of matrices, on CUDA")                                \
  X(rocblas, "AMD's matrix products, on ROCm")                               \
  X(hipblaslt, "AMD's matrix products with bias and activation, on ROCm")

bool tsri_native_is_known(const char *library, size_t bytes);

// Whether the value of `native` ("all", "none", "a,b", "-a,-b") allows `library`.
bool tsri_native_allows(const char *native, const char *library);

#endif
