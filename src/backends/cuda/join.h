// SPDX-License-Identifier: MIT
// Joins of arrays (TSRI_NATIVE_JOIN) in one launch. Kernels of Tessera's language bind at most eight buffers, which every device can; here the addresses of all parts are arguments. The kernel is join.cu,
// which is compiled for each size of units when it is first needed.
#ifndef TSRI_CUDA_JOIN_H
#define TSRI_CUDA_JOIN_H

#include "backends/cuda/cuda.h"

// Whether the kernel takes it: its units are counted in 32 bits, and the pieces of lines are not too short.
bool tsri_cuda_join_takes(const tsri_native_op *op);

// Queues a join that tsri_cuda_join_takes is true for. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if the kernel cannot be built or launched; the reason is logged.
tsr_status tsri_cuda_join(cuda_queue *queue, const tsri_native_op *op);

// Unloads all kernels.
void tsri_cuda_join_close(cuda_device *device);

#endif
