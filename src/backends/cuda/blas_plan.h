// SPDX-License-Identifier: MIT
// Private to blas.c and blas_settle.c: the plans that are kept for repeated products.
#ifndef TSRI_CUDA_BLAS_PLAN_H
#define TSRI_CUDA_BLAS_PLAN_H

#include "backends/common/disk_cache.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/blas_api.h"
#include "backends/cuda/halves.h"
#include "backends/cuda/units.h"

enum {
  // The part of the queue's workspace that cuBLASLt is offered: what NVIDIA recommends for Hopper. With more, it proposes
  // other algorithms.
  BLAS_WORKSPACE_BYTES = 32 << 20,
  BLAS_PLAN_SLOTS = 256,          // entries of the hash table; a new product replaces the one in its slot
  BLAS_PROPOSALS = 8,             // number of algorithms requested from the library
  BLAS_WAYS = 1 + BLAS_PROPOSALS  // ways to compute a product: our own kernel (units.h), and the library's proposals
};

_Static_assert((int)BLAS_WORKSPACE_BYTES <= (int)CUDA_WORKSPACE_BYTES, "the queue's workspace is large enough");

typedef struct blas_plan {
  bool is_used, is_impossible;
  bool is_settled;  // the fastest proposal is known, or timing is not worthwhile
  cuda_product product;
  lt_operation operation;
  lt_layout a, b, c, d;
  lt_choice proposals[BLAS_PROPOSALS];
  int proposal_count;
  bool has_units;  // true: way 0 is our own kernel, way i is proposal i - 1; false: way i is proposal i
  int chosen;      // the way that is used
} blas_plan;

struct cuda_blas {
  const lt_library *library;
  lt_entries lt;
  lt_handle handle;  // NULL: the library is not there, or not allowed
  tsri_mutex lock;   // protects what follows
  cuda_units units;
  cuda_halves halves;
  blas_plan plans[BLAS_PLAN_SLOTS];
};

static inline int blas_way_count(const blas_plan *plan) { return plan->has_units + plan->proposal_count; }

// Queues the product in one of the ways. Returns the library's status code, not_supported if our own kernel does not run.
int tsri_cuda_blas_launch(cuda_queue *queue, cuda_blas *blas, const blas_plan *plan, const cuda_product_memory *memory,
                          int way);

// Returns the key under which the fastest way for a plan is stored on disk. `units_text` is the text of our own kernel: it is part
// of the key, so that all ways are timed again when the kernel has changed.
tsri_cache_key tsri_cuda_blas_key(const cuda_device *device, const blas_plan *plan, const char *units_text);

// Chooses the fastest way for a product that is large enough: from the result stored by an earlier run of the
// program, or by running each way, which waits for the queue. It chooses nothing yet while a graph is being
// recorded, or if c and d are the same memory, because then each run would change the result.
void tsri_cuda_blas_settle(cuda_queue *queue, cuda_blas *blas, blas_plan *plan, const cuda_product_memory *memory);

#endif
