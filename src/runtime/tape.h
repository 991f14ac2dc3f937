// SPDX-License-Identifier: MIT
// A tape: the work that was queued on a device, kept so that it can be queued again.
//
// While a thread tapes, everything that it queues on the tape's device is also added to the tape, by the few functions
// that call a backend's launch, fill, copy and run_op. The tape holds a reference to every buffer that is used or
// created meanwhile, so that nobody else gets their memory. Temporary buffers are used again on the same tape.
//
// An operator that was recorded while a thread taped may be run by another thread, which overwrites what the operator
// reads, or uses its result. That thread enters the tape for the run (tsri_tape_enter), so the tape gets all of its
// work, whichever thread runs it.
#ifndef TSRI_RUNTIME_TAPE_H
#define TSRI_RUNTIME_TAPE_H

#include "runtime/buffer.h"
#include "runtime/profile.h"

typedef struct tsri_tape tsri_tape;

// Opens a tape for the calling thread, which must have none. The tape holds a reference to the device. False when host
// memory is out.
bool tsri_tape_open(tsr_device *device);

// Closes the calling thread's tape: nothing is added to it any more. The caller destroys it.
tsri_tape *tsri_tape_close(void);
void tsri_tape_destroy(tsri_tape *tape);  // takes NULL; waits for work that was played

// Number of open tapes of all threads. While it is 0, no thread has entered one; every launch checks this first.
extern atomic_int tsri_open_tape_count;
static inline bool tsri_tape_is_any_open(void) {
  return atomic_load_explicit(&tsri_open_tape_count, memory_order_relaxed) > 0;
}

// The tape that the calling thread has opened or entered; NULL: none.
tsri_tape *tsri_tape_current(void);
static inline tsri_tape *tsri_tape_now(void) { return tsri_tape_is_any_open() ? tsri_tape_current() : NULL; }

// --- For running recorded nodes, by the number of their tape ---------------------------------------------------------

// Whether the tape with this number is open, on any thread. No tape has the number 0.
bool tsri_tape_is_open(uint64_t id);

// Until tsri_tape_leave, the calling thread adds its work to this tape, or to none if `id` is 0 or the tape is closed.
// Another thread's tape is locked meanwhile: that thread waits where it would add to the tape or close it. If the
// graph's lock is needed, take it before entering; before leaving, neither enter another tape nor take a graph's lock.
typedef struct tsri_taping {
  tsri_tape *tape;  // the calling thread's tape before
  bool is_locked;   // whether the tape that was entered is locked
} tsri_taping;
tsri_taping tsri_tape_exchange(uint64_t id);
void tsri_tape_restore(tsri_taping before);
static inline tsri_taping tsri_tape_enter(uint64_t id) {
  return tsri_tape_is_any_open() ? tsri_tape_exchange(id) : (tsri_taping){0};
}
static inline void tsri_tape_leave(tsri_taping before) {
  if (tsri_tape_is_any_open()) tsri_tape_restore(before);
}

// As tsri_tape_refuses, for the open tape with this number, whichever thread opened it.
void tsri_tape_refuses_on(uint64_t id, const tsr_device *device, const char *what);

tsr_device *tsri_tape_device(const tsri_tape *tape);

// What the graph keeps with a tape (graph/trace.h); `destroy` is called when the tape is destroyed. NULL: nothing.
void tsri_tape_set_trace(tsri_tape *tape, void *trace, void (*destroy)(void *trace));
void *tsri_tape_trace(const tsri_tape *tape);

// Call around the queueing of steps that running the trace again would produce as well. The calls may nest.
void tsri_tape_explain_begin(void);
void tsri_tape_explain_end(void);

// The number of steps that were added outside of such calls. A capture that has some cannot be saved to a file (saved/save.c).
int tsri_tape_unexplained(const tsri_tape *tape);

