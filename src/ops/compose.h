// SPDX-License-Identifier: MIT
// For operators composed of others.
#ifndef TSRI_OPS_COMPOSE_H
#define TSRI_OPS_COMPOSE_H

#include <tessera/tensor.h>

// Releases `done`, an intermediate tensor from which `result` was recorded, and returns `result`. Recorded nodes hold their own references.
static inline tsr_tensor *tsri_then(tsr_tensor *result, tsr_tensor *done) {
  tsr_release(done);
  return result;
}

// Releases `count` intermediate tensors.
void tsri_release_all(tsr_tensor *const *tensors, int count);

// For operators with several results. tsri_keep_all: returns TSR_OK if all results are usable. Otherwise it releases all, sets each to NULL, and returns the
// first failure, with the caller's name in the message.
tsr_status tsri_keep_all(const char *caller, tsr_tensor **results, int count);

// tsri_hand_out: as tsri_keep_all, then moves results[i] to *outs[i]; a result whose outs[i] is NULL is released. tsri_clear_outs: sets each *outs[i] to NULL.
tsr_status tsri_hand_out(const char *caller, tsr_tensor **results, tsr_tensor **const *outs, int count);
void tsri_clear_outs(tsr_tensor **const *outs, int count);

#endif
