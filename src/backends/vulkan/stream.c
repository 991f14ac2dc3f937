// SPDX-License-Identifier: MIT
// The command stream of a device: batches of commands that are recorded, submitted and reused.
//
// Invariants, with the lock held: at most one batch is open, and it has the highest number; submitted batches end in
// the order of their numbers; every batch up to `completed` has ended. Each batch begins with a barrier that waits for
// all earlier batches (a barrier also covers earlier submissions to the same queue), and ends with one that makes its
// results visible to the host.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <string.h>

#define STAGES (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)
#define WRITES (VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT)
#define READS  (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT)

enum {
  FIRST_COMMANDS = 8,           // a batch of this size is submitted at once if the device is idle
  LONG_NS = 500 * 1000 * 1000,  // a batch that ran this long was too large
  SHORT_NS = 100 * 1000 * 1000
};

// --- Making and ending them -----------------------------------------------------------------------------------------

static VkResult init_batch(vulkan_device *device, vulkan_batch *batch) {
  const tsri_vulkan_device_api *vk = &device->vk;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                  .queueFamilyIndex = device->physical.family};
  VkResult result = vk->CreateCommandPool(device->handle, &pool, NULL, &batch->pool);
  if (result != VK_SUCCESS) return result;
  VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = batch->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  result = vk->AllocateCommandBuffers(device->handle, &commands, &batch->commands);
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  if (result == VK_SUCCESS) result = vk->CreateFence(device->handle, &fence, NULL, &batch->fence);
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VULKAN_BATCH_DESCRIPTORS};
  VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = VULKAN_BATCH_SETS,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  if (result == VK_SUCCESS) result = vk->CreateDescriptorPool(device->handle, &sets, NULL, &batch->sets);
  VkQueryPoolCreateInfo times = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
  if (result == VK_SUCCESS && device->physical.timestamp_bits > 0) {
    result = vk->CreateQueryPool(device->handle, &times, NULL, &batch->times);
  }
  return result;
}

tsr_status tsri_vulkan_stream_init(vulkan_device *device) {
  // Starts with small batches, which grow as long as they finish quickly, because the duration of a command is not
  // known yet.
  device->batch_limit = device->physical.timestamp_bits > 0 ? FIRST_COMMANDS : VULKAN_BATCH_COMMANDS;
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    VkResult result = init_batch(device, &device->batches[i]);
    if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_UNAVAILABLE, "making a command buffer");
  }
  return TSR_OK;
}

// The device must be idle.
void tsri_vulkan_stream_deinit(vulkan_device *device) {
  const tsri_vulkan_device_api *vk = &device->vk;
  device->completed = device->last_value;
  tsri_vulkan_stage_trim(device, true);
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    vulkan_batch *batch = &device->batches[i];
    if (batch->times) vk->DestroyQueryPool(device->handle, batch->times, NULL);
    if (batch->sets) vk->DestroyDescriptorPool(device->handle, batch->sets, NULL);
    if (batch->fence) vk->DestroyFence(device->handle, batch->fence, NULL);
    if (batch->pool) vk->DestroyCommandPool(device->handle, batch->pool, NULL);
  }
}

// --- Batches that have ended ----------------------------------------------------------------------------------------

// Adapts batch_limit to the duration of the last batch, so that a batch takes less than about half a second.
static void adapt(vulkan_device *device, const vulkan_batch *batch) {
  uint64_t ticks[2] = {0, 0};
  if (!batch->times) return;
  VkResult result = device->vk.GetQueryPoolResults(device->handle, batch->times, 0, 2, sizeof ticks, ticks,
                                                   sizeof *ticks, VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS || ticks[1] < ticks[0]) return;
  double ns = (double)(ticks[1] - ticks[0]) * (double)device->physical.properties.limits.timestampPeriod;
  if (ns > LONG_NS && batch->command_count > 1) {
    device->batch_limit = batch->command_count / 2;
  } else if (ns < SHORT_NS && device->batch_limit < VULKAN_BATCH_COMMANDS) {
    device->batch_limit *= 2;
  }
}

