// SPDX-License-Identifier: MIT
// The Vulkan backend's table. Vulkan 1.1, compute only; programs are SPIR-V (src/lang/emit/spirv/spirv.c).
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

const tsri_backend tsri_vulkan_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "vulkan",
    .title = "Vulkan",
    .code_forms = TSRI_CODE_WORDS,
    .dialect = "spirv",
    .start = tsri_vulkan_start,
    .stop = tsri_vulkan_stop,
    .device_count = tsri_vulkan_device_count,
    .device_info = tsri_vulkan_device_info,
    .device_open = tsri_vulkan_device_open,
    .device_close = tsri_vulkan_device_close,
    .memory_info = tsri_vulkan_memory_info,
    .buffer_create = tsri_vulkan_buffer_create,
    .buffer_destroy = tsri_vulkan_buffer_destroy,
    .buffer_host = tsri_vulkan_buffer_host,
    .queue_create = tsri_vulkan_queue_create,
    .queue_destroy = tsri_vulkan_queue_destroy,
    .queue_wait = tsri_vulkan_queue_wait,
    .copy_in = tsri_vulkan_copy_in,
    .copy_out = tsri_vulkan_copy_out,
    .copy = tsri_vulkan_copy,
    .fill = tsri_vulkan_fill,
    .event_create = tsri_vulkan_event_create,
    .event_destroy = tsri_vulkan_event_destroy,
    .event_record = tsri_vulkan_event_record,
    .event_await = tsri_vulkan_event_await,
    .event_is_done = tsri_vulkan_event_is_done,
    .event_elapsed = tsri_vulkan_event_elapsed,
    .program_create = tsri_vulkan_program_create,
    .program_destroy = tsri_vulkan_program_destroy,
    .launch = tsri_vulkan_launch,
    .native_ops = tsri_vulkan_native_ops,
    .has_op = tsri_vulkan_has_op,
    .run_op = tsri_vulkan_run_op,
};

#else

#include "core/error.h"

static tsr_status start_without_headers(const tsri_host *host) {
  (void)host;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                   "Tessera was built where Vulkan's headers were missing; install them (Debian: libvulkan-dev) and "
                   "build again");
}

static tsr_status no_devices(int *out_count) {
  *out_count = 0;
  return TSR_OK;
}

const tsri_backend tsri_vulkan_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "vulkan",
    .title = "Vulkan",
    .start = start_without_headers,
    .device_count = no_devices,
};

#endif
