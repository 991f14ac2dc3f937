// SPDX-License-Identifier: MIT
// Results and intermediate tensors of composed operators.
#include "ops/compose.h"

#include "core/error.h"
#include "core/tensor.h"

void tsri_release_all(tsr_tensor *const *tensors, int count) {
  for (int i = 0; i < count; i++) tsr_release(tensors[i]);
}

tsr_status tsri_keep_all(const char *caller, tsr_tensor **results, int count) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(caller, results[i]);
  if (status == TSR_OK) return status;
  tsri_fail_as(caller, status);
  tsri_release_all(results, count);
  for (int i = 0; i < count; i++) results[i] = NULL;
  return status;
}

tsr_status tsri_hand_out(const char *caller, tsr_tensor **results, tsr_tensor **const *outs, int count) {
  tsr_status status = tsri_keep_all(caller, results, count);
  for (int i = 0; i < count && status == TSR_OK; i++) {
    if (outs[i]) *outs[i] = results[i];
    else tsr_release(results[i]);
  }
  return status;
}

void tsri_clear_outs(tsr_tensor **const *outs, int count) {
  for (int i = 0; i < count; i++) {
    if (outs[i]) *outs[i] = NULL;
  }
}
