// SPDX-License-Identifier: MIT
// A stream of commands: batches that are recorded, submitted and reused.
//
// Invariants, with the lock held: at most one batch is open, and it has the highest number; submitted batches end in
// the order of their numbers; every batch up to `completed` has ended. Each batch begins with a barrier that waits for
// all earlier batches (a barrier also covers earlier submissions to the same queue), and ends with one that makes its
// results visible to the host. A batch is submitted after those of other streams that it waits for, so that waits cannot
// form a circle, and so that several streams may share a VkQueue.
#include "backends/common/poll.h"
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <string.h>

// Stages and accesses that a queue family without kernels does not have must not be named there.
static VkPipelineStageFlags stages_of(const vulkan_stream *stream) {
  return VK_PIPELINE_STAGE_TRANSFER_BIT | (stream->copies_only ? 0 : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
}
static VkAccessFlags writes_of(const vulkan_stream *stream) {
  return VK_ACCESS_TRANSFER_WRITE_BIT | (stream->copies_only ? 0 : VK_ACCESS_SHADER_WRITE_BIT);
}
static VkAccessFlags reads_of(const vulkan_stream *stream) {
  return VK_ACCESS_TRANSFER_READ_BIT | (stream->copies_only ? 0 : VK_ACCESS_SHADER_READ_BIT);
}

// If the device is idle, the first batch after a wait is submitted when it has FIRST_COMMANDS, and each further one when it has twice as many as the one before, up to
// IDLE_COMMANDS: an idle device should begin soon, but each submission takes the host as long as several launches.
enum {
  FIRST_COMMANDS = 8,
  IDLE_COMMANDS = 32,
  SLOW_NS = 30 * 1000,          // commands that take longer are worth a submission each
  LONG_NS = 500 * 1000 * 1000,  // a batch that ran this long was too large
  SHORT_NS = 100 * 1000 * 1000
};

// --- Making and ending them -----------------------------------------------------------------------------------------

static VkResult init_batch(vulkan_stream *stream, uint32_t family, vulkan_batch *batch) {
  const tsri_vulkan_device_api *vk = &stream->device->vk;
  VkDevice handle = stream->device->handle;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                  .queueFamilyIndex = family};
  VkResult result = vk->CreateCommandPool(handle, &pool, NULL, &batch->pool);
  if (result != VK_SUCCESS) return result;
  VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = batch->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  result = vk->AllocateCommandBuffers(handle, &commands, &batch->commands);
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  if (result == VK_SUCCESS) result = vk->CreateFence(handle, &fence, NULL, &batch->fence);
  if (result != VK_SUCCESS || stream->copies_only) return result;
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VULKAN_BATCH_DESCRIPTORS};
  VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = VULKAN_BATCH_SETS,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  result = vk->CreateDescriptorPool(handle, &sets, NULL, &batch->sets);
  VkQueryPoolCreateInfo times = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
  if (result == VK_SUCCESS && stream->device->physical.timestamp_bits > 0) {
    result = vk->CreateQueryPool(handle, &times, NULL, &batch->times);
  }
  return result;
}

tsr_status tsri_vulkan_stream_init(vulkan_stream *stream, uint32_t family, VkQueue queue) {
  vulkan_device *device = stream->device;
  stream->queue = queue;
  // Starts with small batches, which grow as long as they finish quickly, because the duration of a command is not
  // known yet. Large copies are submitted one by one in any case.
  bool can_measure = device->physical.timestamp_bits > 0 && !stream->copies_only;
  stream->batch_limit = can_measure ? FIRST_COMMANDS : VULKAN_BATCH_COMMANDS;
  stream->enough = FIRST_COMMANDS;
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    VkResult result = init_batch(stream, family, &stream->batches[i]);
    if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_UNAVAILABLE, "making a command buffer");
  }
  stream->is_open = true;
  return TSR_OK;
}

