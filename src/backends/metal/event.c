// SPDX-License-Identifier: MIT
// Events. Recording one commits the queue's commands with a signal at their end; the event has happened when that command buffer
// has ended, and its time is that command buffer's.
#include "backends/metal/metal.h"
#include "core/alloc.h"

typedef struct metal_event {
  tsri_mutex lock;     // one thread may call event_is_done while another records
  metal_id signal;     // MTLEvent
  uint64_t value;      // that the signal has after the last recording
  metal_id commands;   // its command buffer; NULL: never recorded, which counts as done
  metal_queue *queue;  // on which it was recorded; compared, never used
} metal_event;

enum { STATUS_COMPLETED = 4, STATUS_ERROR = 5 };

tsr_status tsri_metal_event_create(tsri_device *opaque, tsri_event **out_event) {
  metal_device *device = metal_device_of(opaque);
  metal_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "metal: no host memory for an event's record");
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  event->signal = METAL_GET(metal_id, device->gpu.device, new_event);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  if (!event->signal) {
    tsri_free(event);
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: Metal gives no event", device->gpu.name);
  }
  tsri_mutex_init(&event->lock);
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_metal_event_destroy(tsri_device *device, tsri_event *opaque) {
  (void)device;
  metal_event *event = (metal_event *)opaque;
  metal_release(event->commands);
  metal_release(event->signal);
  tsri_mutex_deinit(&event->lock);
  tsri_free(event);
}

// A command buffer without work on the GPU has no times, so it gets a little.
static tsr_status add_some_work(metal_queue *queue) {
  metal_id encoder = NULL, scratch = queue->device->scratch;
  tsr_status status = tsri_metal_encode(queue, METAL_ENCODER_BLIT, &encoder);
  if (status != TSR_OK) return status;
  METAL_SEND(void, encoder, blit_copy, (metal_id, metal_uint, metal_id, metal_uint, metal_uint), scratch, 0, scratch, 8,
             4);
  queue->command_count++;
  return TSR_OK;
}

// A signal's value must only grow, and queues run at the same time: while a recording on another queue may still be signalled, the event gets a
// new signal. With the event's lock held.
static tsr_status renew_signal(metal_queue *queue, metal_event *event) {
  bool may_be_late =
      event->commands && event->queue != queue && METAL_GET(metal_uint, event->commands, status) < STATUS_COMPLETED;
  if (!may_be_late) return TSR_OK;
  metal_id signal = METAL_GET(metal_id, queue->device->gpu.device, new_event);
  if (!signal) return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: Metal gives no event", queue->device->gpu.name);
  metal_release(event->signal);  // command buffers that use it keep it
  event->signal = signal;
  event->value = 0;
  return TSR_OK;
}

static tsr_status record(metal_queue *queue, metal_event *event) {
  metal_id commands = NULL;
  tsr_status status = queue->device->has_times && queue->command_count == 0 ? add_some_work(queue) : TSR_OK;
  if (status == TSR_OK) status = tsri_metal_open(queue, &commands);
  if (status != TSR_OK) return status;
  tsri_mutex_lock(&event->lock);
  status = renew_signal(queue, event);
  if (status == TSR_OK) {
    METAL_SEND(void, commands, encode_signal, (metal_id, uint64_t), event->signal, ++event->value);
    metal_release(event->commands);
    event->commands = tsri_mtl.objc_retain(commands);
    event->queue = queue;
  }
  tsri_mutex_unlock(&event->lock);
  return status == TSR_OK ? tsri_metal_commit(queue) : status;
}

tsr_status tsri_metal_event_record(tsri_queue *queue, tsri_event *event) {
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = record(metal_queue_of(queue), (metal_event *)event);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

tsr_status tsri_metal_event_await(tsri_queue *opaque, tsri_event *opaque_event) {
  metal_queue *queue = metal_queue_of(opaque);
  metal_event *event = (metal_event *)opaque_event;
  metal_id commands = NULL;
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = tsri_metal_check_lost(queue->device);
  tsri_mutex_lock(&event->lock);
  bool waits = status == TSR_OK && event->commands && event->queue != queue;  // a queue keeps its own order
  if (waits) status = tsri_metal_open(queue, &commands);
  if (waits && status == TSR_OK) {
    METAL_SEND(void, commands, encode_wait, (metal_id, uint64_t), event->signal, event->value);
    queue->command_count++;
  }
  tsri_mutex_unlock(&event->lock);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

// The command buffer with a new reference for the caller, or NULL.
static metal_id hold_commands(tsri_event *opaque) {
  metal_event *event = (metal_event *)opaque;
  tsri_mutex_lock(&event->lock);
  metal_id commands = event->commands ? tsri_mtl.objc_retain(event->commands) : NULL;
  tsri_mutex_unlock(&event->lock);
  return commands;
}

tsr_status tsri_metal_event_is_done(tsri_device *opaque, tsri_event *event, bool *out_done) {
  metal_device *device = metal_device_of(opaque);
  tsr_status status = tsri_metal_check_lost(device);
  if (status != TSR_OK) return status;
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  metal_id commands = hold_commands(event);
  metal_uint state = commands ? METAL_GET(metal_uint, commands, status) : STATUS_COMPLETED;
  if (state == STATUS_ERROR) {
    metal_id error = METAL_GET(metal_id, commands, error);
    metal_int code = error ? METAL_GET(metal_int, error, code) : 0;
    status = TSRI_FAIL(tsri_metal_status_of(code), "%s: the work before an event failed: Metal %ld: %s",
                       device->gpu.name, (long)code, tsri_metal_error_text(error));
  } else {
    *out_done = state == STATUS_COMPLETED;
  }
  metal_release(commands);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}

static double end_of(tsri_event *event) {
  metal_id commands = hold_commands(event);
  bool has_ended = commands && METAL_GET(metal_uint, commands, status) == STATUS_COMPLETED;
  double seconds = has_ended ? METAL_GET(double, commands, end_time) : -1;
  metal_release(commands);
  return seconds;
}

tsr_status tsri_metal_event_elapsed(tsri_device *opaque, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  metal_device *device = metal_device_of(opaque);
  if (!device->has_times) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: events carry no times; open the device with profiling on",
                     device->gpu.name);
  }
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  double start = end_of(from), end = end_of(to);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  if (start < 0 || end < 0)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the event has not happened", device->gpu.name);
  *out_ns = end > start ? (uint64_t)((end - start) * 1e9) : 0;
  return TSR_OK;
}
