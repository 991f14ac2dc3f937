// SPDX-License-Identifier: MIT
// Pinned host memory. Every context may use it, so that several devices can share it.
#include "backends/cuda/cuda.h"

tsr_status tsri_cuda_host_alloc(tsri_device *device, size_t bytes, void **out_memory) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->MemHostAlloc(out_memory, bytes, CU_HOST_PORTABLE);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) {
    *out_memory = NULL;
    return CUDA_FAIL(gpu_device, code, TSR_ERR_OUT_OF_MEMORY, "%zu bytes of pinned memory", bytes);
  }
  atomic_fetch_add(&gpu_device->pinned_count, 1);
  return TSR_OK;
}

void tsri_cuda_host_free(tsri_device *device, void *memory) {
  cuda_device *gpu_device = cuda_device_of(device);
  bool was_pushed = tsri_cuda_enter(gpu_device);
  (void)gpu_device->cu->MemFreeHost(memory);
  tsri_cuda_leave(gpu_device, was_pushed);
  atomic_fetch_sub(&gpu_device->pinned_count, 1);
}

// Memory that the driver cannot pin (of another kind, or more than the system allows) stays as it is.
tsr_status tsri_cuda_host_register(tsri_device *device, void *memory, size_t bytes) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->MemHostRegister(memory, bytes, CU_HOST_PORTABLE);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) {
    status = CUDA_FAIL(gpu_device, code, TSR_ERR_UNSUPPORTED, "pinning %zu bytes", bytes);
    return status == TSR_ERR_OUT_OF_MEMORY ? TSR_ERR_UNSUPPORTED : status;
  }
  atomic_fetch_add(&gpu_device->pinned_count, 1);
  return TSR_OK;
}

void tsri_cuda_host_unregister(tsri_device *device, void *memory) {
  cuda_device *gpu_device = cuda_device_of(device);
  bool was_pushed = tsri_cuda_enter(gpu_device);
  (void)gpu_device->cu->MemHostUnregister(memory);
  tsri_cuda_leave(gpu_device, was_pushed);
  atomic_fetch_sub(&gpu_device->pinned_count, 1);
}
