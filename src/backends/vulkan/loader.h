// SPDX-License-Identifier: MIT
// libvulkan, opened at run time: tables with one function pointer per entry point used.
#ifndef TSRI_VULKAN_LOADER_H
#define TSRI_VULKAN_LOADER_H

#include <tessera/status.h>

#if !defined(TSRI_HAS_VULKAN)
#if defined(__has_include)
#if __has_include(<vulkan/vulkan.h>)
#define TSRI_HAS_VULKAN 1
#endif
#endif
#endif
#if !defined(TSRI_HAS_VULKAN)
#define TSRI_HAS_VULKAN 0
#endif

#if TSRI_HAS_VULKAN

#define VK_NO_PROTOTYPES
#include <stdbool.h>
#include <vulkan/vulkan.h>

// Functions of the library and of the instance. VK_START and VK_INSTANCE entries of entry_points.def.
typedef struct tsri_vulkan_api {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VK_START(name)    PFN_vk##name name;
#define VK_INSTANCE(name) PFN_vk##name name;
#define VK_DEVICE(name)
#define VK_EXTRA(name)
#include "backends/vulkan/entry_points.def"
} tsri_vulkan_api;
extern tsri_vulkan_api tsri_vk;

// Functions of one device. Calls through them skip the loader's dispatch.
typedef struct tsri_vulkan_device_api {
#define VK_START(name)
#define VK_INSTANCE(name)
#define VK_DEVICE(name) PFN_vk##name name;
#define VK_EXTRA(name)  PFN_vk##name name;
#include "backends/vulkan/entry_points.def"
} tsri_vulkan_device_api;

extern const char *const tsri_vulkan_library_names[];  // ends with NULL

// Opens the first library of `names` that has the Vulkan entry points. It stays open until the process ends.
//
// Errors: TSR_ERR_NOT_FOUND; the message lists each name with what the loader said.
tsr_status tsri_vulkan_load(const char *const *names);

// Look up the functions of the instance, and of a device.
tsr_status tsri_vulkan_load_instance(VkInstance instance);
tsr_status tsri_vulkan_load_device(VkDevice device, tsri_vulkan_device_api *out_api);

#endif
#endif
