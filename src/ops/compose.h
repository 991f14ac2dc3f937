// SPDX-License-Identifier: MIT
// For operators composed of others.
#ifndef TSRI_OPS_COMPOSE_H
#define TSRI_OPS_COMPOSE_H

#include <tessera/tensor.h>

// Releases the intermediate tensor `done` and returns `result`, which was recorded from it: recorded nodes hold what they need.
static inline tsr_tensor *tsri_then(tsr_tensor *result, tsr_tensor *done) {
  tsr_release(done);
  return result;
}

// Releases `count` intermediate tensors.
void tsri_release_all(tsr_tensor *const *tensors, int count);

// For operators with several results. tsri_keep_all: TSR_OK if all are usable; else releases them, sets each to NULL, and returns the first
// failure, with the caller's name in its message.
tsr_status tsri_keep_all(const char *caller, tsr_tensor **results, int count);

// As tsri_keep_all, and gives results[i] to *outs[i]; those whose outs[i] is NULL are released. tsri_clear_outs sets each *outs[i] to NULL.
tsr_status tsri_hand_out(const char *caller, tsr_tensor **results, tsr_tensor **const *outs, int count);
void tsri_clear_outs(tsr_tensor **const *outs, int count);

#endif
