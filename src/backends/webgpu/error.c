// SPDX-License-Identifier: MIT
// Converts failures of WebGPU to statuses and messages.
#include "backends/webgpu/webgpu.h"

tsr_status tsri_webgpu_fail_at(webgpu_device *device, tsr_status status, const char *place, const char *what) {
  char text[1200];
  tsri_wgpu.error_text(text, sizeof text);
  if (status == TSR_ERR_DEVICE_LOST && device) device->is_lost = true;
  return tsri_fail(status, place, "%s: %s: %s", device ? device->name : "webgpu", what, text);
}

tsr_status tsri_webgpu_check_lost(const webgpu_device *device) {
  if (!device->is_lost) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DEVICE_LOST, "%s: the device was lost; open it again", device->name);
}
