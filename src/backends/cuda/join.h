// SPDX-License-Identifier: MIT
// Concatenation (TSRI_NATIVE_JOIN) of many arrays in one launch. Kernels in Tessera's language can bind at most eight buffers, the number that every device
// supports; here the addresses of all parts are arguments. The kernel is join.cu, which is compiled for each size of units when it is first needed.
#ifndef TSRI_CUDA_JOIN_H
#define TSRI_CUDA_JOIN_H

#include "backends/cuda/cuda.h"

// Whether the kernel should compute the operator: there are many parts, the result is not too large, and the pieces of lines are not too short.
bool tsri_cuda_join_takes(const tsri_native_op *op);

// Queues a join for which tsri_cuda_join_takes is true. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if the kernel cannot be built or launched; the reason is logged.
tsr_status tsri_cuda_join(cuda_queue *queue, const tsri_native_op *op);

// Unloads all kernels.
void tsri_cuda_join_close(cuda_device *device);

#endif
