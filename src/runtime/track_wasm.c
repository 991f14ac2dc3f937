// SPDX-License-Identifier: MIT
// In the browser there is one thread and thus one track, so tracks need not be ordered.
#include "core/error.h"
#include "runtime/buffer.h"

atomic_bool tsri_tracks_are_used;

int tsri_track_find(const tsr_device *device) {
  (void)device;
  return 0;
}

tsri_track_entry tsri_track_exchange(const tsr_device *device, int track) { return (tsri_track_entry){device, track}; }

void tsri_track_bind(tsri_binding_link *link) { (void)link; }
void tsri_track_unbind(tsri_binding_link *link) { (void)link; }

tsr_status tsri_track_create(tsr_device *device, int track) {
  if (device->tracks[track].handle) return TSR_OK;
  tsr_status status = device->backend->queue_create(device->handle, &device->tracks[track].handle);
  if (status == TSR_OK) device->track_count++;
  return status;
}

void tsri_tracks_destroy(tsr_device *device) {
  if (device->tracks[0].handle) device->backend->queue_destroy(device->tracks[0].handle);
}

tsr_status tsri_track_touch(tsr_device *device, tsr_buffer *buffer, bool is_written) {
  (void)device;
  (void)buffer;
  (void)is_written;
  return TSR_OK;
}

void tsri_track_count(tsr_device *device, const tsri_command_name *name) {
  (void)name;
  device->current->queued++;
}

tsr_status tsri_track_wait(tsr_device *device, tsri_track *track, uint64_t timeout_ns) {
  tsr_status status = device->backend->queue_wait(track->handle, timeout_ns);
  if (status == TSR_OK) tsri_track_ended(track, track->queued);
  return status;
}

tsr_status tsri_tracks_wait(tsr_device *device, uint64_t timeout_ns) {
  return tsri_track_wait(device, &device->tracks[0], timeout_ns);
}

void tsri_tracks_refresh(tsr_device *device) { (void)device; }

bool tsri_usage_is_busy(tsr_device *device, const tsri_usage *usage) {
  (void)device;
  (void)usage;
  return false;
}
