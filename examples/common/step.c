// SPDX-License-Identifier: MIT
// A training step as a capture.
#include "step.h"

static tsr_status record(const step_desc *desc, tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  status = tsr_params_watch(desc->params);
  if (status == TSR_OK) {
    *out_loss = desc->loss(desc->context);
    status = tsr_params_grad(desc->params, *out_loss, NULL);
  }
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(desc->optim) : status;
}

tsr_status step_capture(const step_desc *desc, tsr_tensor **out_loss, tsr_capture **out_step) {
  *out_loss = NULL;
  *out_step = NULL;
  tsr_status status = tsr_capture_begin(tsr_params_device(desc->params));
  if (status != TSR_OK) return status;
  status = record(desc, out_loss);
  tsr_status ended = tsr_capture_end(out_loss, status == TSR_OK ? 1 : 0, status == TSR_OK ? out_step : NULL);
  return status == TSR_OK ? ended : status;
}
