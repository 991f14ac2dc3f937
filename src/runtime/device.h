// SPDX-License-Identifier: MIT
// The open device: a backend's handle with what the core keeps beside it.
#ifndef TSRI_DEVICE_H
#define TSRI_DEVICE_H

#include <stdatomic.h>

#include <tessera/device.h>

#include "backends/backend.h"
#include "core/object.h"
#include "platform/platform.h"
#include "runtime/pool.h"

typedef struct tsri_device_counters {
  atomic_uint_fast64_t launches, uploads, downloads, explicit_moves, implicit_moves, fallbacks;
} tsri_device_counters;

struct tsr_device {
  tsri_object object;
  const tsri_backend *backend;  // may be a fault wrapper's table, which belongs to `handle`
  tsri_device *handle;
  tsri_limits limits;
  tsr_device_info info;
  tsri_pool *pool;
  tsri_queue *queue;
  tsri_mutex queue_lock;      // held around every call that takes the queue
  struct tsri_stage *stages;  // host memory that timed-out copies may still use (stage.h); under queue_lock
  struct tsri_late *late;     // what is destroyed when queued work has ended (late.h); under queue_lock
  bool is_overdue;            // the last wait timed out; under queue_lock
  uint64_t timeout_ns;        // UINT64_MAX: none
  int priority;               // place in the order of preference; the later, the more compatible
  bool strict;                // fall-backs are errors
  bool mix_is_error;          // implicit moves are errors
  bool is_eager;              // operators run one at a time, as they are recorded
  bool is_checked;            // an index out of range in an index operator is an error
  bool has_faults;            // the backend is wrapped (backends/fault)
  tsri_device_counters counters;
  _Atomic(void *) graph;                 // what the graph keeps for this device; NULL until it is needed
  void (*graph_destroy)(void *graph);    // called before the device closes
  _Atomic(struct tsri_copier *) copier;  // copier.h; NULL until it is needed
  size_t shared_count;                   // buffers known by their address, under the lock of sharing.c
  struct tsr_device *next_sharing;       // in its list of devices that have some
  tsr_device *next_given_up;             // in the list of those that could not be closed
};

// What opening needs once the choice is made and the settings are resolved.
typedef struct tsri_open_request {
  const tsri_backend *backend;
  tsr_device_info info;
  tsri_open_options options;
  const char *faults;  // empty: none
  uint64_t memory_limit, pool_bytes, timeout_ns;
  int priority;
  bool strict, mix_is_error, is_eager, is_checked;
} tsri_open_request;

// Closes devices that were given up while work on them did not end, if it has ended since. Not under the registry's lock.
void tsri_device_close_given_up(void);

// Opens and self-tests, under the registry's lock. Errors: what the backend says; TSR_ERR_INTERNAL if the self-test fails.
tsr_status tsri_device_create(const tsri_open_request *request, tsr_device **out_device);

// Shared by every entry point that is given a device.
tsr_status tsri_device_check(const char *caller, const tsr_device *device);

// Takes the queue for one or more calls. Every lock is followed by an unlock on the same thread.
tsri_queue *tsri_device_lock(tsr_device *device);
void tsri_device_unlock(tsr_device *device);

// Waits for as long as the device's time-out. tsr_device_synchronize for the core, which may hold locks meanwhile.
//
// Errors: those of tsr_device_synchronize. After TSR_ERR_TIMEOUT the work goes on and needs all it was given.
tsr_status tsri_device_wait(tsr_device *device);

// The same before something is destroyed that queued work may use: a device whose last wait timed out has had its time, and
// gets a moment more.
tsr_status tsri_device_settle(tsr_device *device);

// Waits with the lock held, for as long as the device's time-out.
tsr_status tsri_device_wait_locked(tsr_device *device);

// Whether work goes on after a wait of this device answered `waited`. A wait without a time-out leaves nothing running,
// whatever it answers (backend.h).
static inline bool tsri_is_still_running(const tsr_device *device, tsr_status waited) {
  return waited == TSR_ERR_TIMEOUT && device->timeout_ns != UINT64_MAX;
}

// Counts a fall-back to the host of `what` and logs it; in strict mode it is TSR_ERR_UNSUPPORTED.
tsr_status tsri_device_fall_back(tsr_device *device, const char *what);

// What offsets of bindings are multiples of: a power of two.
static inline size_t tsri_binding_alignment(const tsr_device *device) {
  const tsri_limits *limits = &device->limits;
  return limits->binding_alignment ? limits->binding_alignment : limits->buffer_alignment;
}

static inline void tsri_count(atomic_uint_fast64_t *counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
