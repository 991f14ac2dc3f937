// SPDX-License-Identifier: MIT
// A training step as a capture.
#include "step.h"

// Records the loss and its gradients. Of the forward pass, only the loss stays after that: tensors that are held while the parameters change would be
// computed before that, one by one, although nobody reads them.
static tsr_status record_gradients(const step_desc *desc, tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(tsr_params_device(desc->params));
  tsr_tensor *loss = NULL;
  status = tsr_params_watch(desc->params);
  if (status == TSR_OK) {
    loss = tsr_keep(desc->loss(desc->context));
    status = tsr_params_grad(desc->params, loss, NULL);
  }
  tsr_scope_end(scope);
  tsr_grad_end();
  if (status == TSR_OK) *out_loss = tsr_reshape(loss, TSR_SCALAR);  // the same, in the caller's scope
  tsr_release(loss);
  return status;
}

tsr_status step_capture(const step_desc *desc, tsr_tensor **out_loss, tsr_capture **out_step) {
  *out_loss = NULL;
  *out_step = NULL;
  tsr_status status = tsr_capture_begin(tsr_params_device(desc->params));
  if (status != TSR_OK) return status;
  status = record_gradients(desc, out_loss);
  if (status == TSR_OK) status = tsr_optim_step(desc->optim);
  tsr_status ended = tsr_capture_end(out_loss, status == TSR_OK ? 1 : 0, status == TSR_OK ? out_step : NULL);
  return status == TSR_OK ? ended : status;
}
