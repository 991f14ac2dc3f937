// SPDX-License-Identifier: MIT
// Attention of f16 and bf16 and its gradient by cuDNN, as graphs (dnn_graph.h).
#ifndef TSRI_CUDA_DNN_ATTENTION_H
#define TSRI_CUDA_DNN_ATTENTION_H

#include "backends/cuda/dnn.h"

// The key of the stored plans: compared as bytes, so it must have no padding. Strides are in elements, of [batch, head, row]; elements of a row are neighbours.
typedef struct cuda_attention {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  int64_t q[3], k[3], v[3], y[3], g[3], dq[3], dk[3], dv[3];  // the last four: 0 unless is_gradient
  // Strides of [batch, head, query, key] of the mask that cuDNN reads, and, if that is a copy, of the operator's mask. A stride is 0 along an axis whose
  // indices share elements.
  int64_t mask[4], mask_from[4];
  int64_t scratch_bytes;
  int32_t dtype, is_causal, has_lse, is_gradient;
  int32_t has_mask, copies_mask, is_truth, unused;  // is_truth: the mask that is copied is of truth values
} cuda_attention;

typedef struct cuda_attention_memory {
  cu_address q, k, v, y, mask, lse, g, dq, dk, dv, scratch;
  float scale;
} cuda_attention_memory;

// Whether the attention has no mask except a causal one, and no lengths, window, slopes or soft cap.
bool tsri_cuda_attention_is_plain(const tsri_attention_op *attention);

// Describes the operator for cuDNN. False: it has a part that our graphs lack (such as a window), cuDNN cannot read an operand in place, or the
// operator is too small to be worthwhile.
bool tsri_cuda_describe_attention(const tsri_native_op *op, cuda_attention *out);

// Whether cuDNN is there and a plan for this attention exists. Opens cuDNN if that has not happened yet. Making a plan takes long, so it is
// made only when earlier attentions like this one have together lost `plan_after_ns` by running without it.
bool tsri_cuda_has_attention(cuda_device *device, const cuda_attention *attention, int64_t plan_after_ns);

// Queues the attention. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if cuDNN is missing or cannot compute it. Tessera's own kernels then compute it.
tsr_status tsri_cuda_attend(cuda_queue *queue, const cuda_attention *attention, const cuda_attention_memory *memory);

// Attentions with fewer multiplications are left to kernels. Tests change it.
extern int64_t tsri_cuda_least_attention;

#endif
