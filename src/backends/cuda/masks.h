// SPDX-License-Identifier: MIT
// Private to the dnn files: copies masks to a form that cuDNN can read, and corrects its results. The kernels are masks.cu.
#ifndef TSRI_CUDA_MASKS_H
#define TSRI_CUDA_MASKS_H

#include "backends/cuda/dnn_attention.h"
#include "backends/cuda/own_kernel.h"

typedef struct cuda_masks {
  int version;  // of cuDNN: 919 for 9.19; 0: not known
  cuda_own_kernel copy, clear;
} cuda_masks;

// Describes the operator's mask for cuDNN: sets out->mask and, if the mask must be copied for it, out->mask_from and the like. False: the copy would not fit into the queue's
// workspace, or there are too many queries.
bool tsri_cuda_describe_mask(const tsri_attention_op *op, cuda_attention *out);

// Bytes of the copy, a multiple of 256; 0 if the mask is read in place.
int64_t tsri_cuda_mask_bytes(const cuda_attention *attention);

// Builds the kernels for an attention with a mask unless they are there. False: they cannot be built. The device's context must be current.
bool tsri_cuda_masks_build(const cuda_device *device, const cuda_attention *attention, cuda_masks *masks);

// Queues the copy of the mask, to run before the attention; `to` is a multiple of 16. Does nothing if the mask is read in place.
cu_result tsri_cuda_copy_mask(const cuda_queue *queue, const cuda_masks *masks, const cuda_attention *attention,
                              cu_address from, cu_address to);

// Queues the kernel that runs after an attention with a mask: it sets the results of queries that attend to no key to 0, unless cuDNN has done so, and the
// logarithms of their sums to infinity. memory->mask is the mask that cuDNN read.
cu_result tsri_cuda_clear_unseen(const cuda_queue *queue, const cuda_masks *masks, const cuda_attention *attention,
                                 const cuda_attention_memory *memory);

// Unloads the kernels. The device's context must be current.
void tsri_cuda_masks_deinit(const cuda_device *device, cuda_masks *masks);

#endif