// Bytes of the results of operators and of scratch memory on the tape: `unshared` if each had memory of its own, `shared` as they are.
typedef struct tsri_tape_memory {
  uint64_t unshared, shared;
} tsri_tape_memory;
tsri_tape_memory tsri_tape_temporaries(const tsri_tape *tape);

// The number of the calling thread's tape, which no other tape of this process has; 0 if it has none.
uint64_t tsri_tape_current_id(void);
static inline uint64_t tsri_tape_id(void) { return tsri_tape_is_any_open() ? tsri_tape_current_id() : 0; }
int tsri_tape_step_count(const tsri_tape *tape);

// TSR_OK, or why the tape cannot be played: a step cannot be repeated, or host memory ran out.
tsr_status tsri_tape_check(const tsri_tape *tape);

// The buffers that its steps write to, each once. Playing the tape overwrites them.
int tsri_tape_written_count(const tsri_tape *tape);
tsr_buffer *tsri_tape_written(const tsri_tape *tape, int index);

// Whether its steps read or write memory of the buffer.
bool tsri_tape_has(const tsri_tape *tape, const tsr_buffer *buffer);

// Queues all steps again. Any thread.
tsr_status tsri_tape_play(tsri_tape *tape);

// --- For functions that queue work on `device`; they do nothing unless the thread tapes there ------------------------

// `name` is the kernel's, and lives as long as the program. `context` is for the profiler.
void tsri_tape_launch(tsr_device *device, tsri_program *program, const tsri_launch *launch, uint32_t params_bytes,
                      const char *name, const tsri_profile_context *context);
void tsri_tape_fill(tsr_buffer *dst, size_t offset, size_t bytes, const void *pattern, size_t pattern_bytes,
                    const tsri_profile_context *context);
void tsri_tape_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                    const tsri_profile_context *context);

// The buffers of a native operator: the first `written_count` are written, and may be read, too; the others are read.
typedef struct tsri_tape_buffers {
  tsr_buffer *const *buffers;
  int written_count, count;
} tsri_tape_buffers;
void tsri_tape_op(tsr_device *device, const tsri_native_op *op, const tsri_tape_buffers *buffers,
                  const tsri_profile_context *context);

// Adds work that needs the host between its launches: playing the tape calls `call`, which queues it and waits. Takes over
// `work`, which `release` frees. Buffers that it uses are added by tsri_tape_uses and tsri_tape_writes.
typedef tsr_status (*tsri_tape_call)(tsr_device *device, void *work);
void tsri_tape_calls(tsr_device *device, void *work, tsri_tape_call call, void (*release)(void *work));

// Adds a buffer that was just created.
void tsri_tape_creates(tsr_device *device, tsr_buffer *buffer);

// Reuse of memory on the calling thread's tape. `give`: nobody but the tape uses this buffer any more (it must not be a part of another one). `take`: returns a
// buffer that was given, of at least `bytes` and at most twice as many; NULL: there is none.
void tsri_tape_give(tsr_buffer *buffer);
tsr_buffer *tsri_tape_take(tsr_device *device, size_t bytes);

// Counts memory of `bytes` that was asked for by tsri_buffer_create_temporary; `is_new` unless tsri_tape_take gave it.
void tsri_tape_counts_temporary(tsr_device *device, size_t bytes, bool is_new);

// Adds a buffer that is read by queued work (uses), or one that is written by it (writes).
void tsri_tape_uses(tsr_device *device, tsr_buffer *buffer);
void tsri_tape_writes(tsr_device *device, tsr_buffer *buffer);

// Adds any other object that must live as long as the tape. Takes over a reference, which `release` gives up.
void tsri_tape_holds(tsr_device *device, void *object, void (*release)(void *object));

// Notes that the calling thread does something that playing the tape would not repeat. `what` names it in the error
// message.
#define TSRI_TAPE_MOVING "moving a tensor between devices"
void tsri_tape_refuses(tsr_device *device, const char *what);

#endif
