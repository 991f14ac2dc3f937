// SPDX-License-Identifier: MIT
// Kernels that are written in CUDA C++: for one kind of GPU (units.cu, halves.cu, heads.cu), for more buffers than others bind (join.cu), for masks that cuDNN adds (masks.cu); beside those that Tessera's language makes for every device. They are compiled when they are first needed.
#ifndef TSRI_CUDA_OWN_KERNEL_H
#define TSRI_CUDA_OWN_KERNEL_H

#include "backends/cuda/cuda.h"

typedef struct cuda_own_kernel {
  cu_module module;
  cu_function function;
  bool has_failed;
} cuda_own_kernel;

// How one is built. `what` says in a log line what there is none of if it cannot be.
typedef struct cuda_own_text {
  const unsigned char *text;
  const char *name, *target, *options, *what;
  uint32_t shared_bytes;  // beside those that the kernel declares; if not 0, the driver must have FuncSetAttribute
} cuda_own_text;

// Builds the kernel unless it is there or has failed before. False: it has failed; the reason is logged once. The device's context must be current.
bool tsri_cuda_own_build(const cuda_device *device, const cuda_own_text *text, cuda_own_kernel *kernel);

// The device's context must be current.
void tsri_cuda_own_unload(const cuda_device *device, cuda_own_kernel *kernel);

#endif
