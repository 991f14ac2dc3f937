// SPDX-License-Identifier: MIT
// The profiler's hooks: what the runtime and the graph tell it. docs/profiling.md is for users.
//
// Every hook begins with tsri_profiling(), one relaxed load of a global, so that profiling costs nothing while it is off.
// Order of locks: a graph's, a pool's and a device's queue_lock come before tsri_recording.lock, under which nothing of the
// core is locked.
#ifndef TSRI_RUNTIME_PROFILE_H
#define TSRI_RUNTIME_PROFILE_H

#include <stdatomic.h>

#include <tessera/profile.h>

#include "runtime/device.h"

#if defined(__wasm__)  // profile_wasm.c: web pages have the browser's profiler
static inline bool tsri_profiling(void) { return false; }
#else
extern atomic_bool tsri_profile_is_on;
// Marked as unlikely, so that compilers move the profiler's code out of the path that runs without it.
static inline bool tsri_profiling(void) {
  return __builtin_expect(atomic_load_explicit(&tsri_profile_is_on, memory_order_relaxed), false);
}
#endif

// --- Work of a device ------------------------------------------------------------------------------------------------

// What the graph knows about the work that the calling thread queues. The texts are numbers of tsri_profile_intern; 0: empty.
typedef struct tsri_profile_context {
  uint32_t operators, result, label;
  uint64_t operations;  // of all kernels of these operators together; they are recorded with the first kernel
} tsri_profile_context;

// What a call does.
typedef struct tsri_profile_work {
  tsr_profile_kind kind;
  const char *name;  // copied
  uint64_t bytes, operations;
  bool is_f32;                          // operations may be compared with the device's rate of f32 multiply-adds
  const tsri_profile_context *context;  // NULL: the calling thread's
} tsri_profile_work;

typedef struct tsri_span {
  bool is_on;
  struct tsri_profiled_thread *thread;  // the calling thread's
  struct tsri_lane *lane;
  struct tsri_work_class *work;
  struct tsri_timing *timing;    // events around the work; NULL: it is not timed
  uint64_t host_start_ns;        // when the call began; 0: not measured, it is estimated by the mean of its class
  uint64_t event_ns;             // how long the host took to record the event before the work
  tsri_profile_context context;  // the calling thread's, for a tape
} tsri_span;

// Call these before and after a call of the backend that queues work, with the queue locked. `work` NULL: the call failed, and nothing is recorded.
//
// `key` and the calling thread's context together identify work that takes the same time, such as launches of one kernel with the same sizes. Of such work only
// some pieces are timed (profile/sample.c).
void tsri_span_start(tsri_span *span, tsr_device *device, tsri_queue *queue, uint64_t key);
void tsri_span_finish(tsri_span *span, tsr_device *device, tsri_queue *queue, const tsri_profile_work *work);

static inline tsri_span tsri_span_begin(tsr_device *device, tsri_queue *queue, uint64_t key) {
  tsri_span span = {.is_on = false};
  if (tsri_profiling()) tsri_span_start(&span, device, queue, key);
  return span;
}

// Records something that took place on the host from `start_ns` until now. 0: it took no time. `device` may be NULL.
void tsri_profile_host(tsr_device *device, uint64_t start_ns, const tsri_profile_work *work);

// After a wait for the queue that returned `status`: notes the wait, and reads the times of work that has ended. Call with
// the queue locked.
void tsri_profile_waited(tsr_device *device, tsri_queue *queue, uint64_t start_ns, tsr_status status);

// The time now if profiling is on, else 0: for tsri_profile_host and tsri_profile_waited.
static inline uint64_t tsri_profile_clock(void) { return tsri_profiling() ? tsri_clock_ns() : 0; }

// Notes how much of the device's pool is in use; `taken` bytes were just taken (0: given back). Called with the pool locked.
void tsri_profile_memory(tsr_device *device, uint64_t in_use_bytes, uint64_t taken);

// Whether captures are run step by step (tsr_profile_desc.is_full).
bool tsri_profile_is_full(void);

// --- Context ---------------------------------------------------------------------------------------------------------

// The number of a text, which stays the same as long as the library is loaded. 0 for an empty text, and if there are too many.
uint32_t tsri_profile_intern(const char *text);

const char *tsri_profile_text(uint32_t number);

// The calling thread's innermost label; 0: none. Nodes keep it from when they are recorded.
uint32_t tsri_profile_label(void);

// Whether any thread has had a label while profiling was on.
bool tsri_profile_has_labels(void);

// Sets the context of the work that the calling thread queues from now on. NULL: no context, only the thread's label is recorded. Returns the context that was
// set before.
tsri_profile_context *tsri_profile_enter(tsri_profile_context *context);

// The word for a kind: "kernel".
const char *tsri_profile_kind_word(tsr_profile_kind kind);

// --- Native operators ------------------------------------------------------------------------------------------------

const char *tsri_native_kind_name(tsri_native_kind kind);

// The least number of bytes that a native operator reads and writes, and the number of operations it computes; 0: unknown.
typedef struct tsri_native_cost {
  uint64_t bytes, operations;
} tsri_native_cost;
tsri_native_cost tsri_native_op_cost(const tsri_native_op *op);

// --- Devices ---------------------------------------------------------------------------------------------------------

// Begins profiling if the setting asks for it and it is off; the result is written when the process ends. Call before the
// device is opened. `setting` is NULL, "off", "on", or a path.
void tsri_profile_configure(const char *setting, bool is_full);

// Excludes what the calling thread does from the profile, because measuring a device is not the program's work.
void tsri_profile_mute(bool is_muted);

// Call when a device was opened: if profiling is on, the device's limits are measured. `rejected`: why other devices were passed over.
void tsri_profile_opened(tsr_device *device, const char *rejected);

// The device is about to be closed, and its queued work has ended.
void tsri_profile_closing(tsr_device *device);

#endif
