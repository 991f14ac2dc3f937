// SPDX-License-Identifier: MIT
// Queues: creating, ending and waiting.
#include <string.h>

#include "backends/metal/metal.h"
#include "core/alloc.h"

tsr_status tsri_metal_queue_create(tsri_device *opaque, tsri_queue **out_queue) {
  metal_device *device = metal_device_of(opaque);
  tsr_status status = tsri_metal_check_lost(device);
  if (status != TSR_OK) return status;
  metal_queue *queue = tsri_calloc(1, sizeof *queue);
  if (!queue) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "metal: no host memory for a queue's record");
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  queue->commands = METAL_GET(metal_id, device->gpu.device, new_queue);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  if (!queue->commands) {
    tsri_free(queue);
    return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: Metal gives no command queue", device->gpu.name);
  }
  queue->device = device;
  queue->batch_limit = METAL_BATCH_COMMANDS / 8;
  queue->last_readback = &queue->readbacks;
  *out_queue = (tsri_queue *)queue;
  return TSR_OK;
}

// The core has waited, but work of a lost device may be left.
void tsri_metal_queue_destroy(tsri_queue *opaque) {
  metal_queue *queue = metal_queue_of(opaque);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  (void)tsri_metal_wait(queue, UINT64_MAX);
  tsri_metal_finish_readbacks(queue, false);
  tsri_mtl.objc_release(queue->commands);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  tsri_free(queue);
}

void tsri_metal_finish_readbacks(metal_queue *queue, bool copies) {
  for (metal_readback *r = queue->readbacks, *next; r; r = next) {
    next = r->next;
    if (copies) memcpy(r->to, METAL_GET(void *, r->staging, contents), r->bytes);
    tsri_mtl.objc_release(r->staging);
    tsri_free(r);
  }
  queue->readbacks = NULL;
  queue->last_readback = &queue->readbacks;
}

tsr_status tsri_metal_queue_wait(tsri_queue *opaque, uint64_t timeout_ns) {
  metal_queue *queue = metal_queue_of(opaque);
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = tsri_metal_wait(queue, timeout_ns);
  if (status == TSR_OK) status = tsri_metal_check_lost(queue->device);
  if (status != TSR_ERR_TIMEOUT) tsri_metal_finish_readbacks(queue, status == TSR_OK);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}
