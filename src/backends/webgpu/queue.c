// SPDX-License-Identifier: MIT
// Queues: waiting, and the readbacks that a wait copies to the host.
#include "backends/webgpu/webgpu.h"

#include "core/alloc.h"

tsr_status tsri_webgpu_queue_create(tsri_device *device, tsri_queue **out_queue) {
  webgpu_queue *queue = tsri_calloc(1, sizeof *queue);
  if (!queue) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "webgpu: no host memory for a queue's record");
  queue->device = webgpu_device_of(device);
  queue->last_readback = &queue->readbacks;
  *out_queue = (tsri_queue *)queue;
  return TSR_OK;
}

// Keeps the readback buffer for a later copy if there is a free place.
static void give_back(webgpu_device *device, webgpu_buffer buffer) {
  for (int i = 0; i < WEBGPU_SPARE_READBACKS; i++) {
    if (device->spare[i].handle) continue;
    device->spare[i] = buffer;
    return;
  }
  tsri_wgpu.buffer_destroy(device->handle, buffer.handle);
}

static void drop_readbacks(webgpu_queue *queue) {
  for (webgpu_readback *r = queue->readbacks, *next; r; r = next) {
    next = r->next;
    tsri_wgpu.buffer_destroy(queue->device->handle, r->buffer.handle);
    tsri_free(r);
  }
  queue->readbacks = NULL;
  queue->last_readback = &queue->readbacks;
}

void tsri_webgpu_queue_destroy(tsri_queue *opaque) {
  webgpu_queue *queue = webgpu_queue_of(opaque);
  tsri_mutex_lock(&queue->device->lock);
  drop_readbacks(queue);
  tsri_mutex_unlock(&queue->device->lock);
  tsri_free(queue);
}

static uint64_t time_left(uint64_t timeout_ns, uint64_t start_ns) {
  uint64_t spent = tsri_clock_ns() - start_ns;
  if (timeout_ns == UINT64_MAX) return UINT64_MAX;
  return spent < timeout_ns ? timeout_ns - spent : 0;
}

static tsr_status finish_readbacks(webgpu_queue *queue, uint64_t timeout_ns, uint64_t start_ns) {
  webgpu_device *device = queue->device;
  while (queue->readbacks) {
    webgpu_readback *r = queue->readbacks;
    tsr_status status = tsri_wgpu.read(device->handle, r->buffer.handle, r->offset, r->to, r->bytes,
                                       webgpu_milliseconds(time_left(timeout_ns, start_ns)));
    if (status != TSR_OK) return WEBGPU_FAIL(device, status, "copying to the host");
    queue->readbacks = r->next;
    if (!r->next) queue->last_readback = &queue->readbacks;
    give_back(device, r->buffer);
    tsri_free(r);
  }
  return TSR_OK;
}

tsr_status tsri_webgpu_queue_wait(tsri_queue *opaque, uint64_t timeout_ns) {
  webgpu_queue *queue = webgpu_queue_of(opaque);
  webgpu_device *device = queue->device;
  uint64_t start_ns = tsri_clock_ns();
  tsri_mutex_lock(&device->lock);
  tsr_status status = tsri_webgpu_check_lost(device);
  if (status == TSR_OK) status = tsri_webgpu_stream_submit(device);
  if (status == TSR_OK) status = tsri_webgpu_stream_wait(device, device->submitted, timeout_ns);
  if (status == TSR_OK) status = finish_readbacks(queue, timeout_ns, start_ns);
  if (status == TSR_ERR_DEVICE_LOST) drop_readbacks(queue);  // the data will never arrive
  tsri_mutex_unlock(&device->lock);
  return status;
}
