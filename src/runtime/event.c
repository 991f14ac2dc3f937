// SPDX-License-Identifier: MIT
// Public events. Each uses an event of the backend; the device keeps a few of these for reuse.
#include "backends/common/poll.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "platform/worker.h"
#include "runtime/queue.h"

static tsr_status check(const char *caller, const tsr_event *event) {
  return tsri_object_check(event, TSRI_OBJECT_EVENT, caller, "event");
}

// Call with the lock held.
static tsr_status take_handle(tsr_device *device, tsri_event **out_handle) {
  if (device->spare_event_count == 0) return device->backend->event_create(device->handle, out_handle);
  *out_handle = device->spare_events[--device->spare_event_count];
  return TSR_OK;
}

static void give_handle(tsr_device *device, tsri_event *handle) {
  tsri_device_lock(device);
  bool is_kept = device->spare_event_count < TSRI_SPARE_EVENTS;
  if (is_kept) device->spare_events[device->spare_event_count++] = handle;
  tsri_device_unlock(device);
  if (!is_kept) device->backend->event_destroy(device->handle, handle);
}

void tsri_events_destroy(tsr_device *device) {
  while (device->spare_event_count > 0) {
    device->backend->event_destroy(device->handle, device->spare_events[--device->spare_event_count]);
  }
}

tsr_status tsri_event_create(tsr_device *device, int track, bool is_delivered, tsr_event **out_event) {
  tsr_event *event = tsri_object_create(TSRI_OBJECT_EVENT, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "event: no host memory for its record");
  tsr_status status = TSR_OK;
  tsri_device_lock(device);
  if (tsri_backend_has_events(device->backend)) {
    status = take_handle(device, &event->handle);
    if (status == TSR_OK) status = device->backend->event_record(device->tracks[track].handle, event->handle);
  }
  event->number = device->tracks[track].queued;
  tsri_device_unlock(device);
  event->device = tsr_device_retain(device);
  event->track = track;
  event->is_delivered = is_delivered;
  if (status != TSR_OK) {
    tsr_event_release(event);
    return status;
  }
  *out_event = event;
  return TSR_OK;
}

tsr_event *tsr_event_retain(tsr_event *event) {
  if (event && check("event_retain", event) == TSR_OK) tsri_object_retain(&event->object);
  return event;
}

void tsr_event_release(tsr_event *event) {
  if (!event) return;
  if (check("event_release", event) != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (!tsri_object_release(&event->object)) return;
  tsr_device *device = event->device;
  if (event->handle) give_handle(device, event->handle);
  tsri_object_destroy(&event->object, sizeof *event);
  tsr_device_release(device);
}

// --- Asking and waiting -----------------------------------------------------------------------------------------------

// Waits for the whole track. This also completes copies to the host that only a wait completes (tsr_event.is_delivered).
static tsr_status wait_for_track(const tsr_event *event, uint64_t timeout_ns) {
  tsri_device_lock(event->device);
  tsr_status status = tsri_track_wait(event->device, &event->device->tracks[event->track], timeout_ns);
  if (timeout_ns > 0 && tsri_is_still_running(event->device, status)) event->device->is_overdue = true;
  tsri_device_unlock(event->device);
  return status;
}

// Whether the event has happened on the device. After an error `*out_is_done` is true, because waiting longer would not help.
static tsr_status ask(const tsr_event *event, bool *out_is_done) {
  tsr_device *device = event->device;
  tsr_status status = TSR_OK;
  *out_is_done = false;
  if (event->handle) {
    status = device->backend->event_is_done(device->handle, event->handle, out_is_done);
  } else {
    status = wait_for_track(event, 0);
    *out_is_done = status != TSR_ERR_TIMEOUT;
    if (status == TSR_ERR_TIMEOUT) status = TSR_OK;
  }
  if (status != TSR_OK) *out_is_done = true;
  if (status == TSR_OK && *out_is_done) tsri_track_ended(&device->tracks[event->track], event->number);
  return status;
}

tsr_status tsr_event_is_done(tsr_event *event, bool *out_is_done) {
  if (!out_is_done) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "event_is_done: out_is_done is NULL");
  *out_is_done = true;
  tsr_status status = check("event_is_done", event);
  return status == TSR_OK ? ask(event, out_is_done) : status;
}

tsr_status tsr_event_wait(tsr_event *event) {
  tsr_status status = check("event_wait", event);
  if (status != TSR_OK) return status;
  tsr_device *device = event->device;
  if (event->is_delivered || !event->handle) return wait_for_track(event, device->timeout_ns);
  tsri_poll poll = tsri_poll_begin(device->timeout_ns);
  bool is_done = false;
  do {
    status = ask(event, &is_done);
  } while (!is_done && tsri_poll_again(&poll));
  if (is_done && status == TSR_OK) return TSR_OK;
  // The work has failed, or the time is up. Waiting for the track returns at once then, with a message that names the operators.
  return wait_for_track(event, is_done ? device->timeout_ns : 0);
}

// --- Callbacks --------------------------------------------------------------------------------------------------------

// A callback that waits for its event. One thread of the process runs all of them: a job whose event has not happened yet goes to the end of the list, so that a
// slow queue does not delay the callbacks of others.
typedef struct callback_job {
  tsri_job job;
  tsr_event *event;
  tsr_event_callback callback;
  void *user;
  tsri_poll poll;
} callback_job;

static void run_callback(tsri_job *base) {
  callback_job *job = (callback_job *)base;
  bool is_done = true;
  tsr_status status = ask(job->event, &is_done);
  if (!is_done && tsri_poll_again(&job->poll)) {
    (void)tsri_worker_add(tsri_worker_shared(), base);
    return;
  }
  bool must_wait = !is_done || status != TSR_OK || job->event->is_delivered;
  if (must_wait) status = tsr_event_wait(job->event);
  job->callback(status, job->user);
  tsr_event_release(job->event);
  tsri_free(job);
}

tsr_status tsr_event_then(tsr_event *event, tsr_event_callback callback, void *user) {
  tsr_status status = check("event_then", event);
  if (status != TSR_OK) return status;
  if (!callback) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "event_then: callback is NULL");
  tsri_worker *worker = tsri_worker_shared();
  if (!worker) return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "event_then: there is no thread to call it on");
  callback_job *job = tsri_malloc(sizeof *job);
  if (!job) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "event_then: no host memory for its record");
  *job = (callback_job){.job = {.run = run_callback},
                        .event = tsr_event_retain(event),
                        .callback = callback,
                        .user = user,
                        .poll = tsri_poll_begin(event->device->timeout_ns)};
  (void)tsri_worker_add(worker, &job->job);
  return TSR_OK;
}
