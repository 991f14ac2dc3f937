// SPDX-License-Identifier: MIT
// Device memory, and the sub-buffers by which launches bind parts of it.
//
// A kernel's argument is a memory object, not an address, so a range that is not the whole buffer needs a sub-buffer.
// Those are kept in a small table per buffer, each range in the one slot its hash gives: a range that meets another in
// its slot takes the place. Whoever binds one holds a reference, so a slot may change hands at any time.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include "core/alloc.h"

// Drivers take memory at first use (NVIDIA's lets 40 buffers of 8 GiB be made on a device of 140 GiB) and fail there,
// where nobody can trim and try again: so use it now. What a driver calls "out of resources" here is memory.
static cl_int touch(opencl_device *device, cl_mem memory) {
  const cl_uchar zero = 0;
  cl_int code = tsri_cl.EnqueueFillBuffer(device->setup, memory, &zero, 1, 0, 1, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = tsri_cl.Finish(device->setup);
  return code == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : code;
}

tsr_status tsri_opencl_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  opencl_device *own = (opencl_device *)device;
  tsr_status status = tsri_opencl_check(own);
  if (status != TSR_OK) return status;
  opencl_buffer *buffer = tsri_calloc(1, sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "opencl: no host memory for a buffer's record");
  cl_int code = CL_SUCCESS;
  buffer->bytes = bytes;
  buffer->memory = tsri_cl.CreateBuffer(own->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (code == CL_SUCCESS) code = touch(own, buffer->memory);
  if (code != CL_SUCCESS) {
    if (buffer->memory) tsri_cl.ReleaseMemObject(buffer->memory);
    tsri_free(buffer);
    return OPENCL_FAIL(own, code, code == CL_INVALID_BUFFER_SIZE ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_INTERNAL,
                       "a buffer of %zu bytes", bytes);
  }
  tsri_mutex_init(&buffer->lock);
  atomic_fetch_add(&own->used_bytes, bytes);
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

void tsri_opencl_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  opencl_buffer *own = (opencl_buffer *)buffer;
  for (int i = 0; i < OPENCL_PART_SLOTS; i++) {
    if (own->parts[i].memory) tsri_cl.ReleaseMemObject(own->parts[i].memory);
  }
  tsri_cl.ReleaseMemObject(own->memory);
  tsri_mutex_deinit(&own->lock);
  atomic_fetch_sub(&((opencl_device *)device)->used_bytes, own->bytes);
  tsri_free(own);
}

static opencl_part *slot_of(opencl_buffer *buffer, size_t offset, size_t bytes) {
  uint64_t mixed = ((uint64_t)offset * 31 + bytes) * UINT64_C(0x9E3779B97F4A7C15);
  return &buffer->parts[mixed >> 58];  // the top six bits: 64 slots
}

_Static_assert(OPENCL_PART_SLOTS == 1 << (64 - 58), "slot_of takes as many bits as there are slots");

tsr_status tsri_opencl_bind(opencl_device *device, opencl_buffer *buffer, size_t offset, size_t bytes,
                            cl_mem *out_memory) {
  cl_int code = CL_SUCCESS;
  if (offset == 0 && bytes == buffer->bytes) {
    tsri_cl.RetainMemObject(buffer->memory);
    *out_memory = buffer->memory;
    return TSR_OK;
  }
  tsri_mutex_lock(&buffer->lock);
  opencl_part *part = slot_of(buffer, offset, bytes);
  if (!part->memory || part->offset != offset || part->bytes != bytes) {
    cl_buffer_region region = {.origin = offset, .size = bytes};
    cl_mem memory =
        tsri_cl.CreateSubBuffer(buffer->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code == CL_SUCCESS) {
      if (part->memory) tsri_cl.ReleaseMemObject(part->memory);
      *part = (opencl_part){memory, offset, bytes};
    }
  }
  if (code == CL_SUCCESS) {
    tsri_cl.RetainMemObject(part->memory);
    *out_memory = part->memory;
  }
  tsri_mutex_unlock(&buffer->lock);
  if (code == CL_SUCCESS) return TSR_OK;
  return OPENCL_FAIL(device, code, TSR_ERR_LAUNCH, "binding %zu bytes at %zu of a buffer of %zu", bytes, offset,
                     buffer->bytes);
}

#endif
