// SPDX-License-Identifier: MIT
// Private to blas.c and blas_settle.c: the plans that are kept for repeated products.
#ifndef TSRI_CUDA_BLAS_PLAN_H
#define TSRI_CUDA_BLAS_PLAN_H

#include "backends/cuda/blas.h"
#include "backends/cuda/blas_api.h"

enum {
  // Of the queue's workspace: what NVIDIA advises for Hopper. cuBLASLt proposes other algorithms if it is offered more.
  BLAS_WORKSPACE_BYTES = 32 << 20,
  BLAS_PLAN_SLOTS = 256,  // entries of the hash table; a new product replaces the one in its slot
  BLAS_PROPOSALS = 8      // number of algorithms requested from the library
};

_Static_assert((int)BLAS_WORKSPACE_BYTES <= (int)CUDA_WORKSPACE_BYTES, "the queue's workspace is large enough");

typedef struct blas_plan {
  bool is_used, is_impossible;
  bool is_settled;  // the fastest proposal is known, or timing is not worthwhile
  cuda_product product;
  lt_operation operation;
  lt_layout a, b, c, d;
  lt_choice proposals[BLAS_PROPOSALS];
  int proposal_count, chosen;
} blas_plan;

struct cuda_blas {
  const lt_library *library;
  lt_entries lt;
  lt_handle handle;
  tsri_mutex lock;  // protects the plans
  blas_plan plans[BLAS_PLAN_SLOTS];
};

// Queues the product with one of the proposals. Returns the library's status code.
int tsri_cuda_blas_launch(cuda_queue *queue, const cuda_blas *blas, const blas_plan *plan,
                          const cuda_product_memory *memory, const lt_choice *choice);

// Chooses the fastest proposal for a product that is large enough: from the result stored by an earlier run of the
// program, or by running each proposal, which waits for the queue. It chooses nothing yet while a graph is being
// recorded, or if c and d are the same memory, because then each run would change the result.
void tsri_cuda_blas_settle(cuda_queue *queue, const cuda_blas *blas, blas_plan *plan,
                           const cuda_product_memory *memory);

#endif
