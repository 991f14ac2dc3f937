// SPDX-License-Identifier: MIT
// Device memory. The core's pool divides these allocations into blocks.
//
// Plain allocations are used instead of CUDA's stream-ordered ones: the pool already reuses blocks in queue order
// without calling the driver. Plain memory also reports exhaustion at once and is accessible to peer GPUs.
#include "backends/cuda/cuda.h"
#include "core/alloc.h"

tsr_status tsri_cuda_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  cuda_buffer *buffer = tsri_calloc(1, sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a buffer's record", gpu_device->name);
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->MemAlloc(&buffer->address, bytes);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) {
    tsri_free(buffer);
    return CUDA_FAIL(gpu_device, code, TSR_ERR_INTERNAL, "a buffer of %zu bytes", bytes);
  }
  buffer->bytes = bytes;
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

// If the device is lost, cuMemFree fails, and the memory is freed together with the context.
void tsri_cuda_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  cuda_buffer *gpu_buffer = (cuda_buffer *)buffer;
  if (!gpu_buffer->is_adopted) {
    bool was_pushed = tsri_cuda_enter(cuda_device_of(device));
    (void)cuda_device_of(device)->cu->MemFree(gpu_buffer->address);
    tsri_cuda_leave(cuda_device_of(device), was_pushed);
  }
  tsri_free(gpu_buffer);
}
