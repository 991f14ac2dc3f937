// SPDX-License-Identifier: MIT
// The open device: a backend's handle, and the core's data beside it.
#ifndef TSRI_DEVICE_H
#define TSRI_DEVICE_H

#include <stdatomic.h>

#include <tessera/device.h>

#include "backends/backend.h"
#include "core/object.h"
#include "platform/platform.h"
#include "runtime/config.h"
#include "runtime/pool.h"
#include "runtime/track.h"

typedef struct tsri_device_counters {
  atomic_uint_fast64_t launches, uploads, downloads, explicit_moves, implicit_moves, fallbacks, placements;
} tsri_device_counters;

enum { TSRI_SPARE_EVENTS = 16 };

struct tsr_device {
  tsri_object object;
  const tsri_backend *backend;  // with faults, the wrapper's table, which belongs to `handle`
  tsri_device *handle;
  tsri_limits limits;
  tsr_device_info info;
  tsri_pool *pool;
  tsri_mutex queue_lock;  // held around every call that takes a queue of the backend; guards everything of track.h
  tsri_track tracks[TSRI_MAX_TRACKS];
  tsri_track *current;      // the track of the thread that holds the lock
  _Atomic int track_count;  // tracks that have been created; changed under the lock, read by the graph without it
  int queues_on[TSRI_MAX_TRACKS];  // public queues of each track
  tsri_event *spare_events[TSRI_SPARE_EVENTS];
  int spare_event_count;
  // Host memory that a timed-out copy may still use (stage.h); guarded by queue_lock.
  struct tsri_stage *stages;
  // Objects to destroy once queued work has ended (late.h); guarded by queue_lock.
  struct tsri_late *late;
  atomic_bool is_overdue;  // the last wait timed out, and its work still runs; written with queue_lock held
  uint64_t timeout_ns;     // UINT64_MAX: no time-out
  uint64_t pending_bytes;  // most host memory of recorded operators (graph/node.h)
  int priority;            // position in the priority order; a later device is more compatible
  bool strict;             // a fallback to the host is an error
  bool allows_tf32;        // products of f32 may be rounded to tf32
  bool mix_is_error;       // implicit moves are errors
  bool is_eager;           // each operator runs when it is recorded
  bool is_deterministic;   // results have the same bits fused or not
  tsri_tune_mode tune;     // TSRI_TUNE_MODE_OFF if results must not depend on times
  bool is_checked;         // an index out of range in an index operator is an error
  // The CPU and the speed of both (placing.h); NULL: operators run where their tensors are.
  struct tsri_placing *placing;
  bool has_faults;  // `backend` is the fault wrapper (backends/fault)
  tsri_device_counters counters;
  // Records of this device in the profiler's session (profile/recorder.h).
  struct tsri_profiled *profile;           // NULL: none yet; used by the thread that holds queue_lock
  atomic_bool profile_is_busy;             // that thread sets this while it uses `profile`
  struct tsri_memory_curve *memory_curve;  // NULL: none yet; guarded by the pool's lock
  bool is_leaving_profile;                 // the device is being closed; guarded by tsri_recording.lock
  _Atomic(void *) graph;                   // a tsri_graph_state; NULL until the graph needs it
  void (*graph_destroy)(void *graph);      // called before the device closes
  _Atomic(struct tsri_copier *) copier;    // copier.h; NULL until it is needed
  // Number of shared buffers of this device; guarded by the lock of sharing.c.
  size_t shared_count;
  struct tsr_device *next_sharing;  // link of the list in sharing.c of devices that have shared buffers
  tsr_device *next_given_up;        // link of the list of devices that could not be closed
};

// Everything tsri_device_create needs, after a device has been chosen and the settings have been resolved.
typedef struct tsri_open_request {
  const tsri_backend *backend;
  tsr_device_info info;
  tsri_open_options options;
  const char *faults;  // empty or NULL: none
  uint64_t memory_limit, pool_bytes, pending_bytes, timeout_ns;
  int priority;
  bool strict, mix_is_error, is_eager, is_deterministic, is_checked;
  tsri_tune_mode tune;
} tsri_open_request;

// Tries again to close devices that were given up because their work did not end. Call without the registry's lock.
void tsri_device_close_given_up(void);

// Whether a device of this backend and index was given up: its work still runs, and a new device of the same hardware would have to wait for it.
bool tsri_device_is_given_up(const char *backend, int index);

// Opens and self-tests a device. Call with the registry's lock held. Errors: those of the backend; TSR_ERR_INTERNAL if
// the self-test fails.
tsr_status tsri_device_create(const tsri_open_request *request, tsr_device **out_device);

// Checks the device argument of a public function.
tsr_status tsri_device_check(const char *caller, const tsr_device *device);

// Whether the device is the CPU itself, not a GPU interface that the CPU emulates.
static inline bool tsri_device_is_cpu(const tsr_device *device) {
  return device->info.type == TSR_DEVICE_CPU && !device->info.is_software;
}

// Locks the device's queues and returns the one of the calling thread's track. The same thread unlocks them.
tsri_queue *tsri_device_lock(tsr_device *device);
void tsri_device_unlock(tsr_device *device);

// As tsr_device_synchronize, for the core: waits for queued work, at most as long as the device's time-out. The caller
// may hold locks.
//
// Errors: those of tsr_device_synchronize. After TSR_ERR_TIMEOUT the work is still running and still uses its buffers.
tsr_status tsri_device_wait(tsr_device *device);

// As tsri_device_wait, for use before destroying an object that queued work may use. If the last wait timed out
// already, waits for 5 ms only.
tsr_status tsri_device_settle(tsr_device *device);

// Waits for the work on the current track, with the queues locked by the caller. Another track may be the current one afterwards.
tsr_status tsri_device_wait_locked(tsr_device *device);

// Whether work is still running after a wait returned `waited`. A wait without a time-out leaves nothing running,
// whatever it returns (backend.h).
static inline bool tsri_is_still_running(const tsr_device *device, tsr_status waited) {
  return waited == TSR_ERR_TIMEOUT && device->timeout_ns != UINT64_MAX;
}

// Destroys the events that were kept for reuse (event.c).
void tsri_events_destroy(tsr_device *device);

// Counts and logs that `what` falls back to the host. In strict mode returns TSR_ERR_UNSUPPORTED instead.
tsr_status tsri_device_fall_back(tsr_device *device, const char *what);

// The alignment of binding offsets, a power of two.
static inline size_t tsri_binding_alignment(const tsr_device *device) {
  const tsri_limits *limits = &device->limits;
  return limits->binding_alignment ? limits->binding_alignment : limits->buffer_alignment;
}

static inline void tsri_count(atomic_uint_fast64_t *counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

// Adds to the counter of launches, uploads or downloads. Call with the queue locked: nobody else changes them then, so
// this needs no atomic addition, which would take as long as one of a launch's locks.
static inline void tsri_count_queued(atomic_uint_fast64_t *counter, uint64_t count) {
  uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
  atomic_store_explicit(counter, before + count, memory_order_relaxed);
}

#endif
