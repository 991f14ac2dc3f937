// SPDX-License-Identifier: MIT
// Events are the driver's events. An event that was never recorded counts as done.
#include "backends/cuda/cuda.h"

tsr_status tsri_cuda_event_create(tsri_device *device, tsri_event **out_event) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  cu_event event = NULL;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->EventCreate(&event, gpu_device->has_times ? 0 : CU_EVENT_NO_TIMING);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) return CUDA_FAIL(gpu_device, code, TSR_ERR_INTERNAL, "an event");
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_cuda_event_destroy(tsri_device *device, tsri_event *event) {
  bool was_pushed = tsri_cuda_enter(cuda_device_of(device));
  (void)cuda_device_of(device)->cu->EventDestroy((cu_event)event);
  tsri_cuda_leave(cuda_device_of(device), was_pushed);
}

tsr_status tsri_cuda_event_record(tsri_queue *queue, tsri_event *event) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = gpu_queue->cu->EventRecord((cu_event)event, gpu_queue->stream);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return code == CU_SUCCESS ? TSR_OK : CUDA_FAIL(gpu_queue->device, code, TSR_ERR_INTERNAL, "recording an event");
}

tsr_status tsri_cuda_event_await(tsri_queue *queue, tsri_event *event) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = gpu_queue->cu->StreamWaitEvent(gpu_queue->stream, (cu_event)event, 0);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return code == CU_SUCCESS ? TSR_OK : CUDA_FAIL(gpu_queue->device, code, TSR_ERR_INTERNAL, "awaiting an event");
}

tsr_status tsri_cuda_event_is_done(tsri_device *device, tsri_event *event, bool *out_done) {
  cuda_device *gpu_device = cuda_device_of(device);
  tsr_status status = tsri_cuda_check(gpu_device);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->EventQuery((cu_event)event);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS && code != CU_NOT_READY) {
    return CUDA_FAIL(gpu_device, code, TSR_ERR_INTERNAL, "asking for an event");
  }
  *out_done = code == CU_SUCCESS;
  return TSR_OK;
}

tsr_status tsri_cuda_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  cuda_device *gpu_device = cuda_device_of(device);
  if (!gpu_device->has_times) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: events carry no times; open the device with profiling on",
                     gpu_device->name);
  }
  float ms = 0;
  bool was_pushed = tsri_cuda_enter(gpu_device);
  cu_result code = gpu_device->cu->EventElapsedTime(&ms, (cu_event)from, (cu_event)to);
  tsri_cuda_leave(gpu_device, was_pushed);
  if (code != CU_SUCCESS) return CUDA_FAIL(gpu_device, code, TSR_ERR_INVALID_ARGUMENT, "the time between two events");
  *out_ns = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
  return TSR_OK;
}
