// SPDX-License-Identifier: MIT
// The streams of a device: how many there are, which one a command goes to, and points in the work of all of them.
//
// A device begins with one stream. A program that creates queues gets streams for their kernels, as far as the driver has queues,
// and streams for large copies from and to the host, so that these run beside kernels: on the queue family that can only copy
// (the copy engines of a GPU), else on further queues of the family that runs kernels.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <string.h>

#include "platform/trust.h"

enum {
  COPY_STREAMS = VULKAN_STREAMS - VULKAN_COMPUTE_STREAMS,
  LEAST_COPY = 64 << 10  // waiting for another stream takes longer than a smaller copy
};

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

// --- Which there are --------------------------------------------------------------------------------------------------

vulkan_plan tsri_vulkan_streams_plan(const vulkan_physical *physical, const vulkan_features *features, bool has_times) {
  vulkan_plan plan = {.compute_count = 1, .least_copy = LEAST_COPY};
  const char *simulates = tsri_environment("TSRI_VULKAN_STREAMS");
  if (!features->timeline || !features->host_query_reset) return plan;
  if (simulates && strcmp(simulates, "1") == 0) {
    return (vulkan_plan){VULKAN_COMPUTE_STREAMS, COPY_STREAMS, .shares_queue = true};
  }
  bool has_bits = !has_times || physical->copy_timestamp_bits == physical->timestamp_bits;
  plan.has_copy_family = physical->copy_queue_count > 0 && has_bits;
  uint32_t spare = plan.has_copy_family ? physical->copy_queue_count : physical->queue_count - 1;
  plan.copy_count = smaller(spare, COPY_STREAMS);
  uint32_t left = physical->queue_count - (plan.has_copy_family ? 0 : plan.copy_count);
  plan.compute_count = smaller(left, VULKAN_COMPUTE_STREAMS);
  return plan;
}

// Creates the stream's timeline semaphore and submits a signal behind all work that the stream has submitted so far, so that the semaphore
// counts that work as well.
static tsr_status start_counting(vulkan_stream *stream) {
  vulkan_device *device = stream->device;
  if (stream->ended) return TSR_OK;
  VkSemaphoreTypeCreateInfoKHR type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO_KHR,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE_KHR};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkTimelineSemaphoreSubmitInfoKHR order = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO_KHR,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &stream->submitted};
  VkResult result = device->vk.CreateSemaphore(device->handle, &info, NULL, &stream->ended);
  VkSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &order,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &stream->ended};
  if (result == VK_SUCCESS && stream->submitted > 0) {
    result = device->vk.QueueSubmit(stream->queue, 1, &signal, VK_NULL_HANDLE);
  }
  return result == VK_SUCCESS ? TSR_OK : VULKAN_FAIL(device, result, TSR_ERR_UNAVAILABLE, "making a semaphore");
}

static tsr_status open_stream(vulkan_device *device, uint32_t index) {
  vulkan_stream *stream = &device->streams[index];
  if (stream->is_open) return TSR_OK;
  const vulkan_plan *plan = &device->plan;
  bool is_copy = index >= VULKAN_COMPUTE_STREAMS, is_other = is_copy && plan->has_copy_family;
  uint32_t number = is_copy ? index - VULKAN_COMPUTE_STREAMS : index;
  if (is_copy && !plan->has_copy_family) number += plan->compute_count;
  if (plan->shares_queue) number = 0;
  uint32_t family = is_other ? device->physical.copy_family : device->physical.family;
  VkQueue queue = VK_NULL_HANDLE;
  tsri_vulkan_stream_deinit(stream);  // what an earlier attempt has left
  stream->device = device;
  stream->index = index;
  stream->copies_only = is_other || (is_copy && plan->shares_queue);
  device->vk.GetDeviceQueue(device->handle, family, number, &queue);
  return tsri_vulkan_stream_init(stream, family, queue);
}

tsr_status tsri_vulkan_streams_init(vulkan_device *device) { return open_stream(device, 0); }

// The device must be idle.
void tsri_vulkan_streams_deinit(vulkan_device *device) {
  tsri_vulkan_stage_trim(device, true);
  for (uint32_t i = 0; i < VULKAN_STREAMS; i++) tsri_vulkan_stream_deinit(&device->streams[i]);
}

