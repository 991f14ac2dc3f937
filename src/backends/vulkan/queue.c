// SPDX-License-Identifier: MIT
// Queues. A queue remembers the batches of its newest commands and the readbacks that its next wait must copy to the
// host.
#include "backends/vulkan/vulkan.h"

#if TSRI_HAS_VULKAN

#include <string.h>

#include "core/alloc.h"

tsr_status tsri_vulkan_queue_create(tsri_device *device, tsri_queue **out_queue) {
  vulkan_queue *queue = tsri_calloc(1, sizeof *queue);
  if (!queue) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "vulkan: no host memory for a queue's record");
  queue->device = vulkan_device_of(device);
  queue->last_readback = &queue->readbacks;
  tsri_mutex_lock(&queue->device->lock);
  tsr_status status = tsri_vulkan_streams_choose(queue->device, queue);
  tsri_mutex_unlock(&queue->device->lock);
  if (status != TSR_OK) {
    tsri_free(queue);
    return status;
  }
  *out_queue = (tsri_queue *)queue;
  return TSR_OK;
}

void tsri_vulkan_queue_destroy(tsri_queue *queue) {
  tsri_vulkan_finish_readbacks(vulkan_queue_of(queue), false);
  tsri_free(queue);
}

// The list is used only by this queue's thread; the chunks are protected by the device's lock. copies: false drops the
// data.
void tsri_vulkan_finish_readbacks(vulkan_queue *queue, bool copies) {
  for (vulkan_readback *r = queue->readbacks, *next; r; r = next) {
    next = r->next;
    if (copies) memcpy(r->to, r->chunk->host + r->offset, r->bytes);
    tsri_mutex_lock(&queue->device->lock);
    r->chunk->pins--;
    tsri_mutex_unlock(&queue->device->lock);
    tsri_free(r);
  }
  queue->readbacks = NULL;
  queue->last_readback = &queue->readbacks;
}

tsr_status tsri_vulkan_queue_wait(tsri_queue *opaque, uint64_t timeout_ns) {
  vulkan_queue *queue = vulkan_queue_of(opaque);
  tsr_status status = tsri_vulkan_wait(queue->device, &queue->marks, timeout_ns);
  if (status == TSR_OK) {
    tsri_vulkan_finish_readbacks(queue, true);
    tsri_mutex_lock(&queue->device->lock);
    tsri_vulkan_stage_trim(queue->device, false);
    tsri_mutex_unlock(&queue->device->lock);
  } else if (status == TSR_ERR_DEVICE_LOST) {
    tsri_vulkan_finish_readbacks(queue, false);  // the data will never arrive
  }
  return status;
}

#endif
