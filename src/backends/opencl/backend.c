// SPDX-License-Identifier: MIT
// The OpenCL backend's table, or, where the headers were missing when Tessera was built, one that says so.
#include "backends/opencl/opencl.h"
#include "core/error.h"

#if TSRI_HAS_OPENCL

static tsr_status opencl_start(const tsri_host *host) {
  (void)host;  // built in: errors go through TSRI_FAIL
  return tsri_opencl_load(tsri_opencl_library_names);
}

const tsri_backend tsri_opencl_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "opencl",
    .title = "OpenCL",
    .code_forms = TSRI_CODE_TEXT,
    .dialect = "opencl",
    .start = opencl_start,
    .stop = tsri_opencl_stop,
    .device_count = tsri_opencl_device_count,
    .device_info = tsri_opencl_device_info,
    .device_open = tsri_opencl_device_open,
    .device_close = tsri_opencl_device_close,
    .memory_info = tsri_opencl_memory_info,
    .buffer_create = tsri_opencl_buffer_create,
    .buffer_destroy = tsri_opencl_buffer_destroy,
    .queue_create = tsri_opencl_queue_create,
    .queue_destroy = tsri_opencl_queue_destroy,
    .queue_wait = tsri_opencl_queue_wait,
    .copy_in = tsri_opencl_copy_in,
    .copy_out = tsri_opencl_copy_out,
    .copy = tsri_opencl_copy,
    .fill = tsri_opencl_fill,
    .event_create = tsri_opencl_event_create,
    .event_destroy = tsri_opencl_event_destroy,
    .event_record = tsri_opencl_event_record,
    .event_await = tsri_opencl_event_await,
    .event_is_done = tsri_opencl_event_is_done,
    .event_elapsed = tsri_opencl_event_elapsed,
    .program_create = tsri_opencl_program_create,
    .program_destroy = tsri_opencl_program_destroy,
    .launch = tsri_opencl_launch,
};

#else

static tsr_status opencl_start(const tsri_host *host) {
  (void)host;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                   "this Tessera was built without the OpenCL headers; install them (Debian: opencl-headers) and "
                   "build it again");
}

const tsri_backend tsri_opencl_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "opencl",
    .title = "OpenCL",
    .start = opencl_start,
};

#endif
