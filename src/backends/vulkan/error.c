// SPDX-License-Identifier: MIT
// Converts Vulkan's result codes to statuses and messages.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <stdio.h>

const char *tsri_vulkan_code_name(VkResult code) {
  switch (code) {
#define VK_CODE(name) \
  case VK_##name:     \
    return "VK_" #name;
#include "backends/vulkan/codes.def"
#undef VK_CODE
    default:
      return "an unknown code";
  }
}

tsr_status tsri_vulkan_fail_at(vulkan_device *device, VkResult code, tsr_status otherwise, const char *place,
                               const char *what) {
  tsr_status status = otherwise;
  const char *name = device ? device->name : "vulkan";
  switch (code) {
    case VK_ERROR_DEVICE_LOST:
      if (device) atomic_store(&device->is_lost, true);
      status = TSR_ERR_DEVICE_LOST;
      break;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED:
      status = TSR_ERR_OUT_OF_MEMORY;
      break;
    default:
      break;
  }
  return tsri_fail(status, place, "%s: %s: Vulkan %d: %s", name, what, (int)code, tsri_vulkan_code_name(code));
}

tsr_status tsri_vulkan_check_lost(vulkan_device *device) {
  if (!atomic_load(&device->is_lost)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DEVICE_LOST, "%s: the device was lost; open it again", device->name);
}

#endif