static vulkan_batch *oldest_submitted(vulkan_device *device) {
  vulkan_batch *oldest = NULL;
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    vulkan_batch *batch = &device->batches[i];
    if (batch->is_submitted && (!oldest || batch->value < oldest->value)) oldest = batch;
  }
  return oldest;
}

static void mark_ended(vulkan_device *device, vulkan_batch *batch) {
  batch->is_submitted = false;
  device->completed = batch->value;
  adapt(device, batch);
}

void tsri_vulkan_stream_retire(vulkan_device *device) {
  for (vulkan_batch *batch; (batch = oldest_submitted(device));) {
    VkResult result = device->vk.GetFenceStatus(device->handle, batch->fence);
    if (result == VK_ERROR_DEVICE_LOST) atomic_store(&device->is_lost, true);
    if (result != VK_SUCCESS) return;
    mark_ended(device, batch);
  }
}

bool tsri_vulkan_stream_is_idle(vulkan_device *device) {
  if (device->open) return false;
  tsri_vulkan_stream_retire(device);
  return device->completed == device->last_value;
}

// --- Submitting and waiting -----------------------------------------------------------------------------------------

static void put_barrier(vulkan_device *device, VkPipelineStageFlags to, VkAccessFlags accesses) {
  VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = WRITES, .dstAccessMask = accesses};
  device->vk.CmdPipelineBarrier(device->open->commands, STAGES, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

tsr_status tsri_vulkan_stream_submit(vulkan_device *device) {
  vulkan_batch *batch = device->open;
  if (!batch) return TSR_OK;
  const tsri_vulkan_device_api *vk = &device->vk;
  put_barrier(device, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  if (batch->times) vk->CmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, batch->times, 1);
  device->open = NULL;
  device->hazard_count = 0;
  VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &batch->commands};
  VkResult result = vk->EndCommandBuffer(batch->commands);
  if (result == VK_SUCCESS) result = vk->QueueSubmit(device->queue, 1, &info, batch->fence);
  if (result != VK_SUCCESS) {
    // The commands of this batch will not run. Its number still counts as ended once the batches before it have ended,
    // so that nobody waits for it for ever.
    batch->is_submitted = false;
    if (!oldest_submitted(device)) device->completed = batch->value;
    return VULKAN_FAIL(device, result, TSR_ERR_LAUNCH, "vkQueueSubmit");
  }
  batch->is_submitted = true;
  return TSR_OK;
}

// The lock is held when it is called and when it returns, but released while it waits.
static tsr_status wait_for(vulkan_device *device, vulkan_batch *batch, uint64_t timeout_ns) {
  uint64_t value = batch->value;
  batch->waiters++;
  tsri_mutex_unlock(&device->lock);
  VkResult result = device->vk.WaitForFences(device->handle, 1, &batch->fence, VK_TRUE, timeout_ns);
  tsri_mutex_lock(&device->lock);
  batch->waiters--;
  if (result == VK_TIMEOUT) {
    return TSRI_FAIL(TSR_ERR_TIMEOUT, "%s: the work did not finish within %llu ms", device->name,
                     (unsigned long long)(timeout_ns / 1000000));
  }
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_INTERNAL, "vkWaitForFences");
  if (batch->is_submitted && batch->value == value) tsri_vulkan_stream_retire(device);
  return TSR_OK;
}

static vulkan_batch *find_batch(vulkan_device *device, uint64_t value) {
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    if (device->batches[i].is_submitted && device->batches[i].value == value) return &device->batches[i];
  }
  return oldest_submitted(device);  // this batch was not submitted: wait for the oldest one before it
}

tsr_status tsri_vulkan_stream_wait(vulkan_device *device, uint64_t value, uint64_t timeout_ns) {
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_vulkan_check_lost(device);
  if (status == TSR_OK && device->open && device->open->value <= value) status = tsri_vulkan_stream_submit(device);
  tsri_vulkan_stream_retire(device);
  while (status == TSR_OK && device->completed < value) {
    vulkan_batch *batch = find_batch(device, value);
    if (!batch) break;
    status = wait_for(device, batch, timeout_ns);
  }
  if (status == TSR_OK) status = tsri_vulkan_check_lost(device);
  tsri_mutex_unlock(&device->lock);
  return status;
}

// --- Recording ------------------------------------------------------------------------------------------------------