tsr_status tsri_vulkan_streams_choose(vulkan_device *device, vulkan_queue *queue) {
  const vulkan_plan *plan = &device->plan;
  uint32_t number = device->queue_count++, others = plan->compute_count - 1;
  uint32_t index = number == 0 || others == 0 ? 0 : 1 + (number - 1) % others;
  tsr_status status = TSR_OK;
  bool is_several = number > 0 && (others > 0 || plan->copy_count > 0);
  if (is_several) status = open_stream(device, index);
  for (uint32_t i = 0; is_several && i < plan->copy_count && status == TSR_OK; i++) {
    status = open_stream(device, VULKAN_COMPUTE_STREAMS + i);
  }
  for (uint32_t i = 0; is_several && i < VULKAN_STREAMS && status == TSR_OK; i++) {
    if (device->streams[i].is_open) status = start_counting(&device->streams[i]);
  }
  queue->kernels = queue->newest = &device->streams[index];
  queue->is_first = number == 0;
  return status;
}

vulkan_stream *tsri_vulkan_stream_for_copy(const vulkan_queue *queue, bool to_device, size_t bytes) {
  vulkan_device *device = queue->device;
  uint32_t count = device->plan.copy_count;
  if (queue->is_first || count == 0) return queue->kernels;
  if (bytes < device->plan.least_copy) return queue->newest;
  return &device->streams[VULKAN_COMPUTE_STREAMS + (to_device ? 0 : count - 1)];
}

// --- All of them ------------------------------------------------------------------------------------------------------

void tsri_vulkan_streams_retire(vulkan_device *device) {
  for (uint32_t i = 0; i < VULKAN_STREAMS; i++) {
    if (device->streams[i].is_open) tsri_vulkan_stream_retire(&device->streams[i]);
  }
}

static bool is_idle(const vulkan_stream *stream) { return stream->completed == stream->last_value; }

bool tsri_vulkan_streams_are_idle(vulkan_device *device) {
  tsri_vulkan_streams_retire(device);
  for (uint32_t i = 0; i < VULKAN_STREAMS; i++) {
    if (!is_idle(&device->streams[i])) return false;
  }
  return true;
}

tsr_status tsri_vulkan_streams_feed(vulkan_device *device) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < VULKAN_STREAMS && status == TSR_OK; i++) {
    vulkan_stream *stream = &device->streams[i];
    if (!stream->open || stream->open->command_count == 0) continue;
    tsri_vulkan_stream_retire(stream);
    bool has_work = stream->completed < stream->submitted;
    if (!has_work) status = tsri_vulkan_stream_submit(stream);
  }
  return status;
}

// --- Points in their work ---------------------------------------------------------------------------------------------

void tsri_vulkan_marks_add(vulkan_marks *marks, const vulkan_marks *more) {
  for (uint32_t i = 0; i < VULKAN_STREAMS; i++) {
    if (more->of[i] > marks->of[i]) marks->of[i] = more->of[i];
  }
}

bool tsri_vulkan_is_past(const vulkan_device *device, const vulkan_marks *marks) {
  for (uint32_t i = 0; i < VULKAN_STREAMS; i++) {
    if (marks->of[i] > device->streams[i].completed) return false;
  }
  return true;
}

tsr_status tsri_vulkan_submit_up_to(vulkan_device *device, const vulkan_marks *marks) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < VULKAN_STREAMS && status == TSR_OK; i++) {
    vulkan_stream *stream = &device->streams[i];
    if (stream->open && stream->open->value <= marks->of[i]) status = tsri_vulkan_stream_submit(stream);
  }
  return status;
}

// Submits all that is recorded if there are several streams: while the caller waits for one, the others should not run out of work.
static tsr_status submit_others(vulkan_device *device) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < VULKAN_STREAMS && status == TSR_OK; i++) {
    vulkan_stream *stream = &device->streams[i];
    bool has_commands = stream->ended && stream->open && stream->open->command_count > 0;
    if (has_commands) status = tsri_vulkan_stream_submit(stream);
  }
  return status;
}

tsr_status tsri_vulkan_wait(vulkan_device *device, const vulkan_marks *marks, uint64_t timeout_ns) {
  uint64_t left_ns = timeout_ns;
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_vulkan_check_lost(device);
  if (status == TSR_OK) status = tsri_vulkan_submit_up_to(device, marks);
  if (status == TSR_OK && !tsri_vulkan_is_past(device, marks)) status = submit_others(device);
  for (uint32_t i = 0; i < VULKAN_STREAMS && status == TSR_OK; i++) {
    if (marks->of[i] == 0) continue;
    uint64_t start_ns = tsri_clock_ns();
    status = tsri_vulkan_stream_wait(&device->streams[i], marks->of[i], left_ns);
    uint64_t passed_ns = tsri_clock_ns() - start_ns;
    if (timeout_ns != UINT64_MAX) left_ns -= passed_ns < left_ns ? passed_ns : left_ns;
  }
  if (status == TSR_OK) status = tsri_vulkan_check_lost(device);
  tsri_mutex_unlock(&device->lock);
  return status;
}

#endif
