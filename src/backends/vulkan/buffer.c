// SPDX-License-Identifier: MIT
// Buffers, each with its own memory allocation. There are few of them, because the core's pool divides them into
// blocks.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <stdio.h>

#include "core/alloc.h"

#define MAPPED (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

// Finds the first memory type that has all `wanted` properties, in heap `heap` unless that is UINT32_MAX.
static bool find_type(const VkPhysicalDeviceMemoryProperties *m, VkMemoryPropertyFlags wanted, uint32_t heap,
                      uint32_t *out_type) {
  for (uint32_t i = 0; i < m->memoryTypeCount; i++) {
    VkMemoryPropertyFlags has = m->memoryTypes[i].propertyFlags;
    const VkMemoryPropertyFlags odd = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    bool fits = (has & wanted) == wanted && !(has & odd) && (heap == UINT32_MAX || m->memoryTypes[i].heapIndex == heap);
    if (!fits) continue;
    *out_type = i;
    return true;
  }
  return false;
}

// Chooses the memory types for buffers and for staging. If host and device share memory, buffers are mapped, but only
// if the host's access to them is cached.
bool tsri_vulkan_choose_memory(vulkan_device *device) {
  VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  tsri_vk.GetPhysicalDeviceMemoryProperties2(device->physical.handle, &memory);
  const VkPhysicalDeviceMemoryProperties *m = &memory.memoryProperties;
  VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  device->is_mapped = tsri_vulkan_is_unified(&device->physical) &&
                      find_type(m, local | MAPPED | cached, device->heap, &device->memory_type);
  bool has_memory = device->is_mapped || find_type(m, local, device->heap, &device->memory_type) ||
                    find_type(m, 0, device->heap, &device->memory_type);
  bool has_stage = find_type(m, MAPPED | cached, UINT32_MAX, &device->stage_type) ||
                   find_type(m, MAPPED, UINT32_MAX, &device->stage_type);
  return has_memory && has_stage;
}

static VkResult allocate(vulkan_device *device, uint32_t memory_type, bool maps, vulkan_buffer *out) {
  const tsri_vulkan_device_api *vk = &device->vk;
  const uint32_t families[2] = {device->physical.family, device->physical.copy_family};
  bool is_shared = device->plan.has_copy_family;
  VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = out->bytes,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
      .sharingMode = is_shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = is_shared ? 2 : 0,
      .pQueueFamilyIndices = families};
  VkResult result = vk->CreateBuffer(device->handle, &info, NULL, &out->buffer);
  if (result != VK_SUCCESS) return result;
  VkMemoryRequirements needs;
  vk->GetBufferMemoryRequirements(device->handle, out->buffer, &needs);
  VkMemoryAllocateInfo memory = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = memory_type};
  if (!(needs.memoryTypeBits >> memory_type & 1u)) return VK_ERROR_FEATURE_NOT_PRESENT;
  result = vk->AllocateMemory(device->handle, &memory, NULL, &out->memory);
  if (result == VK_SUCCESS) result = vk->BindBufferMemory(device->handle, out->buffer, out->memory, 0);
  void *host = NULL;
  if (result == VK_SUCCESS && maps) result = vk->MapMemory(device->handle, out->memory, 0, VK_WHOLE_SIZE, 0, &host);
  out->host = host;
  return result;
}

tsr_status tsri_vulkan_allocate(vulkan_device *device, VkDeviceSize bytes, uint32_t memory_type, bool maps,
                                vulkan_buffer *out) {
  *out = (vulkan_buffer){.bytes = (bytes + 255) & ~(VkDeviceSize)255};  // a multiple of 256: bindings are rounded up
                                                                        // to 16 bytes
  tsr_status status = tsri_vulkan_check_lost(device);
  if (status != TSR_OK) return status;
  VkResult result = allocate(device, memory_type, maps, out);
  if (result == VK_SUCCESS) return TSR_OK;
  char what[64];
  snprintf(what, sizeof what, "a buffer of %llu bytes", (unsigned long long)bytes);
  tsri_vulkan_free(device, out);
  return VULKAN_FAIL(device, result, TSR_ERR_OUT_OF_MEMORY, what);
}

void tsri_vulkan_free(vulkan_device *device, vulkan_buffer *buffer) {
  if (buffer->buffer) device->vk.DestroyBuffer(device->handle, buffer->buffer, NULL);
  if (buffer->memory) device->vk.FreeMemory(device->handle, buffer->memory, NULL);  // unmaps it as well
  buffer->buffer = VK_NULL_HANDLE;
  buffer->memory = VK_NULL_HANDLE;
}

tsr_status tsri_vulkan_buffer_create(tsri_device *opaque, size_t bytes, tsri_buffer **out_buffer) {
  vulkan_device *device = vulkan_device_of(opaque);
  uint64_t free_bytes = 0, total = 0;
  uint32_t heap = 0;
  // A software device would allocate more than the host has, and the system would kill the process: check first.
  if (tsri_vulkan_is_software(&device->physical)) {
    tsri_vulkan_memory_numbers(&device->physical, &device->features, &heap, &free_bytes, &total);
    if (bytes > free_bytes) {
      return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: a buffer of %zu bytes, %llu are free", device->name, bytes,
                       (unsigned long long)free_bytes);
    }
  }
  vulkan_buffer *buffer = tsri_malloc(sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for a buffer's record");
  tsr_status status = tsri_vulkan_allocate(device, bytes, device->memory_type, device->is_mapped, buffer);
  if (status != TSR_OK) {
    tsri_free(buffer);
    return status;
  }
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

void tsri_vulkan_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  tsri_vulkan_free(vulkan_device_of(device), vulkan_buffer_of(buffer));
  tsri_free(buffer);
}

void *tsri_vulkan_buffer_host(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  return vulkan_buffer_of(buffer)->host;
}

#endif
