// SPDX-License-Identifier: MIT
// Attention of f32 and its gradient for short sequences, on Hopper GPUs: a work-group takes a whole head. The kernels are heads.cu, which is compiled for each size of heads when it is first needed.
#ifndef TSRI_CUDA_HEADS_H
#define TSRI_CUDA_HEADS_H

#include "backends/cuda/cuda.h"

// Whether the kernels can compute the attention: more than 32 and at most 128 queries and keys, heads of at most 64 elements, no mask or other option, and
// layouts that can be read in quads.
bool tsri_cuda_heads_take(const cuda_device *device, const tsri_native_op *op);

// Queues an attention or a gradient for which tsri_cuda_heads_take is true. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if the kernel cannot be built or launched; the reason is logged.
tsr_status tsri_cuda_heads_attend(cuda_queue *queue, const tsri_native_op *op);

// Unloads all kernels.
void tsri_cuda_heads_close(cuda_device *device);

#endif
