// SPDX-License-Identifier: MIT
// Attention of f16 and bf16 and its gradient by cuDNN, as graphs (dnn_graph.h).
#ifndef TSRI_CUDA_DNN_ATTENTION_H
#define TSRI_CUDA_DNN_ATTENTION_H

#include "backends/cuda/dnn.h"

// The key of the stored plans: compared as bytes, so it must have no padding. Strides are in elements, of [batch, head, row]; elements of a row are neighbours.
typedef struct cuda_attention {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  int64_t q[3], k[3], v[3], y[3], g[3];  // g: 0 unless is_gradient
  int64_t scratch_bytes;
  int32_t dtype, is_causal, has_lse, is_gradient;
} cuda_attention;

typedef struct cuda_attention_memory {
  cu_address q, k, v, y, lse, g, dq, dk, dv, scratch;
  float scale;
} cuda_attention_memory;

// Describes the operator for cuDNN. False: it has parts that these graphs have not, operands that cuDNN cannot read where they lie, or is not worthwhile.
bool tsri_cuda_describe_attention(const tsri_native_op *op, cuda_attention *out);

// Whether cuDNN is there and has a plan for it. Opens cuDNN if that has not happened yet, and makes the plan once calls with this attention would have been faster with it by `plan_after_ns`.
bool tsri_cuda_has_attention(cuda_device *device, const cuda_attention *attention, int64_t plan_after_ns);

// Queues it. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if cuDNN is missing, or cannot compute it: Tessera's own kernels then do.
tsr_status tsri_cuda_attend(cuda_queue *queue, const cuda_attention *attention, const cuda_attention_memory *memory);

// Attentions with fewer multiplications are left to kernels. Tests change it.
extern int64_t tsri_cuda_least_attention;

#endif
