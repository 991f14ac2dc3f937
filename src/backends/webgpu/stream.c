// SPDX-License-Identifier: MIT
// The command stream of a device: commands are recorded, then submitted in batches.
#include "backends/webgpu/webgpu.h"

#include "core/alloc.h"

tsr_status tsri_webgpu_stream_submit(webgpu_device *device) {
  if (device->recorded == 0) return TSR_OK;
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status != TSR_OK) return status;
  if (device->params_bytes > 0) {
    status = tsri_wgpu.write(device->handle, device->uniform, 0, device->params, device->params_bytes);
  }
  if (status == TSR_OK) status = tsri_wgpu.submit(device->handle, &device->submitted);
  device->recorded = 0;
  device->params_bytes = 0;
  for (uint32_t i = 0; i < device->temporary_count; i++) {
    tsri_wgpu.buffer_destroy(device->handle, device->temporaries[i]);
  }
  device->temporary_count = 0;
  return status == TSR_OK ? TSR_OK : WEBGPU_FAIL(device, status, "submitting");
}

tsr_status tsri_webgpu_stream_begin(webgpu_device *device, size_t params_bytes, uint32_t **out_params,
                                    size_t *out_offset) {
  tsr_status status = tsri_webgpu_check_lost(device);
  size_t alignment = device->adapter.uniform_alignment > 256 ? device->adapter.uniform_alignment : 256;
  size_t offset = webgpu_round_up(device->params_bytes, alignment);
  bool is_full = device->recorded >= WEBGPU_BATCH_COMMANDS || offset + params_bytes > WEBGPU_PARAMS_BYTES;
  if (status == TSR_OK && is_full) {
    status = tsri_webgpu_stream_submit(device);
    offset = 0;
  }
  if (status != TSR_OK || params_bytes == 0) return status;
  *out_params = device->params + offset / sizeof *device->params;
  *out_offset = offset;
  device->params_bytes = offset + params_bytes;
  return TSR_OK;
}

tsr_status tsri_webgpu_stream_end(webgpu_device *device) {
  device->recorded++;
  return TSR_OK;
}

tsr_status tsri_webgpu_temporary(webgpu_device *device, size_t bytes, tsri_wgpu_buffer **out_buffer) {
  webgpu_buffer buffer;
  if (device->temporary_count == WEBGPU_MAX_TEMPORARIES) {
    tsr_status status = tsri_webgpu_stream_submit(device);
    if (status != TSR_OK) return status;
  }
  tsr_status status = tsri_webgpu_allocate(device, TSRI_WGPU_STORAGE, bytes, &buffer);
  if (status != TSR_OK) return status;
  device->temporaries[device->temporary_count++] = buffer.handle;
  *out_buffer = buffer.handle;
  return TSR_OK;
}

tsr_status tsri_webgpu_stream_wait(webgpu_device *device, uint32_t number, uint64_t timeout_ns) {
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status != TSR_OK || number == 0) return status;
  if (number == device->submitted) device->enough = 0;
  status = tsri_wgpu.wait(device->handle, number, webgpu_milliseconds(timeout_ns));
  if (status == TSR_OK) status = tsri_wgpu.device_check(device->handle);
  return status == TSR_OK ? TSR_OK : WEBGPU_FAIL(device, status, "waiting for queued work");
}
