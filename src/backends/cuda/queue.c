// SPDX-License-Identifier: MIT
// Each queue is its own stream. It is non-blocking: it does not wait for the default stream of other CUDA code in
// the process.
#include "backends/common/poll.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/dnn.h"
#include "core/alloc.h"

tsr_status tsri_cuda_queue_create(tsri_device *device, tsri_queue **out_queue) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  cuda_queue *queue = tsri_calloc(1, sizeof *queue);
  if (!queue) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a queue's record", gpu_device->name);
  queue->device = gpu_device;
  queue->cu = gpu_device->cu;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->StreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) {
    tsri_free(queue);
    return CUDA_FAIL(gpu_device, code, TSR_ERR_INTERNAL, "a stream");
  }
  *out_queue = (tsri_queue *)queue;
  return TSR_OK;
}

void tsri_cuda_queue_destroy(tsri_queue *queue) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  tsri_cuda_stage_deinit(gpu_queue);
  tsri_cuda_dnn_forget_stream(gpu_queue->device, gpu_queue->stream);
  if (gpu_queue->workspace) (void)gpu_queue->cu->MemFree(gpu_queue->workspace);
  for (int i = 0; i < CUDA_LARGE_WORKSPACES; i++) {
    if (gpu_queue->large_workspaces[i]) (void)gpu_queue->cu->MemFree(gpu_queue->large_workspaces[i]);
  }
  if (gpu_queue->solver_work) (void)gpu_queue->cu->MemFree(gpu_queue->solver_work);
  (void)gpu_queue->cu->StreamDestroy(gpu_queue->stream);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  tsri_free(gpu_queue);
}

tsr_status tsri_cuda_begin(cuda_queue *queue) {
  queue->has_work = true;
  return tsri_cuda_check(queue->device);
}

cu_result tsri_cuda_workspace(cuda_queue *queue) {
  if (queue->workspace) return CU_SUCCESS;
  cu_result code = queue->cu->MemAlloc(&queue->workspace, CUDA_WORKSPACE_BYTES);
  if (code != CU_SUCCESS) queue->workspace = 0;
  return code;
}

int64_t tsri_cuda_most_workspace(const cuda_device *device) {
  enum { SHARE = 64 };
  int64_t most = (int64_t)CUDA_WORKSPACE_BYTES << CUDA_LARGE_WORKSPACES;
  while (most > CUDA_WORKSPACE_BYTES && (uint64_t)most > device->info.total_bytes / SHARE) most /= 2;
  return most;
}

cu_address tsri_cuda_large_workspace(cuda_queue *queue, size_t bytes) {
  int i = 0;
  while (i + 1 < CUDA_LARGE_WORKSPACES && (size_t)CUDA_WORKSPACE_BYTES << (i + 1) < bytes) i++;
  cu_address *at = &queue->large_workspaces[i];
  size_t whole = (size_t)CUDA_WORKSPACE_BYTES << (i + 1);
  if (!*at && queue->cu->MemAlloc(at, whole) != CU_SUCCESS) *at = 0;
  return whole < bytes ? 0 : *at;
}

// The driver has no wait with a time-out, so the stream is polled. Returns CU_NOT_READY when the time is up.
static cu_result poll_until(const cuda_queue *queue, uint64_t timeout_ns) {
  tsri_poll poll = tsri_poll_begin(timeout_ns);
  cu_result code = CU_NOT_READY;
  do {
    code = queue->cu->StreamQuery(queue->stream);
  } while (code == CU_NOT_READY && tsri_poll_again(&poll));
  return code;
}

tsr_status tsri_cuda_stream_wait(cuda_queue *queue, uint64_t timeout_ns) {
  cu_result code =
      timeout_ns == UINT64_MAX ? queue->cu->StreamSynchronize(queue->stream) : poll_until(queue, timeout_ns);
  if (code == CU_SUCCESS) return TSR_OK;
  if (code != CU_NOT_READY) return CUDA_FAIL(queue->device, code, TSR_ERR_INTERNAL, "waiting for queued work");
  return TSRI_FAIL(TSR_ERR_TIMEOUT, "%s: work did not finish within %.3f ms", queue->device->name,
                   (double)timeout_ns / 1e6);
}

tsr_status tsri_cuda_queue_wait(tsri_queue *queue, uint64_t timeout_ns) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_check(gpu_queue->device);
  if (status != TSR_OK || !gpu_queue->has_work) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  status = tsri_cuda_stream_wait(gpu_queue, timeout_ns);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  if (status != TSR_OK) return status;
  tsri_cuda_readback_finish(gpu_queue);
  gpu_queue->has_work = false;
  return TSR_OK;
}
