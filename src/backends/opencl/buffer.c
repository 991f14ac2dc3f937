// SPDX-License-Identifier: MIT
// Device memory, and the sub-buffers through which launches bind parts of it.
//
// A kernel argument is a memory object, not an address, so a binding at an offset needs a sub-buffer. One sub-buffer
// per offset serves bindings of every length, and lives as long as the buffer: NVIDIA's driver (580) crashes in
// clReleaseMemObject if sub-buffers with the same offset are created and released repeatedly, or if of two overlapping
// ones the one with the lower offset is released first. The pool creates one buffer per block (binds_whole_buffers),
// so sub-buffers are rare.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include <stdlib.h>

#include "core/alloc.h"

// Drivers allocate memory at first use: NVIDIA's creates 40 buffers of 8 GiB on a device of 140 GiB without an error.
// A failure at that point could not be handled by trimming the pool, so the memory is used right now.
// CL_OUT_OF_RESOURCES from a driver here means that memory is out.
static cl_int touch(opencl_device *device, cl_mem memory) {
  const cl_uchar zero = 0;
  cl_int code = tsri_cl.EnqueueFillBuffer(device->setup, memory, &zero, 1, 0, 1, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = tsri_opencl_wait(device->setup, device->timeout_ns);
  return code == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : code;
}

tsr_status tsri_opencl_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  opencl_device *ocl_device = (opencl_device *)device;
  tsr_status status = tsri_opencl_check(ocl_device);
  if (status != TSR_OK) return status;
  opencl_buffer *buffer = tsri_calloc(1, sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "opencl: no host memory for a buffer's record");
  cl_int code = CL_SUCCESS;
  buffer->bytes = bytes;
  buffer->memory = tsri_cl.CreateBuffer(ocl_device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (code == CL_SUCCESS) code = touch(ocl_device, buffer->memory);
  if (code != CL_SUCCESS) {
    if (buffer->memory) tsri_cl.ReleaseMemObject(buffer->memory);
    tsri_free(buffer);
    if (code == CL_RUNNING) return tsri_opencl_overdue(ocl_device, ocl_device->timeout_ns);
    return OPENCL_FAIL(ocl_device, code, code == CL_INVALID_BUFFER_SIZE ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_INTERNAL,
                       "a buffer of %zu bytes", bytes);
  }
  tsri_mutex_init(&buffer->lock);
  atomic_fetch_add(&ocl_device->used_bytes, bytes);
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

static int by_offset_downwards(const void *a, const void *b) {
  size_t x = ((const opencl_part *)a)->offset, y = ((const opencl_part *)b)->offset;
  return (x < y) - (x > y);
}

void tsri_opencl_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  opencl_buffer *ocl_buffer = (opencl_buffer *)buffer;
  if (ocl_buffer->slot_count > 0)
    qsort(ocl_buffer->parts, ocl_buffer->slot_count, sizeof *ocl_buffer->parts, by_offset_downwards);
  for (uint32_t i = 0; i < ocl_buffer->slot_count; i++) {
    if (ocl_buffer->parts[i].memory) tsri_cl.ReleaseMemObject(ocl_buffer->parts[i].memory);
  }
  tsri_free(ocl_buffer->parts);
  tsri_cl.ReleaseMemObject(ocl_buffer->memory);
  tsri_mutex_deinit(&ocl_buffer->lock);
  atomic_fetch_sub(&((opencl_device *)device)->used_bytes, ocl_buffer->bytes);
  tsri_free(ocl_buffer);
}

// Returns the slot of the part at `offset`, or the empty slot where it belongs. The table always has an empty slot.
static opencl_part *slot_of(opencl_part *parts, uint32_t slot_count, size_t offset) {
  uint32_t at = (uint32_t)((uint64_t)offset * UINT64_C(0x9E3779B97F4A7C15) >> 32);
  for (;; at++) {
    opencl_part *part = &parts[at & (slot_count - 1)];
    if (!part->memory || part->offset == offset) return part;
  }
}

// Makes room for one more part; at least half of the slots stay empty. False if host memory is out.
static bool make_room(opencl_buffer *buffer) {
  if (2 * (buffer->part_count + 1) <= buffer->slot_count) return true;
  uint32_t slot_count = buffer->slot_count ? 2 * buffer->slot_count : 8;
  opencl_part *parts = tsri_calloc(slot_count, sizeof *parts);
  if (!parts) return false;
  for (uint32_t i = 0; i < buffer->slot_count; i++) {
    const opencl_part *part = &buffer->parts[i];
    if (part->memory) *slot_of(parts, slot_count, part->offset) = *part;
  }
  tsri_free(buffer->parts);
  buffer->parts = parts;
  buffer->slot_count = slot_count;
  return true;
}

static cl_mem part_from(opencl_buffer *buffer, size_t offset, cl_int *out_code) {
  if (!make_room(buffer)) {
    *out_code = CL_OUT_OF_HOST_MEMORY;
    return NULL;
  }
  opencl_part *part = slot_of(buffer->parts, buffer->slot_count, offset);
  if (part->memory) return part->memory;
  cl_buffer_region region = {.origin = offset, .size = buffer->bytes - offset};
  cl_mem memory =
      tsri_cl.CreateSubBuffer(buffer->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, out_code);
  if (*out_code != CL_SUCCESS) return NULL;
  *part = (opencl_part){memory, offset};
  buffer->part_count++;
  return memory;
}

tsr_status tsri_opencl_bind(opencl_device *device, opencl_buffer *buffer, size_t offset, cl_mem *out_memory) {
  cl_int code = CL_SUCCESS;
  if (offset == 0) {
    *out_memory = buffer->memory;
    return TSR_OK;
  }
  tsri_mutex_lock(&buffer->lock);
  *out_memory = part_from(buffer, offset, &code);
  tsri_mutex_unlock(&buffer->lock);
  if (code == CL_SUCCESS) return TSR_OK;
  return OPENCL_FAIL(device, code, TSR_ERR_LAUNCH, "binding a buffer of %zu bytes from %zu on", buffer->bytes, offset);
}

#endif
