// SPDX-License-Identifier: MIT
// Kernels written in CUDA C++, in addition to those in Tessera's language: for one kind of GPU (units.cu, halves.cu, heads.cu), for more buffers than portable
// kernels can bind (join.cu), and for cuDNN's masks (masks.cu). They are compiled when they are first needed.
#ifndef TSRI_CUDA_OWN_KERNEL_H
#define TSRI_CUDA_OWN_KERNEL_H

#include "backends/cuda/cuda.h"

typedef struct cuda_own_kernel {
  cu_module module;
  cu_function function;
  bool has_failed;
} cuda_own_kernel;

// How a kernel is compiled. `what`: names the kernel in the log line if that fails.
typedef struct cuda_own_text {
  const unsigned char *text;
  const char *name, *target, *options, *what;
  uint32_t shared_bytes;  // dynamic shared memory; if not 0, the driver must have FuncSetAttribute
} cuda_own_text;

// Builds the kernel, unless it was built before or has failed before. False: it has failed; the reason is logged once. The device's context must be current.
bool tsri_cuda_own_build(const cuda_device *device, const cuda_own_text *text, cuda_own_kernel *kernel);

// The device's context must be current.
void tsri_cuda_own_unload(const cuda_device *device, cuda_own_kernel *kernel);

#endif
