// SPDX-License-Identifier: MIT
// Memory. Where host and GPU share it, buffers are shared and the host uses them in place; on other GPUs large ones are private,
// which the host reaches by staging buffers, because shared memory lies on the far side of the bus there.
#include "backends/metal/metal.h"
#include "core/alloc.h"

enum {
  STORAGE_SHARED = 0,        // MTLResourceStorageModeShared
  STORAGE_PRIVATE = 2 << 4,  // MTLResourceStorageModePrivate
  LEAST_PRIVATE = 64 << 10   // smaller buffers are shared on any GPU
};

static tsr_status wrap(metal_device *device, metal_id memory, size_t bytes, bool is_private, tsri_buffer **out_buffer) {
  metal_buffer *buffer = memory ? tsri_malloc(sizeof *buffer) : NULL;
  if (!memory) return tsri_metal_no_memory(device, bytes);
  if (!buffer) {
    tsri_mtl.objc_release(memory);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "metal: no host memory for a buffer's record");
  }
  *buffer = (metal_buffer){memory, is_private ? NULL : METAL_GET(char *, memory, contents)};
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

// Metal gives more than the GPU can use at a time, and the system then ends the process or gets slow: check first.
static bool has_room(metal_device *device, size_t bytes) {
  uint64_t free_bytes = 0, total = 0;
  return tsri_metal_memory_info((tsri_device *)device, &free_bytes, &total) != TSR_OK || total == 0 ||
         bytes <= free_bytes;
}

tsr_status tsri_metal_buffer_create(tsri_device *opaque, size_t bytes, tsri_buffer **out_buffer) {
  metal_device *device = metal_device_of(opaque);
  tsr_status status = tsri_metal_check_lost(device);
  if (status != TSR_OK) return status;
  if (!has_room(device, bytes)) return tsri_metal_no_memory(device, bytes);
  bool is_private = !device->gpu.is_unified && bytes >= LEAST_PRIVATE;
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  metal_id memory = METAL_SEND(metal_id, device->gpu.device, new_buffer, (metal_uint, metal_uint), bytes,
                               is_private ? STORAGE_PRIVATE : STORAGE_SHARED);
  status = wrap(device, memory, bytes, is_private, out_buffer);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

// Metal takes whole pages only.
tsr_status tsri_metal_buffer_import(tsri_device *opaque, void *host_memory, size_t bytes, tsri_buffer **out_buffer) {
  enum { PAGE = 16384 };  // of Apple's processors; a multiple of those of others
  metal_device *device = metal_device_of(opaque);
  if (!device->gpu.is_unified || (uintptr_t)host_memory % PAGE != 0 || bytes % PAGE != 0) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: Metal shares whole pages of %d bytes of the host's memory only",
                     device->gpu.name, PAGE);
  }
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  metal_id memory = METAL_SEND(metal_id, device->gpu.device, new_buffer_around,
                               (void *, metal_uint, metal_uint, void *), host_memory, bytes, STORAGE_SHARED, NULL);
  tsr_status status = wrap(device, memory, bytes, false, out_buffer);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

void tsri_metal_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  tsri_mtl.objc_release(metal_buffer_of(buffer)->memory);
  tsri_free(buffer);
}

void *tsri_metal_buffer_host(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  return metal_buffer_of(buffer)->host;
}
