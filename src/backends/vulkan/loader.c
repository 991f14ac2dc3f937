// SPDX-License-Identifier: MIT
// Opens libvulkan; if it is missing, the message says what to install.
#include "backends/vulkan/loader.h"

#if TSRI_HAS_VULKAN

#include <stdio.h>
#include <string.h>

#include "backends/common/trail.h"
#include "core/error.h"
#include "platform/platform.h"

tsri_vulkan_api tsri_vk;

#if defined(_WIN32)
#define HOW_TO_GET_IT "install the graphics driver of the GPU's maker"
const char *const tsri_vulkan_library_names[] = {"vulkan-1.dll", NULL};
#elif defined(__APPLE__)
#define HOW_TO_GET_IT "install the Vulkan SDK with MoltenVK; Metal is the better choice there"
const char *const tsri_vulkan_library_names[] = {"libvulkan.1.dylib", "libMoltenVK.dylib", NULL};
#else
#define HOW_TO_GET_IT                                                                                        \
  "install the loader and a driver (Debian: libvulkan1 with the GPU maker's driver or mesa-vulkan-drivers, " \
  "which also has one for the CPU)"
const char *const tsri_vulkan_library_names[] = {"libvulkan.so.1", "libvulkan.so", NULL};
#endif

static bool find_start(tsri_library *library, char *reason, size_t reason_bytes) {
  void *entry = tsri_library_symbol(library, "vkGetInstanceProcAddr");
  if (!entry) {
    snprintf(reason, reason_bytes, "has no vkGetInstanceProcAddr");
    return false;
  }
  // memcpy, because ISO C has no conversion from object pointers to function pointers.
  memcpy(&tsri_vk.GetInstanceProcAddr, &entry, sizeof entry);
#define VK_START(name)                                                                     \
  tsri_vk.name = (PFN_vk##name)tsri_vk.GetInstanceProcAddr(NULL, "vk" #name);              \
  if (!tsri_vk.name) {                                                                     \
    snprintf(reason, reason_bytes, "has no vk" #name ", so it is no Vulkan 1.1 or newer"); \
    return false;                                                                          \
  }
#define VK_INSTANCE(name)
#define VK_DEVICE(name)
#define VK_EXTRA(name)
#include "backends/vulkan/entry_points.def"
  return true;
}

tsr_status tsri_vulkan_load(const char *const *names) {
  char trail[400] = "";
  for (; *names; names++) {
    char reason[200];
    tsri_library *library = tsri_library_open(*names, reason, sizeof reason);
    if (library && find_start(library, reason, sizeof reason)) return TSR_OK;
    tsri_library_close(library);
    tsri_trail_add(trail, sizeof trail, *names, reason);
  }
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "no Vulkan library here (%s); %s", trail, HOW_TO_GET_IT);
}

tsr_status tsri_vulkan_load_instance(VkInstance instance) {
#define VK_START(name)
#define VK_INSTANCE(name)                                                         \
  tsri_vk.name = (PFN_vk##name)tsri_vk.GetInstanceProcAddr(instance, "vk" #name); \
  if (!tsri_vk.name) return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "vulkan: the library has no vk" #name);
#define VK_DEVICE(name)
#define VK_EXTRA(name)
#include "backends/vulkan/entry_points.def"
  return TSR_OK;
}

tsr_status tsri_vulkan_load_device(VkDevice device, tsri_vulkan_device_api *out_api) {
#define VK_START(name)
#define VK_INSTANCE(name)
#define VK_DEVICE(name)                                                        \
  out_api->name = (PFN_vk##name)tsri_vk.GetDeviceProcAddr(device, "vk" #name); \
  if (!out_api->name) return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "vulkan: the driver has no vk" #name);
#define VK_EXTRA(name) out_api->name = (PFN_vk##name)tsri_vk.GetDeviceProcAddr(device, "vk" #name);
#include "backends/vulkan/entry_points.def"
  return TSR_OK;
}

#endif
