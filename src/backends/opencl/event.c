// SPDX-License-Identifier: MIT
// Events are markers in a queue. An event that was never recorded counts as done.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include "core/alloc.h"

typedef struct opencl_event {
  tsri_mutex lock;  // one thread may call event_is_done while another records
  cl_event marker;  // NULL: never recorded
} opencl_event;

tsr_status tsri_opencl_event_create(tsri_device *device, tsri_event **out_event) {
  (void)device;
  opencl_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "opencl: no host memory for an event's record");
  tsri_mutex_init(&event->lock);
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_opencl_event_destroy(tsri_device *device, tsri_event *event) {
  (void)device;
  opencl_event *ocl_event = (opencl_event *)event;
  if (ocl_event->marker) tsri_cl.ReleaseEvent(ocl_event->marker);
  tsri_mutex_deinit(&ocl_event->lock);
  tsri_free(ocl_event);
}

// Returns the marker with a new reference for the caller, or NULL.
static cl_event hold_marker(tsri_event *event) {
  opencl_event *ocl_event = (opencl_event *)event;
  tsri_mutex_lock(&ocl_event->lock);
  cl_event marker = ocl_event->marker;
  if (marker) tsri_cl.RetainEvent(marker);
  tsri_mutex_unlock(&ocl_event->lock);
  return marker;
}

// Flushes the queue: otherwise the commands could stay in the driver's batch, and a thread that polls the event, or
// another queue that awaits it, would wait for ever.
tsr_status tsri_opencl_event_record(tsri_queue *queue, tsri_event *event) {
  opencl_queue *ocl_queue = (opencl_queue *)queue;
  opencl_event *record = (opencl_event *)event;
  cl_event marker = NULL;
  tsr_status status = tsri_opencl_begin(ocl_queue);
  if (status != TSR_OK) return status;
  cl_int code = tsri_cl.EnqueueMarkerWithWaitList(ocl_queue->commands, 0, NULL, &marker);
  if (code == CL_SUCCESS) code = tsri_cl.Flush(ocl_queue->commands);
  if (code != CL_SUCCESS) {
    if (marker) tsri_cl.ReleaseEvent(marker);
    return OPENCL_FAIL(ocl_queue->device, code, TSR_ERR_INTERNAL, "recording an event");
  }
  tsri_mutex_lock(&record->lock);
  cl_event old = record->marker;
  record->marker = marker;
  tsri_mutex_unlock(&record->lock);
  if (old) tsri_cl.ReleaseEvent(old);
  return TSR_OK;
}

tsr_status tsri_opencl_event_await(tsri_queue *queue, tsri_event *event) {
  opencl_queue *ocl_queue = (opencl_queue *)queue;
  tsr_status status = tsri_opencl_begin(ocl_queue);
  cl_event marker = status == TSR_OK ? hold_marker(event) : NULL;
  if (!marker) return status;
  cl_int code = tsri_cl.EnqueueBarrierWithWaitList(ocl_queue->commands, 1, &marker, NULL);
  tsri_cl.ReleaseEvent(marker);
  return code == CL_SUCCESS ? TSR_OK : OPENCL_FAIL(ocl_queue->device, code, TSR_ERR_INTERNAL, "awaiting an event");
}

tsr_status tsri_opencl_event_is_done(tsri_device *device, tsri_event *event, bool *out_done) {
  opencl_device *ocl_device = (opencl_device *)device;
  tsr_status status = tsri_opencl_check(ocl_device);
  if (status != TSR_OK) return status;
  cl_event marker = hold_marker(event);
  cl_int state = CL_COMPLETE, code = CL_SUCCESS;
  if (marker) {
    code = tsri_cl.GetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    tsri_cl.ReleaseEvent(marker);
  }
  if (code == CL_SUCCESS && state < 0) code = state;  // work before the marker failed
  if (code != CL_SUCCESS) return OPENCL_FAIL(ocl_device, code, TSR_ERR_INTERNAL, "asking for an event");
  *out_done = state == CL_COMPLETE;
  return TSR_OK;
}

static cl_int ask_time(tsri_event *event, cl_ulong *out_ns) {
  cl_event marker = hold_marker(event);
  if (!marker) return CL_PROFILING_INFO_NOT_AVAILABLE;
  cl_int code = tsri_cl.GetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof *out_ns, out_ns, NULL);
  tsri_cl.ReleaseEvent(marker);
  return code;
}

tsr_status tsri_opencl_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  opencl_device *ocl_device = (opencl_device *)device;
  if (!ocl_device->has_times) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: events carry no times; open the device with profiling on",
                     ocl_device->name);
  }
  cl_ulong start = 0, end = 0;
  cl_int code = ask_time(from, &start);
  if (code == CL_SUCCESS) code = ask_time(to, &end);
  if (code != CL_SUCCESS) return OPENCL_FAIL(ocl_device, code, TSR_ERR_INVALID_ARGUMENT, "the time between two events");
  *out_ns = end > start ? end - start : 0;
  return TSR_OK;
}

#endif
