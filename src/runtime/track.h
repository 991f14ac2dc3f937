// SPDX-License-Identifier: MIT
// Tracks: the backend's queues of an open device, and the order between them.
//
// A device has one track, 0, until a program creates a queue (queue.c); several of its queues may share a track. Commands of one
// track run in order. Commands of two tracks are ordered only where they use the same memory: before a command is queued,
// tsri_track_touch makes its track wait, on the device, for the commands on other tracks that it must follow.
//
// Everything here is guarded by the device's queue_lock, which is held around every call that takes a backend's queue, and is free
// while a thread waits for one of several tracks.
#ifndef TSRI_RUNTIME_TRACK_H
#define TSRI_RUNTIME_TRACK_H

#include <stdatomic.h>
#include <string.h>

#include <tessera/buffer.h>

#include "backends/backend.h"
#include "runtime/usage.h"

// The name of an operator or a kernel, cut if it is longer, and filled up with zeros. Its size is fixed, so that copying it takes three moves.
typedef struct tsri_command_name {
  char text[24];
} tsri_command_name;
static inline tsri_command_name tsri_command_name_of(const char *name) {
  tsri_command_name copy = {{0}};
  size_t bytes = strlen(name);
  memcpy(copy.text, name, bytes < sizeof copy.text ? bytes : sizeof copy.text - 1);
  return copy;
}

enum { TSRI_TRACK_NAMES = 8 };

typedef struct tsri_track {
  tsri_queue *handle;     // NULL: not created yet
  tsri_event *event;      // of the device; NULL until another track has to wait for this one
  uint64_t queued;        // number of its newest command; they count from 1
  uint64_t recorded;      // the newest command that `event` covers
  uint64_t waited;        // number of the newest command at the last successful wait for the track
  _Atomic uint64_t done;  // every command up to this one has ended. Read without the lock
  uint64_t awaited
      [TSRI_MAX_TRACKS];  // for each other track: its newest command that this track waits for, or has waited for
  // Names of the newest commands, command n at n % TSRI_TRACK_NAMES. Copies: a kernel may be gone while its work still runs.
  tsri_command_name names[TSRI_TRACK_NAMES];
} tsri_track;

// Queues wait for the work of others on the device with backend->event_record and event_await.
static inline bool tsri_backend_has_events(const tsri_backend *backend) {
  return backend->event_create && backend->event_record && backend->event_await && backend->event_is_done;
}

// Notes that every command of the track up to `number` has ended. Any thread.
static inline void tsri_track_ended(tsri_track *track, uint64_t number) {
  uint64_t done = atomic_load(&track->done);
  while (done < number && !atomic_compare_exchange_weak(&track->done, &done, number)) {
  }
}

// Creates the track with this number, unless it exists. Its commands run after all commands that are on track 0 by now.
// Errors: those of the backend.
tsr_status tsri_track_create(tsr_device *device, int track);

// Destroys all tracks. They must be idle.
void tsri_tracks_destroy(tsr_device *device);

// Call with the lock held, before a command is queued on the device's current track, for each buffer it uses. Does nothing
// while there is one track.
tsr_status tsri_track_touch(tsr_device *device, tsr_buffer *buffer, bool is_written);

// Call with the lock held after a command was queued on the current track. `name` is that of its operator or kernel.
void tsri_track_count(tsr_device *device, const tsri_command_name *name);

// Records track->event after the newest command of the track, unless it covers that command already.
tsr_status tsri_track_record(tsr_device *device, tsri_track *track);

// Makes the track `later` wait on the device until the command `number` of the track `earlier` has ended.
tsr_status tsri_track_follow(tsr_device *device, tsri_track *later, int earlier, uint64_t number);

// Waits for everything that is queued on the track. Call with the lock held; it is released while waiting if there are several tracks.
tsr_status tsri_track_wait(tsr_device *device, tsri_track *track, uint64_t timeout_ns);

// As tsri_track_wait, for all tracks.
tsr_status tsri_tracks_wait(tsr_device *device, uint64_t timeout_ns);

// Asks the device which commands have ended. Call without the lock.
void tsri_tracks_refresh(tsr_device *device);

// Whether memory with this usage would make the calling thread's track wait for another one. Any thread, without the lock.
bool tsri_usage_is_busy(tsr_device *device, const tsri_usage *usage);

// --- The calling thread's track ---------------------------------------------------------------------------------------

// A queue that is bound to the calling thread; the innermost one of a device counts.
typedef struct tsri_binding_link {
  struct tsri_binding_link *outer;
  tsr_device *device;
  int track;
} tsri_binding_link;
void tsri_track_bind(tsri_binding_link *link);
void tsri_track_unbind(tsri_binding_link *link);

// Whether any device of the process has, or had, several tracks.
extern atomic_bool tsri_tracks_are_used;
static inline bool tsri_has_tracks(void) { return atomic_load_explicit(&tsri_tracks_are_used, memory_order_relaxed); }

// Number of the track that the calling thread queues on.
int tsri_track_find(const tsr_device *device);
static inline int tsri_track_now(const tsr_device *device) { return tsri_has_tracks() ? tsri_track_find(device) : 0; }

// Until tsri_track_leave, the calling thread queues its work for `device` on this track. Called for every operator that runs, so
// both are a comparison while no device has several tracks.
typedef struct tsri_track_entry {
  const tsr_device *device;
  int track;
} tsri_track_entry;
tsri_track_entry tsri_track_exchange(const tsr_device *device, int track);
static inline tsri_track_entry tsri_track_enter(const tsr_device *device, int track) {
  return tsri_has_tracks() ? tsri_track_exchange(device, track) : (tsri_track_entry){0};
}
static inline void tsri_track_leave(tsri_track_entry before) {
  if (tsri_has_tracks()) (void)tsri_track_exchange(before.device, before.track);
}

#endif
