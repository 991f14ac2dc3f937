// SPDX-License-Identifier: MIT
// Pinned host memory: buffers in memory that both host and device can access; they stay mapped as long as they live.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include "core/alloc.h"

struct vulkan_pinned {
  vulkan_pinned *next;
  vulkan_buffer buffer;
};

tsr_status tsri_vulkan_host_alloc(tsri_device *opaque, size_t bytes, void **out_memory) {
  vulkan_device *device = vulkan_device_of(opaque);
  vulkan_pinned *pinned = tsri_calloc(1, sizeof *pinned);
  if (!pinned) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for a record");
  tsr_status status = tsri_vulkan_allocate(device, bytes, device->stage_type, true, &pinned->buffer);
  if (status != TSR_OK) {
    tsri_free(pinned);
    return status;
  }
  tsri_mutex_lock(&device->lock);
  pinned->next = device->pinned;
  device->pinned = pinned;
  tsri_mutex_unlock(&device->lock);
  *out_memory = pinned->buffer.host;
  return TSR_OK;
}

void tsri_vulkan_host_free(tsri_device *opaque, void *memory) {
  vulkan_device *device = vulkan_device_of(opaque);
  tsri_mutex_lock(&device->lock);
  vulkan_pinned **link = &device->pinned;
  while (*link && (*link)->buffer.host != memory) link = &(*link)->next;
  vulkan_pinned *pinned = *link;
  if (pinned) *link = pinned->next;
  tsri_mutex_unlock(&device->lock);
  if (pinned) tsri_vulkan_free(device, &pinned->buffer);
  tsri_free(pinned);
}

VkBuffer tsri_vulkan_host_find(const vulkan_device *device, const void *memory, size_t bytes, size_t *out_offset) {
  const char *first = memory;
  for (const vulkan_pinned *at = device->pinned; at; at = at->next) {
    size_t room = (size_t)at->buffer.bytes;
    bool is_inside = first >= at->buffer.host && bytes <= room && (size_t)(first - at->buffer.host) <= room - bytes;
    if (!is_inside) continue;
    *out_offset = (size_t)(first - at->buffer.host);
    return at->buffer.buffer;
  }
  return VK_NULL_HANDLE;
}

#endif
