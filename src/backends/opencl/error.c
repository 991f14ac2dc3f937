// SPDX-License-Identifier: MIT
// Converts OpenCL's codes to statuses, with their names in the message.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include <stdarg.h>
#include <stdio.h>

// NVIDIA's code for an illegal memory access in a kernel; no header defines it.
#define CL_ILLEGAL_ACCESS_NV -9999

static const struct code_name {
  cl_int code;
  const char *name;
} code_names[] = {
#define TSRI_CODE(code) {code, #code},
#include "backends/opencl/codes.def"
#undef TSRI_CODE
};

const char *tsri_opencl_code_name(cl_int code) {
  for (size_t i = 0; i < sizeof code_names / sizeof code_names[0]; i++) {
    if (code_names[i].code == code) return code_names[i].name;
  }
  return "an unknown code";
}

bool tsri_opencl_may_mean_loss(cl_int code) {
  return code == CL_OUT_OF_RESOURCES || code == CL_ILLEGAL_ACCESS_NV || code == CL_INVALID_COMMAND_QUEUE ||
         code == CL_INVALID_CONTEXT || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

static bool still_works(const opencl_device *device) {
  const cl_uint zero = 0;
  return tsri_cl.EnqueueFillBuffer(device->setup, device->probe, &zero, sizeof zero, 0, sizeof zero, 0, NULL, NULL) ==
             CL_SUCCESS &&
         tsri_opencl_wait(device->setup, device->timeout_ns) == CL_SUCCESS;
}

// Whether the device is lost, by this code or an earlier one; remembers it.
static bool note_loss(opencl_device *device, cl_int code) {
  if (!device) return false;
  bool is_lost = atomic_load(&device->is_lost) || code == CL_DEVICE_NOT_AVAILABLE ||
                 (tsri_opencl_may_mean_loss(code) && !still_works(device));
  if (is_lost) atomic_store(&device->is_lost, true);
  return is_lost;
}

static bool is_memory(cl_int code) { return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY; }

tsr_status tsri_opencl_fail(opencl_device *device, cl_int code, tsr_status otherwise, const char *place,
                            const char *format, ...) {
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const char *name = device ? device->name : "OpenCL", *code_name = tsri_opencl_code_name(code);
  if (note_loss(device, code)) {
    return tsri_fail(TSR_ERR_DEVICE_LOST, place, "%s stopped working: %s: OpenCL %d %s", name, what, code, code_name);
  }
  return tsri_fail(is_memory(code) ? TSR_ERR_OUT_OF_MEMORY : otherwise, place, "%s: %s: OpenCL %d %s", name, what, code,
                   code_name);
}

tsr_status tsri_opencl_check(opencl_device *device) {
  if (!atomic_load(&device->is_lost)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DEVICE_LOST, "%s stopped working in an earlier call; open it again, or use another",
                   device->name);
}

#endif
