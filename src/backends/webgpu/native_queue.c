// SPDX-License-Identifier: MIT
// Commands of a webgpu.h library: recording, submitting, waiting, reading back.
#include <string.h>

#include "backends/webgpu/native.h"

// --- Recording ------------------------------------------------------------------------------------------------------

tsr_status tsri_wgpu_open_encoder(tsri_wgpu_device *device) {
  if (!device->encoder) device->encoder = tsri_wgpu_lib.DeviceCreateCommandEncoder(device->handle, NULL);
  return device->encoder ? TSR_OK : tsri_wgpu_fail(TSR_ERR_INTERNAL, "WebGPU: no command encoder");
}

void tsri_wgpu_end_pass(tsri_wgpu_device *device) {
  if (!device->pass) return;
  tsri_wgpu_lib.ComputePassEncoderEnd(device->pass);
  tsri_wgpu_lib.ComputePassEncoderRelease(device->pass);
  device->pass = device->pipeline = NULL;
}

tsr_status tsri_wgpu_native_write(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, const void *data,
                                  size_t bytes) {
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status != TSR_OK) return status;
  tsri_wgpu_lib.QueueWriteBuffer(device->queue, buffer->handle, offset, data, bytes);
  return TSR_OK;
}

tsr_status tsri_wgpu_native_copy(tsri_wgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset,
                                 tsri_wgpu_buffer *src, size_t src_offset, size_t bytes) {
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status == TSR_OK) status = tsri_wgpu_open_encoder(device);
  if (status != TSR_OK) return status;
  tsri_wgpu_end_pass(device);
  tsri_wgpu_lib.CommandEncoderCopyBufferToBuffer(device->encoder, src->handle, src_offset, dst->handle, dst_offset,
                                                 bytes);
  return TSR_OK;
}

tsr_status tsri_wgpu_native_dispatch(tsri_wgpu_device *device, tsri_wgpu_program *program,
                                     const tsri_wgpu_binding *storage, uint32_t storage_count,
                                     tsri_wgpu_buffer *uniform, size_t uniform_offset, uint32_t groups_x,
                                     uint32_t groups_y, uint32_t groups_z) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status == TSR_OK) status = tsri_wgpu_open_encoder(device);
  if (status != TSR_OK) return status;
  if (!device->pass) device->pass = lib->CommandEncoderBeginComputePass(device->encoder, NULL);
  wgpu_object group = tsri_wgpu_group_of(device, program, storage, storage_count, uniform);
  if (!device->pass || !group) return tsri_wgpu_fail(TSR_ERR_LAUNCH, "WebGPU: no compute pass or bind group");
  uint32_t offset = (uint32_t)uniform_offset;
  if (device->pipeline != program->pipeline) lib->ComputePassEncoderSetPipeline(device->pass, program->pipeline);
  device->pipeline = program->pipeline;
  lib->ComputePassEncoderSetBindGroup(device->pass, 0, group, 1, &offset);
  lib->ComputePassEncoderDispatchWorkgroups(device->pass, groups_x, groups_y, groups_z);
  return TSR_OK;
}

// --- Submitting -----------------------------------------------------------------------------------------------------

// Newer libraries pass a message (two words) before the user pointers, older ones do not. Both user pointers are set
// to the submission, so a == b means that there was no message.
static void on_done(uint32_t status, void *a, void *b, void *c, void *d) {
  struct wgpu_submission *submission = a && a == b ? a : c;
  (void)d;
  submission->has_failed = status != WGPU_SUCCESS;
  submission->is_done = true;
}

static tsr_status free_slot(tsri_wgpu_device *device, struct wgpu_submission *slot) {
  enum { SLOT_TIMEOUT_MS = 600 * 1000 };
  if (slot->number == 0 || slot->is_done) return TSR_OK;
  return tsri_wgpu_native_wait(device, slot->number, SLOT_TIMEOUT_MS);
}

