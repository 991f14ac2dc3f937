// SPDX-License-Identifier: MIT
// The report of what a training step took in memory. The pool counts it; nodes say which pass they belong to.
#include "core/error.h"
#include "runtime/device.h"

#include <tessera/grad.h>

tsr_status tsr_grad_get_memory(tsr_device *device, tsr_grad_memory *out_memory) {
  tsr_status status = tsri_device_check("grad_get_memory", device);
  if (status != TSR_OK) return status;
  if (!out_memory) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad_get_memory: out_memory is NULL");
  tsri_pool_peaks peaks;
  tsri_pool_get_peaks(device->pool, &peaks);
  *out_memory = (tsr_grad_memory){
      .start_bytes = peaks.start_bytes, .forward_bytes = peaks.in_passes[0], .backward_bytes = peaks.in_passes[1]};
  return TSR_OK;
}
