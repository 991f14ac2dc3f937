// SPDX-License-Identifier: MIT
// The Vulkan backend's table. It needs Vulkan 1.1 and uses compute only; programs are SPIR-V
// (src/lang/emit/spirv/spirv.c).
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
    TSRI_DRIVER_ENTRIES(vulkan),
    .buffer_host = tsri_vulkan_buffer_host,
    .host_alloc = tsri_vulkan_host_alloc,
    .host_free = tsri_vulkan_host_free,
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
