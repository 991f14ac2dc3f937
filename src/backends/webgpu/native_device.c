// SPDX-License-Identifier: MIT
// Devices of a webgpu.h library: opened with all the adapter's limits and features; errors and device loss.
#include <stdio.h>
#include <string.h>

#include "backends/webgpu/native.h"
#include "core/alloc.h"

// --- What the library tells by itself -------------------------------------------------------------------------------

static void on_lost(const wgpu_object *handle, uint32_t reason, wgpu_text message, void *user1, void *user2) {
  tsri_wgpu_device *device = user1;
  (void)handle, (void)user2;
  char text[500];
  tsri_wgpu_copy_text(message, text, sizeof text);
  snprintf(device->lost_text, sizeof device->lost_text, "WebGPU: device lost (reason %u): %s", (unsigned)reason, text);
  device->is_lost = true;
}

static void on_error(const wgpu_object *handle, uint32_t type, wgpu_text message, void *user1, void *user2) {
  tsri_wgpu_device *device = user1;
  (void)handle, (void)user2;
  if (device->error_type != 0) return;  // keep the first error, which is the cause of the others
  tsri_wgpu_copy_text(message, device->error_text, sizeof device->error_text);
  device->error_type = type;
}

tsr_status tsri_wgpu_check_lost(const tsri_wgpu_device *device) {
  return device->is_lost ? tsri_wgpu_fail(TSR_ERR_DEVICE_LOST, "%s", device->lost_text) : TSR_OK;
}

static tsr_status status_of(uint32_t type, tsr_status otherwise) {
  return type == WGPU_ERROR_OUT_OF_MEMORY ? TSR_ERR_OUT_OF_MEMORY : otherwise;
}

tsr_status tsri_wgpu_native_device_check(tsri_wgpu_device *device) {
  tsri_wgpu_lib.InstanceProcessEvents(device->instance);
  if (device->is_lost) return tsri_wgpu_check_lost(device);
  if (device->error_type == 0) return TSR_OK;
  uint32_t type = device->error_type;
  device->error_type = 0;
  tsri_wgpu_drop_groups(device);  // one of them may be what failed
  return tsri_wgpu_fail(status_of(type, TSR_ERR_INTERNAL), "WebGPU error %u: %s", (unsigned)type, device->error_text);
}

// --- Errors of one call ---------------------------------------------------------------------------------------------

void tsri_wgpu_begin_scopes(tsri_wgpu_device *device) {
  for (uint32_t filter = WGPU_FILTER_VALIDATION; filter <= WGPU_FILTER_INTERNAL; filter++) {
    tsri_wgpu_lib.DevicePushErrorScope(device->handle, filter);
  }
}

tsr_status tsri_wgpu_end_scopes(tsri_wgpu_device *device, tsr_status validation, const char *what) {
  enum { SCOPE_TIMEOUT_MS = 60000 };
  tsr_status status = TSR_OK;
  for (uint32_t filter = WGPU_FILTER_VALIDATION; filter <= WGPU_FILTER_INTERNAL; filter++) {
    wgpu_answer answer;
    wgpu_callback_info info = tsri_wgpu_scope_answer(&answer);
    (void)tsri_wgpu_lib.DevicePopErrorScope(device->handle, info);
    if (!tsri_wgpu_pump(device->instance, &answer.is_there, SCOPE_TIMEOUT_MS)) {
      // `answer` goes out of scope while the callback may still write to it, so no call may be made on this device any
      // more.
      device->is_lost = true;
      snprintf(device->lost_text, sizeof device->lost_text, "WebGPU: %s: no answer within %d s", what,
               SCOPE_TIMEOUT_MS / 1000);
      return tsri_wgpu_check_lost(device);
    }
    bool is_error = answer.status == WGPU_SUCCESS && answer.type > WGPU_ERROR_NONE;
    if (is_error && status == TSR_OK) {
      status = tsri_wgpu_fail(status_of(answer.type, validation), "WebGPU: %s: %s", what, answer.text);
    }
  }
  return device->is_lost ? tsri_wgpu_check_lost(device) : status;
}

// --- Opening --------------------------------------------------------------------------------------------------------

// Switches off two protections that cost time and that our kernels do not need: they write shared memory before
// reading it, and they stay within their buffers. On a software device robustness stays on, because there a faulty
// kernel would crash the process.
static const char *const dawn_toggles[] = {"disable_workgroup_init", "disable_robustness"};

// By default time stamps are rounded to a tenth of a millisecond, which protects web pages from each other.
static const char *const dawn_disabled[] = {"timestamp_quantization"};

