// SPDX-License-Identifier: MIT
// Events. An event holds the number of the submission that it ends. With profiling it has the number of a time stamp of the device; where
// the library has none, recording an event waits for the device and then reads the host's clock.
#include "backends/webgpu/webgpu.h"
#include "core/alloc.h"

enum { NO_STAMP = -1 };

typedef struct webgpu_event {
  uint32_t number;   // number of the submission; 0: never recorded, which counts as done
  int stamp;         // NO_STAMP: time_ns is its time
  uint64_t time_ns;  // 0: not known
} webgpu_event;

struct webgpu_stamps {
  uint64_t ns[WEBGPU_STAMPS];  // as they were read last
  uint32_t read_at;            // number of the newest submission then
  bool is_used[WEBGPU_STAMPS];
};

void tsri_webgpu_stamps_open(webgpu_device *device) {
  bool has_stamps = tsri_wgpu.times_open && tsri_wgpu.times_open(device->handle, WEBGPU_STAMPS) == TSR_OK;
  if (has_stamps) device->stamps = tsri_calloc(1, sizeof *device->stamps);
}

void tsri_webgpu_stamps_close(webgpu_device *device) { tsri_free(device->stamps); }

// With the lock held. NO_STAMP: there are none, or all are in use.
static int take_stamp(webgpu_device *device) {
  for (int i = 0; device->stamps && i < WEBGPU_STAMPS; i++) {
    if (device->stamps->is_used[i]) continue;
    device->stamps->is_used[i] = true;
    return i;
  }
  return NO_STAMP;
}

tsr_status tsri_webgpu_event_create(tsri_device *opaque, tsri_event **out_event) {
  webgpu_device *device = webgpu_device_of(opaque);
  webgpu_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for an event's record");
  tsri_mutex_lock(&device->lock);
  event->stamp = take_stamp(device);
  tsri_mutex_unlock(&device->lock);
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_webgpu_event_destroy(tsri_device *opaque, tsri_event *opaque_event) {
  webgpu_device *device = webgpu_device_of(opaque);
  webgpu_event *event = (webgpu_event *)opaque_event;
  tsri_mutex_lock(&device->lock);
  if (event->stamp != NO_STAMP) device->stamps->is_used[event->stamp] = false;
  tsri_mutex_unlock(&device->lock);
  tsri_free(event);
}

// Ends the submission with a time stamp command.
static tsr_status submit_with_stamp(webgpu_device *device, const webgpu_event *event) {
  tsr_status status = tsri_webgpu_stream_begin(device, 0, NULL, NULL);
  if (status != TSR_OK) return status;
  status = tsri_wgpu.time_write(device->handle, (uint32_t)event->stamp);
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "writing a time stamp");
  status = tsri_webgpu_stream_end(device);
  return status == TSR_OK ? tsri_webgpu_stream_submit(device) : status;
}

static tsr_status submit_and_wait(webgpu_device *device, webgpu_event *event) {
  tsr_status status = tsri_webgpu_stream_submit(device);
  if (status == TSR_OK && device->has_times) {
    status = tsri_webgpu_stream_wait(device, device->submitted, device->timeout_ns);
    event->time_ns = tsri_clock_ns();
  }
  return status;
}

tsr_status tsri_webgpu_event_record(tsri_queue *opaque, tsri_event *opaque_event) {
  webgpu_device *device = webgpu_queue_of(opaque)->device;
  webgpu_event *event = (webgpu_event *)opaque_event;
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status == TSR_OK)
    status = event->stamp != NO_STAMP ? submit_with_stamp(device, event) : submit_and_wait(device, event);
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

// With the lock held. All stamps are read at once: the profiler asks for many events after a wait.
static tsr_status time_of(webgpu_device *device, const webgpu_event *event, uint64_t *out_ns) {
  tsr_status status = event->number == 0 ? TSR_ERR_TIMEOUT : tsri_wgpu.wait(device->handle, event->number, 0);
  if (status == TSR_ERR_TIMEOUT)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the event has not happened", device->name);
  if (status == TSR_OK && event->stamp != NO_STAMP && event->number - device->stamps->read_at - 1 < UINT32_MAX / 2) {
    uint32_t newest = device->submitted;
    status = tsri_wgpu.times_read(device->handle, device->stamps->ns, webgpu_milliseconds(device->timeout_ns));
    if (status == TSR_OK) device->stamps->read_at = newest;
  }
  if (status != TSR_OK) return WEBGPU_FAIL(device, status, "reading time stamps");
  *out_ns = event->stamp != NO_STAMP ? device->stamps->ns[event->stamp] : event->time_ns;
  return TSR_OK;
}

tsr_status tsri_webgpu_event_elapsed(tsri_device *opaque, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  webgpu_device *device = webgpu_device_of(opaque);
  const webgpu_event *first = (const webgpu_event *)from, *last = (const webgpu_event *)to;
  if (!device->has_times) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: events carry no times; open the device with profiling on", device->name);
  }
  if ((first->stamp == NO_STAMP) != (last->stamp == NO_STAMP)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: the events have times of different clocks", device->name);
  }
  uint64_t start = 0, end = 0;
  tsri_mutex_lock(&device->lock);
  tsr_status status = time_of(device, first, &start);
  if (status == TSR_OK) status = time_of(device, last, &end);
  tsri_mutex_unlock(&device->lock);
  if (status == TSR_OK) *out_ns = end > start ? end - start : 0;
  return status;
}
