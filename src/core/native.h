// SPDX-License-Identifier: MIT
// Which vendor libraries may be used, by the setting `native`.
#ifndef TSRI_NATIVE_H
#define TSRI_NATIVE_H

#include <stdbool.h>
#include <stddef.h>

// What the setting may name: word, what it is. A backend asks for one of these.
#define TSRI_NATIVE_LIBRARIES(X)                                             \
  X(cublaslt, "NVIDIA's matrix products, on CUDA")                           \
  X(cooperative_matrix, "matrix products by the GPU's own units, on Vulkan") \
  X(sleef, "vectorised mathematics, on the CPU")

bool tsri_native_is_known(const char *library, size_t bytes);

// Whether a `native` value ("all", "none", "a,b", "-a,-b") lets `library` be used.
bool tsri_native_allows(const char *native, const char *library);

#endif
