// SPDX-License-Identifier: MIT
// The entries copy_in, copy_out, copy, copy_peer and fill.
#include <string.h>

#include "backends/cuda/cuda.h"

enum { PINNED_BYTES = 64 << 10 };  // smaller copies to the host always go through the readback chunk

// Whether the driver can access this host memory directly, because it comes from cuMemHostAlloc or cuMemHostRegister.
static bool is_pinned(const cuda_queue *queue, const void *host) {
  unsigned type = 0;
  int attribute = CU_POINTER_MEMORY_TYPE;
  void *values[] = {&type};
  return queue->cu->PointerGetAttributes(1, &attribute, values, (cu_address)(uintptr_t)host) == CU_SUCCESS &&
         type == CU_MEMORY_IS_HOST;
}

static tsr_status answer(cuda_queue *queue, cu_result code, size_t bytes, const char *where) {
  if (code == CU_SUCCESS) return TSR_OK;
  return CUDA_FAIL(queue->device, code, TSR_ERR_INTERNAL, "copying %zu bytes %s", bytes, where);
}

// --- From and to the host -------------------------------------------------------------------------------------------

tsr_status tsri_cuda_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  cu_address to = cuda_address_of(dst, dst_offset);
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = bytes <= gpu_queue->device->vendor->copied_at_once || is_pinned(gpu_queue, src)
                       ? gpu_queue->cu->MemcpyHtoDAsync(to, src, bytes, gpu_queue->stream)
                       : tsri_cuda_stage_in(gpu_queue, to, src, bytes);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return answer(gpu_queue, code, bytes, "to the device");
}

// Copies into pageable host memory. A small copy goes through the readback chunk and arrives at the next queue_wait.
// For a large copy, or if the readback chunk is full, this function waits for the stream first, so that the device's
// time-out applies.
static tsr_status copy_to_pageable(cuda_queue *queue, void *to, cu_address from, size_t bytes) {
  bool is_small = bytes <= CUDA_READBACK_BYTES;
  if (!is_small || !tsri_cuda_readback_fits(queue, bytes)) {
    tsr_status status = tsri_cuda_stream_wait(queue, queue->device->timeout_ns);
    if (status != TSR_OK) return status;
    tsri_cuda_readback_finish(queue);
  }
  cu_result code = is_small ? tsri_cuda_readback(queue, to, from, bytes) : tsri_cuda_stage_out(queue, to, from, bytes);
  return answer(queue, code, bytes, "from the device");
}

tsr_status tsri_cuda_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  cu_address from = cuda_address_of(src, src_offset);
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  // is_pinned costs more than a small copy, so for small copies it is called only if the program has pinned memory.
  bool asks = bytes > PINNED_BYTES || atomic_load(&gpu_queue->device->pinned_count) > 0;
  if (asks && is_pinned(gpu_queue, dst)) {
    status = answer(gpu_queue, gpu_queue->cu->MemcpyDtoHAsync(dst, from, bytes, gpu_queue->stream), bytes,
                    "from the device");
  } else {
    status = copy_to_pageable(gpu_queue, dst, from, bytes);
  }
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return status;
}

// --- Within the device ----------------------------------------------------------------------------------------------

tsr_status tsri_cuda_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                          size_t bytes) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  cu_address to = cuda_address_of(dst, dst_offset), from = cuda_address_of(src, src_offset);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = gpu_queue->cu->MemcpyDtoDAsync(to, from, bytes, gpu_queue->stream);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return answer(gpu_queue, code, bytes, "within the device");
}

// Copies directly if the two GPUs can access each other's memory; otherwise the driver itself copies through the host.
tsr_status tsri_cuda_copy_peer(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_device *src_device,
                               tsri_buffer *src, size_t src_offset, size_t bytes) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = gpu_queue->cu->MemcpyPeerAsync(cuda_address_of(dst, dst_offset), gpu_queue->device->context,
                                                  cuda_address_of(src, src_offset), cuda_device_of(src_device)->context,
                                                  bytes, gpu_queue->stream);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return answer(gpu_queue, code, bytes, "from another device");
}

// --- Fills ----------------------------------------------------------------------------------------------------------

// Fills that the driver has no call for: patterns of 8 bytes, and offsets that are not a multiple of the pattern's size.
// Writes the pattern once, byte by byte, then repeatedly copies the filled part to the memory after it, which doubles the
// filled part each time. No host memory is read: a recorded graph would read it again at every launch.
static cu_result fill_by_doubling(const cuda_queue *queue, cu_address to, size_t bytes, const unsigned char *pattern,
                                  size_t pattern_bytes) {
  cu_result code = CU_SUCCESS;
  size_t done = 0;
  for (; done < pattern_bytes && done < bytes && code == CU_SUCCESS; done++) {
    code = queue->cu->MemsetD8Async(to + done, pattern[done], 1, queue->stream);
  }
  while (done < bytes && code == CU_SUCCESS) {
    size_t piece = bytes - done < done ? bytes - done : done;
    code = queue->cu->MemcpyDtoDAsync(to + done, to, piece, queue->stream);
    done += piece;
  }
  return code;
}

tsr_status tsri_cuda_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                          size_t pattern_bytes) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  cu_address to = cuda_address_of(dst, offset);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  uint16_t half = 0;
  uint32_t word = 0;
  if (pattern_bytes == 8 && memcmp(pattern, (const char *)pattern + 4, 4) == 0) pattern_bytes = 4;
  if (pattern_bytes == 2) memcpy(&half, pattern, sizeof half);
  if (pattern_bytes == 4) memcpy(&word, pattern, sizeof word);
  cu_result code = CU_SUCCESS;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  if (pattern_bytes == 1) {
    code = gpu_queue->cu->MemsetD8Async(to, *(const unsigned char *)pattern, bytes, gpu_queue->stream);
  } else if (pattern_bytes == 2 && to % 2 == 0) {
    code = gpu_queue->cu->MemsetD16Async(to, half, bytes / 2, gpu_queue->stream);
  } else if (pattern_bytes == 4 && to % 4 == 0) {
    code = gpu_queue->cu->MemsetD32Async(to, word, bytes / 4, gpu_queue->stream);
  } else {
    code = fill_by_doubling(gpu_queue, to, bytes, pattern, pattern_bytes);
  }
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  if (code == CU_SUCCESS) return TSR_OK;
  return CUDA_FAIL(gpu_queue->device, code, TSR_ERR_INTERNAL, "filling %zu bytes", bytes);
}
