// SPDX-License-Identifier: MIT
// Steps of optimisers in the trace of a capture (graph/trace.h).
#include "core/alloc.h"
#include "graph/trace.h"
#include "train/optim.h"

static int add(tsr_tensor **to, int at, const tsri_flat *flat, int count) {
  for (int i = 0; i < count; i++) to[at + i] = flat->tensors[i];
  return at + count;
}

int tsri_optim_tensors(const tsr_optim *optim, tsr_tensor **out_tensors) {
  const tsr_params *params = optim->params;
  int at = add(out_tensors, 0, &params->values, params->count);
  at = add(out_tensors, at, &params->gradients, params->count);
  for (int i = 0; i < TSRI_OPTIM_STATES; i++) {
    if (optim->states[i]) at = add(out_tensors, at, &optim->states[i]->values, params->count);
  }
  if (optim->scale) out_tensors[at++] = optim->scale;
  return at;
}

static void release(void *optim) { tsr_optim_release(optim); }

void tsri_optim_trace(tsr_optim *optim) {
  tsr_tensor **tensors = tsri_malloc(tsri_optim_most_tensors(optim) * sizeof(tsr_tensor *));
  int count = tensors ? tsri_optim_tensors(optim, tensors) : 0;
  tsri_trace_object(optim->params->device, TSRI_TRACED_UPDATE, tensors, count, tensors ? tsr_optim_retain(optim) : NULL,
                    release);
  tsri_free(tensors);
}
