// SPDX-License-Identifier: MIT
// In the browser, rnn, lstm and gru are composed step by step, so that the module has fewer kernels.
#include "ops/recurrent.h"

bool tsri_recurrent_has_kernel(const tsri_recurrence *r, const tsr_device *device) {
  (void)r, (void)device;
  return false;
}

void tsri_recurrent_record(const tsri_recurrence *r, tsr_device *device, tsr_tensor *inputs, tsr_tensor *weight,
                           tsr_tensor **out_results) {
  (void)r, (void)device, (void)inputs, (void)weight, (void)out_results;
}