void tsri_vulkan_stream_deinit(vulkan_stream *stream) {
  const vulkan_device *device = stream->device;
  if (!device) return;
  const tsri_vulkan_device_api *vk = &device->vk;
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    vulkan_batch *batch = &stream->batches[i];
    if (batch->times) vk->DestroyQueryPool(device->handle, batch->times, NULL);
    if (batch->sets) vk->DestroyDescriptorPool(device->handle, batch->sets, NULL);
    if (batch->fence) vk->DestroyFence(device->handle, batch->fence, NULL);
    if (batch->pool) vk->DestroyCommandPool(device->handle, batch->pool, NULL);
  }
  if (stream->ended) vk->DestroySemaphore(device->handle, stream->ended, NULL);
  *stream = (vulkan_stream){0};
}

// --- Batches that have ended ----------------------------------------------------------------------------------------

// Adapts batch_limit to the duration of the last batch, so that a batch takes less than about half a second, and has_slow. A software driver runs on the
// processor that records: it gains nothing from an early start.
static void adapt(vulkan_stream *stream, const vulkan_batch *batch) {
  vulkan_device *device = stream->device;
  uint64_t ticks[2] = {0, 0};
  if (!batch->times) return;
  VkResult result = device->vk.GetQueryPoolResults(device->handle, batch->times, 0, 2, sizeof ticks, ticks,
                                                   sizeof *ticks, VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS || ticks[1] < ticks[0]) return;
  double ns = (double)(ticks[1] - ticks[0]) * (double)device->physical.properties.limits.timestampPeriod;
  bool is_gpu = !tsri_vulkan_is_software(&device->physical);
  stream->has_slow = is_gpu && ns > (double)SLOW_NS * batch->command_count;
  if (ns > LONG_NS && batch->command_count > 1) {
    stream->batch_limit = batch->command_count / 2;
  } else if (ns < SHORT_NS && stream->batch_limit < VULKAN_BATCH_COMMANDS) {
    stream->batch_limit *= 2;
  }
}

static vulkan_batch *oldest_submitted(vulkan_stream *stream) {
  vulkan_batch *oldest = NULL;
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    vulkan_batch *batch = &stream->batches[i];
    if (batch->is_submitted && (!oldest || batch->value < oldest->value)) oldest = batch;
  }
  return oldest;
}

static uint32_t count_submitted(const vulkan_stream *stream) {
  uint32_t count = 0;
  for (int i = 0; i < VULKAN_BATCHES; i++) count += stream->batches[i].is_submitted;
  return count;
}

static void mark_ended(vulkan_stream *stream, vulkan_batch *batch) {
  batch->is_submitted = false;
  stream->completed = batch->value;
  adapt(stream, batch);
}

void tsri_vulkan_stream_retire(vulkan_stream *stream) {
  vulkan_device *device = stream->device;
  for (vulkan_batch *batch; (batch = oldest_submitted(stream));) {
    VkResult result = device->vk.GetFenceStatus(device->handle, batch->fence);
    if (result == VK_ERROR_DEVICE_LOST) atomic_store(&device->is_lost, true);
    if (result != VK_SUCCESS) return;
    mark_ended(stream, batch);
  }
}

// --- Submitting and waiting -----------------------------------------------------------------------------------------

static void put_barrier(vulkan_stream *stream, VkPipelineStageFlags to, VkAccessFlags accesses) {
  VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = writes_of(stream), .dstAccessMask = accesses};
  stream->device->vk.CmdPipelineBarrier(stream->open->commands, stages_of(stream), to, 0, 1, &barrier, 0, NULL, 0,
                                        NULL);
}

static void put_barrier_for_all(vulkan_stream *stream) {
  put_barrier(stream, stages_of(stream), reads_of(stream) | writes_of(stream));
}