static bool is_software(wgpu_object adapter) {
  wgpu_adapter_info info = {0};
  (void)tsri_wgpu_lib.AdapterGetInfo(adapter, &info);
  bool is_cpu = info.type == WGPU_ADAPTER_CPU;
  tsri_wgpu_lib.AdapterInfoFreeMembers(info);
  return is_cpu;
}

static tsr_status request_device(tsri_wgpu_device *device, bool wants_matrices, double timeout_ms) {
  wgpu_limits limits;
  memset(&limits, 0xff, sizeof limits);  // limits that the library does not fill in stay "undefined"
  limits.next = NULL;
  (void)tsri_wgpu_lib.AdapterGetLimits(device->adapter, &limits);
  wgpu_toggles toggles = {.chain = {.type = tsri_wgpu_current()->toggles_type},
                          .enabled_count = is_software(device->adapter) ? 1 : 2,
                          .enabled = dawn_toggles,
                          .disabled_count = 1,
                          .disabled = dawn_disabled};
  wgpu_device_descriptor descriptor = {.next = toggles.chain.type ? &toggles.chain : NULL, .limits = &limits};
  uint32_t features[8];
  descriptor.feature_count = tsri_wgpu_f16_features(device->adapter, features);
  descriptor.feature_count += tsri_wgpu_subgroup_features(device->adapter, features + descriptor.feature_count);
  descriptor.feature_count += tsri_wgpu_time_features(device->adapter, features + descriptor.feature_count);
  if (wants_matrices) {
    uint32_t count = tsri_wgpu_matrix_features(device->adapter, features + descriptor.feature_count);
    descriptor.feature_count += count;
    device->has_matrices = count > 0;
  }
  descriptor.features = features;
  descriptor.lost =
      (wgpu_callback_info){.mode = WGPU_MODE_SPONTANEOUS, .callback = (void (*)(void))on_lost, .user1 = device};
  descriptor.error = (wgpu_error_callback_info){.callback = on_error, .user1 = device};
  wgpu_answer *answer = &device->mapping;  // must live as long as the device's record
  wgpu_callback_info info = tsri_wgpu_object_answer(answer);
  (void)tsri_wgpu_lib.AdapterRequestDevice(device->adapter, &descriptor, info);
  if (!tsri_wgpu_pump(device->instance, &answer->is_there, timeout_ms)) {
    return tsri_wgpu_fail(TSR_ERR_TIMEOUT, "WebGPU: no device within %.0f ms", timeout_ms);
  }
  if (answer->status != WGPU_SUCCESS || !answer->object) {
    return tsri_wgpu_fail(TSR_ERR_INTERNAL, "WebGPU: no device (status %u): %s", (unsigned)answer->status,
                          answer->text);
  }
  device->handle = answer->object;
  device->queue = tsri_wgpu_lib.DeviceGetQueue(device->handle);
  return TSR_OK;
}

tsr_status tsri_wgpu_native_device_open(uint32_t index, bool wants_matrices, double timeout_ms,
                                        tsri_wgpu_device **out_device) {
  tsri_wgpu_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return tsri_wgpu_fail(TSR_ERR_OUT_OF_MEMORY, "no host memory for a device's record");
  tsr_status status = wants_matrices
                          ? tsri_wgpu_find_matrix_adapter(index, timeout_ms, &device->instance, &device->adapter)
                          : tsri_wgpu_find_adapter(index, false, timeout_ms, &device->instance, &device->adapter);
  if (status == TSR_OK) status = request_device(device, wants_matrices, timeout_ms);
  if (status == TSR_ERR_TIMEOUT)
    return status;  // the answer may still arrive and writes to the record, so it is not
                    // freed
  if (status != TSR_OK) {
    tsri_wgpu_native_device_close(device);
    return status;
  }
  *out_device = device;
  return TSR_OK;
}

void tsri_wgpu_native_device_close(tsri_wgpu_device *device) {
  const tsri_wgpu_entries *lib = &tsri_wgpu_lib;
  tsri_wgpu_drop_groups(device);
  tsri_wgpu_times_close(device);
  if (device->pass) lib->ComputePassEncoderRelease(device->pass);
  if (device->encoder) lib->CommandEncoderRelease(device->encoder);
  if (device->queue) lib->QueueRelease(device->queue);
  if (device->handle) {
    lib->DeviceDestroy(device->handle);  // calls on_lost, which needs the record
    lib->InstanceProcessEvents(device->instance);
    lib->DeviceRelease(device->handle);
  }
  if (device->adapter) lib->AdapterRelease(device->adapter);
  if (device->instance) lib->InstanceRelease(device->instance);
  tsri_free(device);
}