tsr_status tsri_wgpu_native_submit(tsri_wgpu_device *device, uint32_t *out_number) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  tsr_status status = tsri_wgpu_check_lost(device);
  struct wgpu_submission *slot = &device->submissions[(device->submitted + 1) % WGPU_MAX_SUBMISSIONS];
  if (status == TSR_OK) status = free_slot(device, slot);
  if (status == TSR_OK) status = tsri_wgpu_open_encoder(device);
  if (status != TSR_OK) return status;
  tsri_wgpu_end_pass(device);
  tsri_wgpu_times_resolve(device);
  wgpu_object commands = lib->CommandEncoderFinish(device->encoder, NULL);
  lib->CommandEncoderRelease(device->encoder);
  device->encoder = NULL;
  if (!commands) return tsri_wgpu_fail(TSR_ERR_INTERNAL, "WebGPU: no command buffer");
  lib->QueueSubmit(device->queue, 1, &commands);
  lib->CommandBufferRelease(commands);
  *slot = (struct wgpu_submission){.number = ++device->submitted};
  wgpu_callback_info info = {
      .mode = WGPU_MODE_PROCESS_EVENTS, .callback = (void (*)(void))on_done, .user1 = slot, .user2 = slot};
  (void)lib->QueueOnSubmittedWorkDone(device->queue, info);
  *out_number = device->submitted;
  return TSR_OK;
}

tsr_status tsri_wgpu_native_wait(tsri_wgpu_device *device, uint32_t number, double timeout_ms) {
  const struct wgpu_submission *slot = &device->submissions[number % WGPU_MAX_SUBMISSIONS];
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status != TSR_OK) return status;
  if (slot->number != number || slot->is_done)
    return TSR_OK;  // the slot was reused for a newer submission, or the
                    // work is done
  bool is_done = tsri_wgpu_pump(device->instance, &slot->is_done, timeout_ms);
  if (device->is_lost) return tsri_wgpu_check_lost(device);
  if (!is_done) return tsri_wgpu_fail(TSR_ERR_TIMEOUT, "WebGPU: the work did not finish within %.3f ms", timeout_ms);
  if (slot->has_failed) return tsri_wgpu_fail(TSR_ERR_INTERNAL, "WebGPU: submitted work failed");
  return TSR_OK;
}

// --- Reading back ---------------------------------------------------------------------------------------------------

tsr_status tsri_wgpu_native_read(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, void *data,
                                 size_t bytes, double timeout_ms) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  tsr_status status = tsri_wgpu_check_lost(device);
  if (status != TSR_OK) return status;
  size_t end = (offset + bytes + 7) & ~(size_t)7;
  if (end > buffer->bytes) end = buffer->bytes;
  wgpu_answer *answer = &device->mapping;
  wgpu_callback_info info = tsri_wgpu_status_answer(answer);
  (void)lib->BufferMapAsync(buffer->handle, WGPU_MAP_READ, 0, end, info);
  if (!tsri_wgpu_pump(device->instance, &answer->is_there, timeout_ms)) {
    lib->BufferUnmap(buffer->handle);  // cancels the request
    (void)tsri_wgpu_pump(device->instance, &answer->is_there, 1000);
    return tsri_wgpu_fail(TSR_ERR_TIMEOUT, "WebGPU: the copy did not finish within %.3f ms", timeout_ms);
  }
  if (device->is_lost) return tsri_wgpu_check_lost(device);
  const char *mapped = answer->status == WGPU_SUCCESS ? lib->BufferGetConstMappedRange(buffer->handle, 0, end) : NULL;
  if (mapped) memcpy(data, mapped + offset, bytes);
  if (answer->status == WGPU_SUCCESS) lib->BufferUnmap(buffer->handle);
  if (mapped) return TSR_OK;
  return tsri_wgpu_fail(TSR_ERR_INTERNAL, "WebGPU: mapping %zu bytes (status %u): %s", bytes, (unsigned)answer->status,
                        answer->text);
}
