// SPDX-License-Identifier: MIT
// Memory shared with other libraries of the process (PyTorch, JAX), for NVIDIA's and AMD's GPUs. They use the same primary context, so an address of
// theirs is one of ours.
#include "backends/cuda/cuda.h"
#include "core/alloc.h"

static void describe(tsri_device *device, int *out_kind, int *out_number) {
  *out_kind = cuda_device_of(device)->vendor->memory_kind;
  *out_number = cuda_device_of(device)->id;
}

static void *address_of(tsri_device *device, tsri_buffer *buffer) {
  (void)device;
  return (void *)(uintptr_t)cuda_address_of(buffer, 0);
}

static tsr_status adopt(tsri_device *device, void *address, size_t bytes, tsri_buffer **out_buffer) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  cuda_buffer *buffer = tsri_calloc(1, sizeof *buffer);
  if (!buffer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a buffer's record", gpu_device->name);
  *buffer = (cuda_buffer){.address = (cu_address)(uintptr_t)address, .bytes = bytes, .is_adopted = true};
  *out_buffer = (tsri_buffer *)buffer;
  return TSR_OK;
}

static tsr_status settle(tsri_device *device) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->CtxSynchronize();
  tsri_cuda_leave(gpu_device, was_pushed);
  return code == CU_SUCCESS ? TSR_OK : CUDA_FAIL(gpu_device, code, TSR_ERR_INTERNAL, "waiting for other libraries");
}

const tsri_device_sharing tsri_cuda_sharing = {
    .describe = describe, .address_of = address_of, .adopt = adopt, .settle = settle};
