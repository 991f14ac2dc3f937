// SPDX-License-Identifier: MIT
// Gradients by all tensors of a set, written to one flat buffer.
#include "core/alloc.h"
#include "core/error.h"
#include "grad/backward.h"
#include "train/params.h"

#include <tessera/ops.h>

tsr_status tsri_params_need_gradients(tsr_params *params) {
  if (params->gradients.tensors) return TSR_OK;
  return tsri_flat_init(params, params->dtype, /*may_tear=*/true, &params->gradients);
}

tsr_status tsr_params_watch(const tsr_params *params) {
  tsr_status status = tsri_params_check("params_watch", params);
  for (int i = 0; status == TSR_OK && i < params->count; i++) status = tsr_grad_watch(params->values.tensors[i]);
  return status;
}

// Replaces gradients[i] by the new gradient of tensor i: with `adds`, the sum of gradients[i] and the gradient that the set has already.
static tsr_status add_up(const tsr_params *params, bool adds, tsr_tensor **gradients) {
  tsr_status status = TSR_OK;
  for (int i = 0; adds && i < params->count && status == TSR_OK; i++) {
    gradients[i] = tsr_add(params->gradients.tensors[i], gradients[i]);
    status = tsr_error(gradients[i]);
  }
  return status;
}

// Assigns the gradients to the set's memory. If one assignment fails, those before it stay; tsr_assign fails here only if host memory is out.
static tsr_status store(const tsr_params *params, tsr_tensor *const *gradients) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < params->count && status == TSR_OK; i++) {
    status = tsr_assign(params->gradients.tensors[i], gradients[i]);
  }
  return status;
}

static const char *name_of(const void *params, int index) { return ((const tsr_params *)params)->params[index].name; }

static tsr_status record(tsr_params *params, tsr_tensor *y, const tsr_grad_desc *desc, bool adds, const char *caller) {
  tsr_status status = tsri_params_check(caller, params);
  if (status == TSR_OK) status = tsri_params_need_gradients(params);
  if (status != TSR_OK) return status;
  tsr_tensor **gradients = tsri_calloc((size_t)params->count + 1, sizeof *gradients);
  tsr_scope *scope = gradients ? tsr_scope_begin(params->device) : NULL;
  if (!scope) {
    tsri_free(gradients);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for %d gradients", caller, params->count);
  }
  bool was_backward = tsri_grad_pass_begin();  // writing the gradients belongs to it, too
  const grad_targets targets = {params->values.tensors, params->count, name_of, params};
  status = tsri_grad(y, desc, &targets, gradients);
  tsr_grad_pause();
  if (status == TSR_OK) status = add_up(params, adds, gradients);
  if (status == TSR_OK) status = store(params, gradients);
  tsr_grad_resume();
  tsri_grad_pass_end(was_backward, !desc || !desc->keep);
  tsr_status ended = tsr_scope_end(scope);
  tsri_free(gradients);
  return status == TSR_OK ? ended : status;
}

tsr_status tsr_params_grad(tsr_params *params, tsr_tensor *y, const tsr_grad_desc *desc) {
  return record(params, y, desc, false, "params_grad");
}

tsr_status tsr_params_grad_add(tsr_params *params, tsr_tensor *y, const tsr_grad_desc *desc) {
  return record(params, y, desc, true, "params_grad_add");
}