// Submits a batch that waits for batch->after and then sets the stream's semaphore to its number.
static VkResult submit_in_order(vulkan_stream *stream, const vulkan_batch *batch) {
  VkSemaphore semaphores[VULKAN_STREAMS];
  uint64_t values[VULKAN_STREAMS];
  VkPipelineStageFlags stages[VULKAN_STREAMS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < VULKAN_STREAMS; i++) {
    if (batch->after.of[i] == 0) continue;
    semaphores[count] = stream->device->streams[i].ended;
    values[count] = batch->after.of[i];
    stages[count++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  }
  VkTimelineSemaphoreSubmitInfoKHR order = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO_KHR,
                                            .waitSemaphoreValueCount = count,
                                            .pWaitSemaphoreValues = values,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &batch->value};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = stream->ended ? &order : NULL,
                       .waitSemaphoreCount = count,
                       .pWaitSemaphores = semaphores,
                       .pWaitDstStageMask = stages,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &batch->commands,
                       .signalSemaphoreCount = stream->ended ? 1 : 0,
                       .pSignalSemaphores = &stream->ended};
  return stream->device->vk.QueueSubmit(stream->queue, 1, &info, batch->fence);
}

tsr_status tsri_vulkan_stream_submit(vulkan_stream *stream) {
  vulkan_device *device = stream->device;
  vulkan_batch *batch = stream->open;
  if (!batch) return TSR_OK;
  const tsri_vulkan_device_api *vk = &device->vk;
  put_barrier(stream, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  if (batch->times) vk->CmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, batch->times, 1);
  stream->open = NULL;
  stream->hazard_count = 0;
  VkResult result = vk->EndCommandBuffer(batch->commands);
  if (result == VK_SUCCESS) result = submit_in_order(stream, batch);
  if (result != VK_SUCCESS) {
    // The commands of this batch will not run. Its number still counts as ended once the batches before it have ended,
    // so that nobody waits for it for ever.
    batch->is_submitted = false;
    if (!oldest_submitted(stream)) stream->completed = batch->value;
    stream->awaited = (vulkan_marks){0};  // its waits did not happen
    return VULKAN_FAIL(device, result, TSR_ERR_LAUNCH, "vkQueueSubmit");
  }
  batch->is_submitted = true;
  stream->submitted = batch->value;
  return TSR_OK;
}

// Waits for a fence. vkWaitForFences puts the thread to sleep, and waking it up takes about 50 us, several times what a small kernel takes: so GPUs are polled, as by
// the other backends. A software driver needs the processor itself.
static VkResult wait_for_fence(const vulkan_device *device, VkFence fence, uint64_t timeout_ns) {
  if (tsri_vulkan_is_software(&device->physical)) {
    return device->vk.WaitForFences(device->handle, 1, &fence, VK_TRUE, timeout_ns);
  }
  tsri_poll poll = tsri_poll_begin(timeout_ns);
  VkResult result;
  do result = device->vk.GetFenceStatus(device->handle, fence);
  while (result == VK_NOT_READY && tsri_poll_again(&poll));
  return result == VK_NOT_READY ? VK_TIMEOUT : result;
}

// The lock is held when it is called and when it returns, but released while it waits.
static tsr_status wait_for(vulkan_stream *stream, vulkan_batch *batch, uint64_t timeout_ns) {
  vulkan_device *device = stream->device;
  uint64_t value = batch->value;
  batch->waiters++;
  tsri_mutex_unlock(&device->lock);
  VkResult result = wait_for_fence(device, batch->fence, timeout_ns);
  tsri_mutex_lock(&device->lock);
  batch->waiters--;
  if (result == VK_TIMEOUT) {
    return TSRI_FAIL(TSR_ERR_TIMEOUT, "%s: the work did not finish within %llu ms", device->name,
                     (unsigned long long)(timeout_ns / 1000000));
  }
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_INTERNAL, "waiting for a fence");
  if (batch->is_submitted && batch->value == value) tsri_vulkan_stream_retire(stream);
  return TSR_OK;
}

static vulkan_batch *find_batch(vulkan_stream *stream, uint64_t value) {
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    if (stream->batches[i].is_submitted && stream->batches[i].value == value) return &stream->batches[i];
  }
  return oldest_submitted(stream);  // this batch was not submitted: wait for the oldest one before it
}

