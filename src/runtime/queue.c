// SPDX-License-Identifier: MIT
// The public queues: each has a track of its device, which it may share with others.
#include "runtime/queue.h"

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "core/tensor.h"
#include "platform/worker.h"

// --- Creating ---------------------------------------------------------------------------------------------------------

// Chooses the track for a new queue: the one with the fewest queues, not counting track 0. Returns 0 if the device can have only one track: the backend has no
// events to order several, or the process has a single thread, which cannot queue work on one track while it waits for another. Call with the lock held.
static int choose_track(const tsr_device *device) {
  if (!tsri_backend_has_events(device->backend) || !tsri_has_threads) return 0;
  int best = 1;
  for (int i = 2; i < TSRI_MAX_TRACKS; i++) {
    if (device->queues_on[i] < device->queues_on[best]) best = i;
  }
  return best;
}

tsr_status tsr_queue_create(tsr_device *device, tsr_queue **out_queue) {
  if (!out_queue) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "queue_create: out_queue is NULL");
  *out_queue = NULL;
  tsr_status status = tsri_device_check("queue_create", device);
  if (status != TSR_OK) return status;
  tsr_queue *queue = tsri_object_create(TSRI_OBJECT_QUEUE, sizeof *queue);
  if (!queue) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "queue_create: no host memory for its record");
  tsri_device_lock(device);
  queue->track = choose_track(device);
  status = tsri_track_create(device, queue->track);
  if (status == TSR_OK) device->queues_on[queue->track]++;
  tsri_device_unlock(device);
  if (status != TSR_OK) {
    tsri_object_destroy(&queue->object, sizeof *queue);
    return status;
  }
  queue->device = tsr_device_retain(device);
  *out_queue = queue;
  return TSR_OK;
}

static tsr_status check(const char *caller, const tsr_queue *queue) {
  return tsri_object_check(queue, TSRI_OBJECT_QUEUE, caller, "queue");
}

tsr_queue *tsr_queue_retain(tsr_queue *queue) {
  if (queue && check("queue_retain", queue) == TSR_OK) tsri_object_retain(&queue->object);
  return queue;
}

// The queue's track is kept: creating one takes long, and recorded operators may still refer to it by its number.
void tsr_queue_release(tsr_queue *queue) {
  if (!queue) return;
  if (check("queue_release", queue) != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (!tsri_object_release(&queue->object)) return;
  tsr_device *device = queue->device;
  tsri_device_lock(device);
  device->queues_on[queue->track]--;
  tsri_device_unlock(device);
  tsri_object_destroy(&queue->object, sizeof *queue);
  tsr_device_release(device);
}

tsr_device *tsr_queue_device(const tsr_queue *queue) {
  return queue && check("queue_device", queue) == TSR_OK ? queue->device : NULL;
}

tsr_status tsri_queue_track(const char *caller, const tsr_queue *queue, const tsr_device *device, int *out_track) {
  *out_track = tsri_track_now(device);
  if (!queue) return TSR_OK;
  tsr_status status = check(caller, queue);
  if (status != TSR_OK) return status;
  *out_track = queue->track;
  if (queue->device == device) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the queue is on %s, the tensor on %s", caller,
                   queue->device->info.name, device->info.name);
}

tsr_status tsr_queue_wait(tsr_queue *queue) {
  tsr_status status = check("queue_wait", queue);
  if (status != TSR_OK) return status;
  tsri_track_entry before = tsri_track_enter(queue->device, queue->track);
  tsri_device_lock(queue->device);
  status = tsri_device_wait_locked(queue->device);
  tsri_device_unlock(queue->device);
  tsri_track_leave(before);
  return status;
}

// --- Scopes -----------------------------------------------------------------------------------------------------------

typedef struct scope_binding {
  tsri_binding_link link;
  tsr_queue *queue;
} scope_binding;

static void unbind(void *user) {
  scope_binding *binding = user;
  tsri_track_unbind(&binding->link);
  tsr_queue_release(binding->queue);
  tsri_free(binding);
}

tsr_scope *tsr_scope_begin_on(tsr_queue *queue) {
  if (check("scope_begin_on", queue) != TSR_OK) return NULL;
  scope_binding *binding = tsri_calloc(1, sizeof *binding);
  tsr_scope *scope = binding ? tsr_scope_begin(queue->device) : NULL;
  if (!scope) {
    tsri_free(binding);
    TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "scope_begin_on: no host memory for its record");
    return NULL;
  }
  binding->queue = tsr_queue_retain(queue);
  binding->link = (tsri_binding_link){.device = queue->device, .track = queue->track};
  tsri_track_bind(&binding->link);
  tsri_scope_at_end(scope, unbind, binding);
  return scope;
}

// --- Order between queues ---------------------------------------------------------------------------------------------

tsr_status tsr_queue_record(tsr_queue *queue, tsr_event **out_event) {
  if (!out_event) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "queue_record: out_event is NULL");
  *out_event = NULL;
  tsr_status status = check("queue_record", queue);
  return status == TSR_OK ? tsri_event_create(queue->device, queue->track, false, out_event) : status;
}

tsr_status tsr_queue_await(tsr_queue *queue, tsr_event *event) {
  tsr_status status = check("queue_await", queue);
  if (status == TSR_OK) status = tsri_object_check(event, TSRI_OBJECT_EVENT, "queue_await", "event");
  if (status != TSR_OK) return status;
  tsr_device *device = queue->device;
  if (event->device != device) return tsr_event_wait(event);
  tsri_device_lock(device);
  tsri_track *track = &device->tracks[queue->track];
  bool is_due = event->track != queue->track && event->number > track->awaited[event->track];
  if (is_due && event->number > atomic_load(&device->tracks[event->track].done)) {
    status = device->backend->event_await(track->handle, event->handle);
    if (status == TSR_OK) track->awaited[event->track] = event->number;
  }
  tsri_device_unlock(device);
  return status;
}
