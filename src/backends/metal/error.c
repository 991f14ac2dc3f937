// SPDX-License-Identifier: MIT
// Errors of Metal as statuses and messages.
#include "backends/metal/metal.h"

// MTLCommandBufferError
enum {
  ERROR_TIMEOUT = 2,
  ERROR_PAGE_FAULT = 3,
  ERROR_ACCESS_REVOKED = 4,
  ERROR_OUT_OF_MEMORY = 8,
  ERROR_DEVICE_REMOVED = 11
};

const char *tsri_metal_error_text(metal_id error) {
  metal_id description = error ? METAL_GET(metal_id, error, description) : NULL;
  const char *text = description ? METAL_GET(const char *, description, utf8) : NULL;
  return text ? text : "Metal gave no reason";
}

// After a page fault or a time-out the system ignores what this process still sends, so the device is lost, too.
tsr_status tsri_metal_status_of(metal_int code) {
  switch (code) {
    case ERROR_OUT_OF_MEMORY:
      return TSR_ERR_OUT_OF_MEMORY;
    case ERROR_TIMEOUT:
    case ERROR_PAGE_FAULT:
    case ERROR_ACCESS_REVOKED:
    case ERROR_DEVICE_REMOVED:
      return TSR_ERR_DEVICE_LOST;
    default:
      return TSR_ERR_INTERNAL;
  }
}

tsr_status tsri_metal_check_lost(metal_device *device) {
  if (!atomic_load(&device->is_lost)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DEVICE_LOST, "%s stopped working in an earlier call; open it again, or use another",
                   device->gpu.name);
}

tsr_status tsri_metal_no_memory(const metal_device *device, size_t bytes) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: Metal has no memory for a buffer of %zu bytes", device->gpu.name, bytes);
}