tsr_status tsri_vulkan_stream_wait(vulkan_stream *stream, uint64_t value, uint64_t timeout_ns) {
  tsr_status status = TSR_OK;
  if (stream->open && stream->open->value <= value) status = tsri_vulkan_stream_submit(stream);
  tsri_vulkan_stream_retire(stream);
  while (status == TSR_OK && stream->completed < value) {
    vulkan_batch *batch = find_batch(stream, value);
    if (!batch) break;
    status = wait_for(stream, batch, timeout_ns);
  }
  if (stream->completed == stream->last_value) stream->enough = FIRST_COMMANDS;
  return status;
}

// --- Recording ------------------------------------------------------------------------------------------------------

static vulkan_batch *free_batch(vulkan_stream *stream) {
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    vulkan_batch *batch = &stream->batches[i];
    if (!batch->is_submitted && batch->waiters == 0 && batch != stream->open) return batch;
  }
  return NULL;
}

static VkResult reset_batch(vulkan_stream *stream, vulkan_batch *batch) {
  const tsri_vulkan_device_api *vk = &stream->device->vk;
  VkDevice handle = stream->device->handle;
  VkResult result = vk->ResetCommandPool(handle, batch->pool, 0);
  if (result == VK_SUCCESS) result = vk->ResetFences(handle, 1, &batch->fence);
  if (result == VK_SUCCESS && batch->sets) result = vk->ResetDescriptorPool(handle, batch->sets, 0);
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  return result == VK_SUCCESS ? vk->BeginCommandBuffer(batch->commands, &begin) : result;
}

static tsr_status open_batch(vulkan_stream *stream) {
  vulkan_device *device = stream->device;
  vulkan_batch *batch = NULL;
  tsri_vulkan_stream_retire(stream);
  // While this thread waits, another thread may take the lock and the batch, so both conditions are checked again.
  while (!stream->open && !(batch = free_batch(stream))) {
    vulkan_batch *oldest = oldest_submitted(stream);
    tsr_status status = oldest ? wait_for(stream, oldest, device->timeout_ns) : TSR_OK;
    if (status != TSR_OK) return status;
    if (!oldest) {  // all have ended, but a thread that waited for one has not woken up yet
      tsri_mutex_unlock(&device->lock);
      tsri_sleep_ns(50000);
      tsri_mutex_lock(&device->lock);
    }
  }
  if (stream->open) return TSR_OK;
  VkResult result = reset_batch(stream, batch);
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_LAUNCH, "beginning a command buffer");
  batch->value = ++stream->last_value;
  batch->command_count = batch->set_count = batch->descriptor_count = 0;
  batch->after = (vulkan_marks){0};
  batch->bound.program = NULL;
  stream->open = batch;
  stream->hazard_count = 0;
  if (batch->times) {
    device->vk.CmdResetQueryPool(batch->commands, batch->times, 0, 2);
    device->vk.CmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, batch->times, 0);
  }
  put_barrier_for_all(stream);
  return TSR_OK;
}

// Returns the number of the batch of stream `other` that this stream must still wait for before it runs commands that come after `marks`; 0: none.
// A batch whose submission failed is never waited for.
static uint64_t due(const vulkan_stream *stream, uint32_t other, const vulkan_marks *marks) {
  const vulkan_stream *from = &stream->device->streams[other];
  uint64_t value = marks->of[other] < from->submitted ? marks->of[other] : from->submitted;
  bool is_waited_for = other == stream->index || value <= stream->awaited.of[other] || value <= from->completed;
  return is_waited_for ? 0 : value;
}

// Submits what the stream's next batch has to wait for. `*out_waits`: there is something.
static tsr_status submit_earlier(vulkan_stream *stream, const vulkan_marks *marks, bool *out_waits) {
  *out_waits = false;
  for (uint32_t i = 0; stream->ended && i < VULKAN_STREAMS; i++) {
    vulkan_stream *other = &stream->device->streams[i];
    bool is_recorded = other != stream && other->open && other->open->value <= marks->of[i];
    tsr_status status = is_recorded ? tsri_vulkan_stream_submit(other) : TSR_OK;
    if (status != TSR_OK) return status;
    if (due(stream, i, marks)) *out_waits = true;
  }
  return TSR_OK;
}

