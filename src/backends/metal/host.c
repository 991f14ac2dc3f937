// SPDX-License-Identifier: MIT
// Host memory that the GPU copies from and to by itself: shared buffers.
#include "backends/metal/metal.h"
#include "core/alloc.h"

struct metal_pinned {
  metal_pinned *next;
  metal_id memory;
  char *host;
  size_t bytes;
};

tsr_status tsri_metal_host_alloc(tsri_device *opaque, size_t bytes, void **out_memory) {
  enum { STORAGE_SHARED = 0 };  // MTLResourceStorageModeShared
  metal_device *device = metal_device_of(opaque);
  metal_pinned *pinned = tsri_calloc(1, sizeof *pinned);
  if (!pinned) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "metal: no host memory for a record");
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  pinned->memory =
      METAL_SEND(metal_id, device->gpu.device, new_buffer, (metal_uint, metal_uint), bytes, STORAGE_SHARED);
  if (pinned->memory) pinned->host = METAL_GET(char *, pinned->memory, contents);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  if (!pinned->memory) {
    tsri_free(pinned);
    return tsri_metal_no_memory(device, bytes);
  }
  pinned->bytes = bytes;
  tsri_mutex_lock(&device->pinned_lock);
  pinned->next = device->pinned;
  device->pinned = pinned;
  tsri_mutex_unlock(&device->pinned_lock);
  *out_memory = pinned->host;
  return TSR_OK;
}

void tsri_metal_host_free(tsri_device *opaque, void *memory) {
  metal_device *device = metal_device_of(opaque);
  tsri_mutex_lock(&device->pinned_lock);
  metal_pinned **link = &device->pinned;
  while (*link && (*link)->host != memory) link = &(*link)->next;
  metal_pinned *pinned = *link;
  if (pinned) *link = pinned->next;
  tsri_mutex_unlock(&device->pinned_lock);
  if (pinned) metal_release(pinned->memory);
  tsri_free(pinned);
}

metal_id tsri_metal_host_find(metal_device *device, const void *memory, size_t bytes, size_t *out_offset) {
  const char *first = memory;
  metal_id found = NULL;
  tsri_mutex_lock(&device->pinned_lock);
  for (const metal_pinned *at = device->pinned; at && !found; at = at->next) {
    bool is_inside = first >= at->host && bytes <= at->bytes && (size_t)(first - at->host) <= at->bytes - bytes;
    if (!is_inside) continue;
    *out_offset = (size_t)(first - at->host);
    found = at->memory;
  }
  tsri_mutex_unlock(&device->pinned_lock);
  return found;
}
