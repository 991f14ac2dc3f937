// SPDX-License-Identifier: MIT
// Time stamps of a webgpu.h library. A pass without commands writes one at its end. Before a submission, all that were written are copied to
// memory that the host can read.
#include "backends/webgpu/native.h"
#include "core/alloc.h"

enum { STAMP_BYTES = 8, QUERY_TIMESTAMP = 2, USAGE_RESOLVE = 0x200, TIMESTAMP_FEATURES = 2 };

// The number of the feature timestamp-query, and the number that it had until 2025.
static const uint32_t features[TIMESTAMP_FEATURES] = {9, 3};

uint32_t tsri_wgpu_time_features(wgpu_object adapter, uint32_t out_numbers[2]) {
  uint32_t count = 0;
  for (int i = 0; i < TIMESTAMP_FEATURES; i++) {
    if (tsri_wgpu_lib.AdapterHasFeature(adapter, features[i])) out_numbers[count++] = features[i];
  }
  return count;
}

tsr_status tsri_wgpu_native_times_open(tsri_wgpu_device *device, uint32_t count) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  uint64_t bytes = (uint64_t)count * STAMP_BYTES;
  wgpu_query_descriptor queries = {.type = QUERY_TIMESTAMP, .count = count};
  wgpu_buffer_descriptor resolved = {.usage = USAGE_RESOLVE | WGPU_USAGE_COPY_SRC, .bytes = bytes};
  tsri_wgpu_begin_scopes(device);
  device->times.set = lib->DeviceCreateQuerySet(device->handle, &queries);
  device->times.resolved = lib->DeviceCreateBuffer(device->handle, &resolved);
  tsr_status status = tsri_wgpu_end_scopes(device, TSR_ERR_UNSUPPORTED, "time stamps");
  if (status == TSR_OK)
    status = tsri_wgpu_native_buffer_create(device, TSRI_WGPU_READBACK, (size_t)bytes, &device->times.read);
  if (status == TSR_OK && (!device->times.set || !device->times.resolved))
    status = tsri_wgpu_fail(TSR_ERR_UNSUPPORTED, "WebGPU: no time stamps");
  if (status != TSR_OK) tsri_wgpu_times_close(device);
  return status;
}

void tsri_wgpu_times_close(tsri_wgpu_device *device) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  if (device->times.set) lib->QuerySetRelease(device->times.set);
  if (device->times.resolved) lib->BufferRelease(device->times.resolved);
  if (device->times.read) tsri_wgpu_native_buffer_destroy(device, device->times.read);
  device->times = (struct wgpu_times){0};
}

tsr_status tsri_wgpu_native_time_write(tsri_wgpu_device *device, uint32_t slot) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status == TSR_OK) status = tsri_wgpu_open_encoder(device);
  if (status != TSR_OK) return status;
  tsri_wgpu_end_pass(device);
  wgpu_pass_times at = {.set = device->times.set, .beginning = UINT32_MAX, .end = slot};
  wgpu_object pass = lib->CommandEncoderBeginComputePass(device->encoder, &(wgpu_pass_descriptor){.times = &at});
  if (!pass) return tsri_wgpu_fail(TSR_ERR_INTERNAL, "WebGPU: no compute pass");
  lib->ComputePassEncoderEnd(pass);
  lib->ComputePassEncoderRelease(pass);
  if (slot >= device->times.written) device->times.written = slot + 1;
  device->times.is_new = true;
  return TSR_OK;
}

void tsri_wgpu_times_resolve(tsri_wgpu_device *device) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  if (!device->times.is_new) return;
  uint32_t count = device->times.written;
  lib->CommandEncoderResolveQuerySet(device->encoder, device->times.set, 0, count, device->times.resolved, 0);
  lib->CommandEncoderCopyBufferToBuffer(device->encoder, device->times.resolved, 0, device->times.read->handle, 0,
                                        (uint64_t)count * STAMP_BYTES);
  device->times.is_new = false;
}

tsr_status tsri_wgpu_native_times_read(tsri_wgpu_device *device, uint64_t *out_ns, double timeout_ms) {
  if (device->times.written == 0) return TSR_OK;
  return tsri_wgpu_native_read(device, device->times.read, 0, out_ns, (size_t)device->times.written * STAMP_BYTES,
                               timeout_ms);
}