tsr_status tsri_vulkan_stream_begin(vulkan_stream *stream, vulkan_queue *queue, uint32_t descriptors,
                                    vulkan_batch **out_batch) {
  for (;;) {  // opening a batch may release the lock, so that everything is looked at again
    bool waits = false;
    tsr_status status = tsri_vulkan_check_lost(stream->device);
    if (status == TSR_OK) status = submit_earlier(stream, &queue->marks, &waits);
    if (status != TSR_OK) return status;
    const vulkan_batch *batch = stream->open;
    bool is_full = batch && (batch->command_count >= stream->batch_limit || batch->set_count >= VULKAN_BATCH_SETS ||
                             batch->descriptor_count + descriptors > VULKAN_BATCH_DESCRIPTORS);
    // A batch waits as a whole, before its first command: if the open one has commands already, a new batch is needed.
    bool is_early = batch && waits && batch->command_count > 0;
    if (batch && !is_full && !is_early) break;
    status = batch ? tsri_vulkan_stream_submit(stream) : open_batch(stream);
    if (status != TSR_OK) return status;
  }
  vulkan_batch *batch = stream->open;
  for (uint32_t i = 0; stream->ended && i < VULKAN_STREAMS; i++) {
    uint64_t value = due(stream, i, &queue->marks);
    if (value) batch->after.of[i] = stream->awaited.of[i] = value;
  }
  queue->marks.of[stream->index] = batch->value;
  queue->newest = stream;
  *out_batch = batch;
  return TSR_OK;
}

static bool conflicts(const vulkan_access *a, const vulkan_access *b) {
  return a->buffer == b->buffer && a->begin < b->end && b->begin < a->end && (a->is_write || b->is_write);
}

// Whether access `a` covers `b`: every access that conflicts with b also conflicts with a.
static bool covers(const vulkan_access *a, const vulkan_access *b) {
  return a->buffer == b->buffer && a->begin <= b->begin && b->end <= a->end && (a->is_write || !b->is_write);
}

void tsri_vulkan_stream_touch(vulkan_stream *stream, const vulkan_access *accesses, uint32_t count) {
  bool needs_barrier = false, is_known[VULKAN_MAX_BINDINGS] = {false};
  uint32_t new_count = 0;
  for (uint32_t i = 0; i < count && !needs_barrier; i++) {
    for (uint32_t j = 0; j < stream->hazard_count && !needs_barrier; j++) {
      needs_barrier = conflicts(&accesses[i], &stream->hazards[j]);
      is_known[i] |= covers(&stream->hazards[j], &accesses[i]);
    }
    new_count += !is_known[i];
  }
  needs_barrier |= stream->hazard_count + new_count > VULKAN_HAZARDS;
  if (needs_barrier) {
    put_barrier_for_all(stream);
    stream->hazard_count = 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (needs_barrier || !is_known[i]) stream->hazards[stream->hazard_count++] = accesses[i];
  }
}

tsr_status tsri_vulkan_stream_end(vulkan_stream *stream) {
  vulkan_batch *batch = stream->open;
  batch->command_count++;
  if (batch->command_count >= stream->batch_limit) return tsri_vulkan_stream_submit(stream);
  // Decides whether to check if the device has run out of work. Slow commands: the first is submitted at once, so that the device does not wait for
  // FIRST_COMMANDS to be recorded, and the next ones before the device has run out of work. Quick commands: check once per FIRST_COMMANDS.
  bool is_asked = batch->command_count >= stream->enough && batch->command_count % FIRST_COMMANDS == 0;
  if (!is_asked && !stream->has_slow) return TSR_OK;
  tsri_vulkan_stream_retire(stream);
  uint32_t under_way = count_submitted(stream);
  bool is_due = under_way == 0 || (stream->has_slow && under_way == 1 && batch->command_count >= FIRST_COMMANDS);
  if (!is_due) return TSR_OK;
  if (stream->enough < IDLE_COMMANDS) stream->enough *= 2;
  return tsri_vulkan_stream_submit(stream);
}

#endif
