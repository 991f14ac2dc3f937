// SPDX-License-Identifier: MIT
// Buffers. Each block of the pool is its own WebGPU buffer, because a dispatch that writes a buffer may not bind it a
// second time.
#include <stdio.h>

#include "backends/webgpu/webgpu.h"
#include "core/alloc.h"

tsr_status tsri_webgpu_allocate(webgpu_device *device, tsri_wgpu_buffer_kind kind, size_t bytes,
                                webgpu_buffer *out_buffer) {
  *out_buffer = (webgpu_buffer){.bytes = webgpu_round_up(bytes, WEBGPU_ROUND_BYTES)};
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status != TSR_OK) return status;
  // A software device would allocate more than the host has, and the system would kill the process: check first.
  if (device->adapter.kind == TSRI_WGPU_SOFTWARE) {
    uint64_t total = 0, free_bytes = 0;
    tsri_memory_size(&total, &free_bytes);
    if (total > 0 && bytes > free_bytes) {
      return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: a buffer of %zu bytes, %llu are free", device->name, bytes,
                       (unsigned long long)free_bytes);
    }
  }
  status = tsri_wgpu.buffer_create(device->handle, kind, out_buffer->bytes, &out_buffer->handle);
  return status == TSR_OK ? TSR_OK : WEBGPU_FAIL(device, status, "a buffer");
}

tsr_status tsri_webgpu_buffer_create(tsri_device *opaque, size_t bytes, tsri_buffer **out_buffer) {
  webgpu_device *device = webgpu_device_of(opaque);
  webgpu_buffer *buffer = tsri_malloc(sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for a buffer's record");
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_webgpu_allocate(device, TSRI_WGPU_STORAGE, bytes, buffer);
  tsri_mutex_unlock(&device->lock);
  if (status != TSR_OK) {
    tsri_free(buffer);
    return status;
  }
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

// Recorded commands may still use the buffer, so they are submitted first.
void tsri_webgpu_buffer_destroy(tsri_device *opaque, tsri_buffer *opaque_buffer) {
  webgpu_device *device = webgpu_device_of(opaque);
  webgpu_buffer *buffer = webgpu_buffer_of(opaque_buffer);
  tsri_mutex_lock(&device->lock);
  if (!device->is_lost) (void)tsri_webgpu_stream_submit(device);
  tsri_wgpu.buffer_destroy(device->handle, buffer->handle);
  tsri_mutex_unlock(&device->lock);
  tsri_free(buffer);
}
