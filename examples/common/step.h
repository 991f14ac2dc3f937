// SPDX-License-Identifier: MIT
// A training step as a capture. 07_spirals.c shows the same written out.
#ifndef TESSERA_EXAMPLES_STEP_H
#define TESSERA_EXAMPLES_STEP_H

#include <tessera/tessera.h>

typedef struct step_desc {
  tsr_params *params;
  tsr_optim *optim;                    // of params
  tsr_tensor *(*loss)(void *context);  // records the loss of the present batch, a single number
  void *context;
} step_desc;

// Records the loss, its gradients by all parameters and their update, and captures that: it has run once then.
//
// Ownership: caller releases *out_step; the caller's scope *out_loss. On failure *out_step is NULL.
tsr_status step_capture(const step_desc *desc, tsr_tensor **out_loss, tsr_capture **out_step);

#endif
