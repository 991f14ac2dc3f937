// SPDX-License-Identifier: MIT
// Inside the products by cuBLASLt: what is kept from one product to the next of its kind.
#ifndef TSRI_CUDA_BLAS_PLAN_H
#define TSRI_CUDA_BLAS_PLAN_H

#include "backends/cuda/blas.h"
#include "backends/cuda/blas_api.h"

enum {
  BLAS_PLAN_SLOTS = 256,  // a product that meets another in its slot takes the place
  BLAS_PROPOSALS = 8      // ways to compute a product that are asked for
};

typedef struct blas_plan {
  bool is_used, is_impossible;
  bool is_settled;  // which proposal is the fastest was found out, or need not be
  cuda_product product;
  lt_operation operation;
  lt_layout a, b, c, d;
  lt_choice proposals[BLAS_PROPOSALS];
  int proposal_count, chosen;
} blas_plan;

#define TSRI_ENTRY(name, exported, parameters) int(CUDA_CALL * name) parameters;
struct cuda_blas {
  struct {
    CUBLASLT_ENTRY_POINTS(TSRI_ENTRY)
  } lt;
  lt_handle handle;
  tsri_mutex lock;  // of the plans
  blas_plan plans[BLAS_PLAN_SLOTS];
};
#undef TSRI_ENTRY

// Queues the product by one of the proposals; cuBLASLt's code.
int tsri_cuda_blas_launch(cuda_queue *queue, const cuda_blas *blas, const blas_plan *plan,
                          const cuda_product_memory *memory, const lt_choice *choice);

// Chooses the fastest of the proposals for a product that is worth it: by what an earlier run of the program found out, or by
// running each of them, which waits for the queue. While a graph is recorded, or where the result would be added to
// itself, the choice is left for later.
void tsri_cuda_blas_settle(cuda_queue *queue, const cuda_blas *blas, blas_plan *plan,
                           const cuda_product_memory *memory);

#endif
