// SPDX-License-Identifier: MIT
// Events. An event holds how far its queue's commands had got when it was recorded and, with profiling, a time stamp.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include "core/alloc.h"

tsr_status tsri_vulkan_event_create(tsri_device *opaque, tsri_event **out_event) {
  vulkan_device *device = vulkan_device_of(opaque);
  vulkan_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for an event's record");
  VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1};
  VkResult result =
      device->has_times ? device->vk.CreateQueryPool(device->handle, &info, NULL, &event->time) : VK_SUCCESS;
  if (result != VK_SUCCESS) {
    tsri_free(event);
    return VULKAN_FAIL(device, result, TSR_ERR_INTERNAL, "vkCreateQueryPool");
  }
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_vulkan_event_destroy(tsri_device *opaque, tsri_event *opaque_event) {
  vulkan_device *device = vulkan_device_of(opaque);
  vulkan_event *event = (vulkan_event *)opaque_event;
  if (event->time) {
    (void)tsri_vulkan_wait(device, &event->marks, UINT64_MAX);
    device->vk.DestroyQueryPool(device->handle, event->time, NULL);
  }
  tsri_free(event);
}

static tsr_status record_time(vulkan_queue *queue, vulkan_event *event) {
  vulkan_device *device = queue->device;
  vulkan_stream *stream = queue->newest;
  vulkan_batch *batch = NULL;
  tsr_status status = tsri_vulkan_stream_begin(stream, queue, 0, &batch);
  if (status != TSR_OK) return status;
  if (stream->copies_only) device->vk.ResetQueryPoolEXT(device->handle, event->time, 0, 1);
  else device->vk.CmdResetQueryPool(batch->commands, event->time, 0, 1);
  device->vk.CmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, event->time, 0);
  event->marks = queue->marks;
  status = tsri_vulkan_stream_end(stream);
  // On a copy stream, submit the time stamp now: copies there are submitted at once, and a stamp that was left open would be written
  // only with the next submission, too late.
  return status == TSR_OK && stream != queue->kernels ? tsri_vulkan_stream_submit(stream) : status;
}

tsr_status tsri_vulkan_event_record(tsri_queue *opaque, tsri_event *opaque_event) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  vulkan_event *event = (vulkan_event *)opaque_event;
  tsr_status status = tsri_vulkan_check_lost(queue->device);
  // A queue that can only copy cannot reset the event's query, so the host resets it. An earlier recording of the event must have been
  // written before that, so wait for it.
  if (status == TSR_OK && event->time && queue->newest->copies_only) {
    status = tsri_vulkan_wait(queue->device, &event->marks, queue->device->timeout_ns);
  }
  tsri_mutex_lock(&queue->device->lock);
  if (status == TSR_OK && event->time) status = record_time(queue, event);
  if (status == TSR_OK && !event->time) event->marks = queue->marks;
  tsri_mutex_unlock(&queue->device->lock);
  return status;
}

// The queue's next command waits for the event if it goes to another stream than the commands before the event.
tsr_status tsri_vulkan_event_await(tsri_queue *opaque, tsri_event *opaque_event) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  const vulkan_event *event = (const vulkan_event *)opaque_event;
  tsri_mutex_lock(&queue->device->lock);
  tsri_vulkan_marks_add(&queue->marks, &event->marks);
  tsri_mutex_unlock(&queue->device->lock);
  return tsri_vulkan_check_lost(queue->device);
}

tsr_status tsri_vulkan_event_is_done(tsri_device *opaque, tsri_event *opaque_event, bool *out_done) {
  vulkan_device *device = vulkan_device_of(opaque);
  const vulkan_event *event = (const vulkan_event *)opaque_event;
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_vulkan_check_lost(device);
  // The event's batches may still be open. Submit them, otherwise the event would never happen.
  if (status == TSR_OK) status = tsri_vulkan_submit_up_to(device, &event->marks);
  tsri_vulkan_streams_retire(device);
  if (status == TSR_OK) *out_done = tsri_vulkan_is_past(device, &event->marks);
  if (status == TSR_OK && !*out_done) status = tsri_vulkan_streams_feed(device);  // the caller will ask again, or wait
  tsri_mutex_unlock(&device->lock);
  return status;
}

static tsr_status time_of(vulkan_device *device, const vulkan_event *event, uint64_t *out_ticks) {
  VkResult result = device->vk.GetQueryPoolResults(device->handle, event->time, 0, 1, sizeof *out_ticks, out_ticks,
                                                   sizeof *out_ticks, VK_QUERY_RESULT_64_BIT);
  if (result == VK_NOT_READY)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the event has not happened", device->name);
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_INTERNAL, "vkGetQueryPoolResults");
  return TSR_OK;
}

tsr_status tsri_vulkan_event_elapsed(tsri_device *opaque, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  vulkan_device *device = vulkan_device_of(opaque);
  if (!device->has_times) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: times need a device that has them, opened for profiling", device->name);
  }
  uint64_t first = 0, last = 0;
  tsr_status status = time_of(device, (const vulkan_event *)from, &first);
  if (status == TSR_OK) status = time_of(device, (const vulkan_event *)to, &last);
  if (status != TSR_OK) return status;
  uint64_t mask =
      device->physical.timestamp_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << device->physical.timestamp_bits) - 1;
  double period = (double)device->physical.properties.limits.timestampPeriod;
  *out_ns = (uint64_t)((double)((last - first) & mask) * period);
  return TSR_OK;
}

#endif
