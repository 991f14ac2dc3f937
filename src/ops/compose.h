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

#endif
