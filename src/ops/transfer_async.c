// SPDX-License-Identifier: MIT
// Reading and writing tensors without waiting.
#include <tessera/queue.h>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/transfer.h"
#include "ops/packed.h"
#include "ops/transfer.h"
#include "runtime/queue.h"

// Ends a transfer that was queued on the track: gives its event, or waits for the transfer if no event can be created.
static tsr_status announce(tsr_device *device, int track, bool is_delivered, tsr_status status, tsr_event **out_event) {
  if (status != TSR_OK || !out_event) return status;
  status = tsri_event_create(device, track, is_delivered, out_event);
  if (status != TSR_OK) (void)tsri_device_wait(device);
  return status;
}

static tsr_status queue_write(tsr_tensor *tensor, const void *data, size_t bytes) {
  tsr_status status = tsri_graph_before_write(tensor);
  if (status != TSR_OK || bytes == 0) return status;
  tsri_view view = tsri_view_of(tensor);
  status = tsri_target_check("write_async", tensor);
  return status == TSR_OK ? tsri_write_elements_queued(&view, data) : status;
}

tsr_status tsr_write_async(tsr_queue *queue, tsr_tensor *tensor, const void *data, size_t bytes,
                           tsr_event **out_event) {
  if (out_event) *out_event = NULL;
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor);
    tsr_status written = tsr_write_async(queue, stored, data, bytes, out_event);
    tsr_release(stored);
    return written;
  }
  int track = 0;
  tsr_status status = tsri_transfer_check("write_async", tensor, data, bytes);
  if (status == TSR_OK) status = tsri_queue_track("write_async", queue, tensor->value->device, &track);
  if (status != TSR_OK) return status;
  tsr_device *device = tensor->value->device;
  tsri_track_entry before = tsri_track_enter(device, track);
  status = queue_write(tensor, data, bytes);
  tsri_track_leave(before);
  return announce(device, track, false, status, out_event);
}

tsr_status tsr_read_async(tsr_queue *queue, tsr_tensor *tensor, void *out_data, size_t bytes, tsr_event **out_event) {
  if (out_event) *out_event = NULL;
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor);
    tsr_status read = tsr_read_async(queue, stored, out_data, bytes, out_event);
    tsr_release(stored);
    return read;
  }
  int track = 0;
  tsr_status status = tsri_transfer_check("read_async", tensor, out_data, bytes);
  if (status == TSR_OK) status = tsri_queue_track("read_async", queue, tensor->value->device, &track);
  if (status == TSR_OK) status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  tsr_device *device = tensor->value->device;
  tsri_view view = tsri_view_of(tensor);
  tsri_track_entry before = tsri_track_enter(device, track);
  status = tsri_read_elements_queued(&view, out_data);
  tsri_track_leave(before);
  return announce(device, track, !tsri_host_is_direct(device, out_data, bytes), status, out_event);
}
