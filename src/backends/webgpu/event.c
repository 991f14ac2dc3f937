// SPDX-License-Identifier: MIT
// Events. An event holds the number of the submission that it ends. With profiling, recording an event waits for the
// device and then reads the host's clock, because not every WebGPU library has time stamps.
#include "backends/webgpu/webgpu.h"
#include "core/alloc.h"

typedef struct webgpu_event {
  uint32_t number;  // number of the submission; 0: never recorded, which counts as done
  uint64_t time_ns;
} webgpu_event;

tsr_status tsri_webgpu_event_create(tsri_device *device, tsri_event **out_event) {
  (void)device;
  webgpu_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for an event's record");
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_webgpu_event_destroy(tsri_device *device, tsri_event *event) {
  (void)device;
  tsri_free(event);
}

tsr_status tsri_webgpu_event_record(tsri_queue *opaque, tsri_event *opaque_event) {
  webgpu_device *device = webgpu_queue_of(opaque)->device;
  webgpu_event *event = (webgpu_event *)opaque_event;
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status == TSR_OK) status = tsri_webgpu_stream_submit(device);
  if (status == TSR_OK && device->has_times) {
    status = tsri_webgpu_stream_wait(device, device->submitted, device->timeout_ns);
    event->time_ns = tsri_clock_ns();
  }
  if (status == TSR_OK) event->number = device->submitted;
  tsri_mutex_unlock(&device->lock);
  return status;
}

// Nothing to do: all queues record into one stream, so later commands run after the event anyway.
tsr_status tsri_webgpu_event_await(tsri_queue *queue, tsri_event *event) {
  (void)event;
  return tsri_webgpu_check_lost(webgpu_queue_of(queue)->device);
}

tsr_status tsri_webgpu_event_is_done(tsri_device *opaque, tsri_event *opaque_event, bool *out_done) {
  webgpu_device *device = webgpu_device_of(opaque);
  const webgpu_event *event = (const webgpu_event *)opaque_event;
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_webgpu_check_lost(device), answer = TSR_OK;
  if (status == TSR_OK && event->number != 0) answer = tsri_wgpu.wait(device->handle, event->number, 0);
  if (answer != TSR_OK && answer != TSR_ERR_TIMEOUT) status = WEBGPU_FAIL(device, answer, "asking for an event");
  tsri_mutex_unlock(&device->lock);
  if (status == TSR_OK) *out_done = answer == TSR_OK;
  return status;
}

tsr_status tsri_webgpu_event_elapsed(tsri_device *opaque, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  const webgpu_device *device = webgpu_device_of(opaque);
  const webgpu_event *first = (const webgpu_event *)from, *last = (const webgpu_event *)to;
  if (!device->has_times) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: events carry no times; open the device with profiling on", device->name);
  }
  if (first->time_ns == 0 || last->time_ns == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the event has not happened", device->name);
  }
  *out_ns = last->time_ns > first->time_ns ? last->time_ns - first->time_ns : 0;
  return TSR_OK;
}
