// SPDX-License-Identifier: MIT
// A tape: what was queued on a device, kept so that it can be queued again.
//
// While a thread tapes, everything that it queues on the tape's device goes onto the tape as well, from the few places that
// call a backend's launch, fill, copy and run_op. The tape holds a reference to every buffer that is used or made meanwhile, so
// that none is handed to others.
//
// What was recorded while a thread taped may be run by another thread, which has to overwrite what it reads, or which uses its result. That thread
// enters the tape for as long as it takes (tsri_tape_enter), so the tape has all of it, whoever ran it.
#ifndef TSRI_RUNTIME_TAPE_H
#define TSRI_RUNTIME_TAPE_H

#include "runtime/buffer.h"

typedef struct tsri_tape tsri_tape;

// Opens a tape for the calling thread, which has none. False when host memory is out. It holds a reference to the device.
bool tsri_tape_open(tsr_device *device);

// Closes the calling thread's tape, which nothing is added to any more. It is the caller's to destroy.
tsri_tape *tsri_tape_close(void);
void tsri_tape_destroy(tsri_tape *tape);  // takes NULL; waits for what was played

// The tape that the calling thread has opened or entered; NULL: none.
tsri_tape *tsri_tape_now(void);

// --- For running what was recorded, by its tape's number --------------------------------------------------------------------------

// Whether the tape is open, on any thread. 0 is none.
bool tsri_tape_is_open(uint64_t id);

// Until tsri_tape_leave the calling thread tapes on this tape, or not at all where it is 0 or closed. Another thread's tape is locked
// meanwhile: its thread waits where it would tape something or close it. Call it under the graph's lock if at all, and neither enter another tape
// nor take a graph's lock before leaving.
typedef struct tsri_taping {
  tsri_tape *tape;  // the thread's tape before
  bool is_locked;   // the one that was entered is
} tsri_taping;
tsri_taping tsri_tape_enter(uint64_t id);
void tsri_tape_leave(tsri_taping before);

// As tsri_tape_refuses, for the open tape with this number, whichever thread's it is.
void tsri_tape_refuses_on(uint64_t id, const tsr_device *device, const char *what);

tsr_device *tsri_tape_device(const tsri_tape *tape);

// A number that no other tape of this process has; 0 while the thread does not tape.
uint64_t tsri_tape_id(void);
int tsri_tape_step_count(const tsri_tape *tape);

// TSR_OK, or what keeps it from being played: something that cannot be repeated, host memory.
tsr_status tsri_tape_check(const tsri_tape *tape);

// The buffers that its steps write to, each once: what playing overwrites.
int tsri_tape_written_count(const tsri_tape *tape);
tsr_buffer *tsri_tape_written(const tsri_tape *tape, int index);

// Whether its steps read or write memory of the buffer.
bool tsri_tape_has(const tsri_tape *tape, const tsr_buffer *buffer);

// Queues it all again. Any thread.
tsr_status tsri_tape_play(tsri_tape *tape);

// --- For those who queue, with the device that they queue on. They do nothing unless the thread tapes there. ---------------------

void tsri_tape_launch(tsr_device *device, tsri_program *program, const tsri_launch *launch, uint32_t params_bytes);
void tsri_tape_fill(tsr_buffer *dst, size_t offset, size_t bytes, const void *pattern, size_t pattern_bytes);
void tsri_tape_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes);
void tsri_tape_op(tsr_device *device, const tsri_native_op *op);

// A buffer that has just been made, or that what is queued reads; and one that it writes to.
void tsri_tape_uses(tsr_device *device, tsr_buffer *buffer);
void tsri_tape_writes(tsr_device *device, tsr_buffer *buffer);

// Anything else that must live as long as the tape. Takes a reference that `release` gives up.
void tsri_tape_holds(tsr_device *device, void *object, void (*release)(void *object));

// Something is being done that playing would not repeat, by the words that the error has for it.
#define TSRI_TAPE_MOVING "moving a tensor between devices"
void tsri_tape_refuses(tsr_device *device, const char *what);

#endif
