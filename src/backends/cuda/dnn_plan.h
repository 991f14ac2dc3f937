// SPDX-License-Identifier: MIT
// Private to the dnn files: cuDNN, and the plans that are kept for repeated convolutions and attentions.
#ifndef TSRI_CUDA_DNN_PLAN_H
#define TSRI_CUDA_DNN_PLAN_H

#include <string.h>

#include "backends/cuda/dnn.h"
#include "backends/cuda/dnn_api.h"
#include "backends/cuda/masks.h"
#include "backends/cuda/settle.h"

enum { DNN_PLAN_SLOTS = 256 };  // entries of the hash table; a new convolution replaces the one in its slot

typedef struct dnn_conv_graph dnn_conv_graph;  // of dnn_conv_graph.c

typedef struct dnn_plan {
  bool is_used, is_impossible;
  bool is_outdone;  // impossible because our tiles are faster
  bool is_settled;  // the fastest proposal is known, or timing is not worthwhile
  cuda_conv conv;
  dnn_tensor x, y;
  dnn_filter w;
  dnn_conv operation;
  int math;               // the mode that `operation` is in
  dnn_conv_graph *graph;  // NULL: cuDNN's functions for convolutions are called, with the descriptors above
  dnn_choice proposals[CUDA_MOST_PROPOSALS];
  int proposal_count, chosen;
} dnn_plan;

enum { DNN_ATTENTION_SLOTS = 256 };
typedef struct dnn_attention_plan dnn_attention_plan;  // of dnn_attention.c

#define TSRI_ENTRY(name, exported, parameters) int(CUDA_CALL * name) parameters;
struct cuda_dnn {
  struct {
    CUDNN_ENTRY_POINTS(TSRI_ENTRY)
    CUDNN_OPTIONAL_ENTRY_POINTS(TSRI_ENTRY)
  } api;
  const tsri_cuda_api *cu;
  dnn_handle handle;
  cu_stream stream;  // of the handle
  tsri_mutex lock;   // protects the plans and the handle, which belongs to one stream at a time
  dnn_plan plans[DNN_PLAN_SLOTS];
  dnn_attention_plan *attentions[DNN_ATTENTION_SLOTS];
  cuda_masks masks;  // not built until the first attention with a mask
};
#undef TSRI_ENTRY

// The slot of a key in a hash table of `slots`. The key consists of 4-byte words. It is computed for each launch, so tsri_cache_key, which hashes
// byte by byte, would be too slow.
static inline size_t dnn_slot_of(const void *key, size_t bytes, size_t slots) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
    uint32_t word;
    memcpy(&word, (const char *)key + i, sizeof word);
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  }
  return (size_t)(hash >> 32) % slots;
}

// The plan for the convolution, made if there is none; is_impossible if cuDNN has no algorithm for it. Call with the lock held.
dnn_plan *tsri_cuda_dnn_plan(cuda_dnn *dnn, const cuda_device *device, const cuda_conv *conv);

void tsri_cuda_dnn_destroy_plan(const cuda_dnn *dnn, dnn_plan *plan);

// Makes the graph of plan->conv and those proposals for it that need at most `most_workspace` bytes. False: cuDNN has none. Without allows_tf32, f32 is
// multiplied in f32.
bool tsri_dnn_conv_graph(const cuda_dnn *dnn, bool allows_tf32, int64_t most_workspace, dnn_plan *plan);
void tsri_dnn_conv_graph_destroy(dnn_plan *plan);

// Whether the operands begin where the graph needs them to.
bool tsri_dnn_conv_graph_takes(const cuda_conv_memory *memory);

// Queues the graph by one of its proposals on the queue, whose stream the handle must have. Returns cuDNN's code.
int tsri_dnn_conv_graph_run(cuda_queue *queue, const dnn_plan *plan, int number, const cuda_conv_memory *memory);

void tsri_cuda_dnn_destroy_attention(dnn_attention_plan *plan);

// Sets the handle's stream, unless it is set already: the call costs as much as a launch. Call with the lock held. Returns cuDNN's code.
int tsri_cuda_dnn_use_stream(cuda_dnn *dnn, cu_stream stream);

// cuDNN, opened if it is not yet; NULL: it is not there. The context must be current.
cuda_dnn *tsri_cuda_dnn_of(cuda_device *device);

#endif
