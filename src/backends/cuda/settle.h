// SPDX-License-Identifier: MIT
// Finds the fastest of several ways that a vendor's library proposes for an operator: they are timed once with the operator's own operands, and the result is
// stored on disk.
#ifndef TSRI_CUDA_SETTLE_H
#define TSRI_CUDA_SETTLE_H

#include "backends/common/choices.h"
#include "backends/common/disk_cache.h"
#include "backends/cuda/cuda.h"

enum { CUDA_MOST_PROPOSALS = 9 };

// The proposals for one operator.
typedef struct cuda_proposals {
  int count;                                  // up to CUDA_MOST_PROPOSALS
  bool (*launch)(void *context, int number);  // queues the operator by that proposal; false: it does not run
  void *context;
} cuda_proposals;

// Finds the fastest proposal: from the result that an earlier run of the program stored for `key`, or by running each proposal, which waits for the queue.
// Stores the result with the device's other choices (common/choices.h), under the name `operation`, which is shown to users. Returns false if nothing is stored
// and nothing could be timed, because a graph is being recorded; *out_chosen is then unchanged. If the device was opened without timing, the first proposal is
// chosen.
//
// `key` must depend on the proposals, because another version of the library makes other ones. The device's context must be current. `may_time` is false if
// running the operator twice would change its result. *out_us (may be NULL) is the time of the chosen proposal, 0 if it is not known.
bool tsri_cuda_settle(cuda_queue *queue, const char *operation, const tsri_cache_key *key,
                      const cuda_proposals *proposals, bool may_time, int *out_chosen, double *out_us);

// Limits for timing the proposals for an operator. Tests change them.
typedef struct cuda_timing {
  int64_t least_work;   // operators with fewer multiplications are not timed
  uint64_t longest_ns;  // no new round of measurements begins after this time
} cuda_timing;
extern cuda_timing tsri_cuda_timing;

#endif
