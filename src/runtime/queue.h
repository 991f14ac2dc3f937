// SPDX-License-Identifier: MIT
// The records of public queues and events, and how the core queues on a given queue.
#ifndef TSRI_RUNTIME_QUEUE_H
#define TSRI_RUNTIME_QUEUE_H

#include <tessera/queue.h>

#include "runtime/device.h"

struct tsr_queue {
  tsri_object object;
  tsr_device *device;  // one reference
  int track;
};

struct tsr_event {
  tsri_object object;
  tsr_device *device;  // one reference
  int track;
  uint64_t number;     // number of the last command before the event
  tsri_event *handle;  // NULL: the backend has no events; a wait for this event then waits for the whole track
  // The event follows a copy to the host that a wait for the track completes, not the device by itself (tsri_limits.reads_directly). Then waiting for the event
  // means waiting for the track.
  bool is_delivered;
};

// Makes an event that happens when everything queued on the track so far has ended. `is_delivered`: see tsr_event.
tsr_status tsri_event_create(tsr_device *device, int track, bool is_delivered, tsr_event **out_event);

// The track to queue on: that of `queue`, or of the thread if it is NULL. Errors: TSR_ERR_INVALID_ARGUMENT (a queue of another device).
tsr_status tsri_queue_track(const char *caller, const tsr_queue *queue, const tsr_device *device, int *out_track);

// Whether copies to this memory are made by the device itself.
bool tsri_host_is_direct(tsr_device *device, const void *memory, size_t bytes);

#endif