static vulkan_batch *free_batch(vulkan_device *device) {
  for (int i = 0; i < VULKAN_BATCHES; i++) {
    vulkan_batch *batch = &device->batches[i];
    if (!batch->is_submitted && batch->waiters == 0 && batch != device->open) return batch;
  }
  return NULL;
}

static tsr_status open_batch(vulkan_device *device) {
  const tsri_vulkan_device_api *vk = &device->vk;
  vulkan_batch *batch = NULL;
  tsri_vulkan_stream_retire(device);
  // While this thread waits, another thread may take the lock and the batch, so both conditions are checked again.
  while (!device->open && !(batch = free_batch(device))) {
    vulkan_batch *oldest = oldest_submitted(device);
    tsr_status status = oldest ? wait_for(device, oldest, device->timeout_ns) : TSR_OK;
    if (status != TSR_OK) return status;
    if (!oldest) {  // all have ended, but a thread that waited for one has not woken up yet
      tsri_mutex_unlock(&device->lock);
      tsri_sleep_ns(50000);
      tsri_mutex_lock(&device->lock);
    }
  }
  if (device->open) return TSR_OK;
  VkResult result = vk->ResetCommandPool(device->handle, batch->pool, 0);
  if (result == VK_SUCCESS) result = vk->ResetFences(device->handle, 1, &batch->fence);
  if (result == VK_SUCCESS) result = vk->ResetDescriptorPool(device->handle, batch->sets, 0);
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  if (result == VK_SUCCESS) result = vk->BeginCommandBuffer(batch->commands, &begin);
  if (result != VK_SUCCESS) return VULKAN_FAIL(device, result, TSR_ERR_LAUNCH, "beginning a command buffer");
  batch->value = ++device->last_value;
  batch->command_count = batch->set_count = batch->descriptor_count = 0;
  device->open = batch;
  device->hazard_count = 0;
  if (batch->times) {
    vk->CmdResetQueryPool(batch->commands, batch->times, 0, 2);
    vk->CmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, batch->times, 0);
  }
  put_barrier(device, STAGES, READS | WRITES);
  return TSR_OK;
}

tsr_status tsri_vulkan_stream_begin(vulkan_device *device, uint32_t descriptors, vulkan_batch **out_batch) {
  tsr_status status = tsri_vulkan_check_lost(device);
  vulkan_batch *batch = device->open;
  bool is_full = batch && (batch->command_count >= device->batch_limit || batch->set_count >= VULKAN_BATCH_SETS ||
                           batch->descriptor_count + descriptors > VULKAN_BATCH_DESCRIPTORS);
  if (status == TSR_OK && is_full) status = tsri_vulkan_stream_submit(device);
  if (status == TSR_OK && !device->open) status = open_batch(device);
  *out_batch = device->open;
  return status;
}

static bool conflicts(const vulkan_access *a, const vulkan_access *b) {
  return a->buffer == b->buffer && a->begin < b->end && b->begin < a->end && (a->is_write || b->is_write);
}

void tsri_vulkan_stream_touch(vulkan_device *device, const vulkan_access *accesses, uint32_t count) {
  bool needs_barrier = device->hazard_count + count > VULKAN_HAZARDS;
  for (uint32_t i = 0; i < count && !needs_barrier; i++) {
    for (uint32_t j = 0; j < device->hazard_count && !needs_barrier; j++) {
      needs_barrier = conflicts(&accesses[i], &device->hazards[j]);
    }
  }
  if (needs_barrier) {
    put_barrier(device, STAGES, READS | WRITES);
    device->hazard_count = 0;
  }
  memcpy(device->hazards + device->hazard_count, accesses, count * sizeof *accesses);
  device->hazard_count += count;
}

tsr_status tsri_vulkan_stream_end(vulkan_device *device) {
  vulkan_batch *batch = device->open;
  batch->command_count++;
  if (batch->command_count >= device->batch_limit) return tsri_vulkan_stream_submit(device);
  if (batch->command_count < FIRST_COMMANDS) return TSR_OK;
  tsri_vulkan_stream_retire(device);
  return oldest_submitted(device) ? TSR_OK : tsri_vulkan_stream_submit(device);
}

#endif
