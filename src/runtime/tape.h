// SPDX-License-Identifier: MIT
// A tape: what was queued on a device, kept so that it can be queued again.
//
// While a thread tapes, everything that it queues on the tape's device goes onto the tape as well, from the few places that
// call a backend's launch, fill, copy and run_op. The tape holds a reference to every buffer that is used or made meanwhile, so
// that none is handed to others.
#ifndef TSRI_RUNTIME_TAPE_H
#define TSRI_RUNTIME_TAPE_H

#include "runtime/buffer.h"

typedef struct tsri_tape tsri_tape;

// NULL when host memory is out. Holds a reference to the device.
tsri_tape *tsri_tape_create(tsr_device *device);
void tsri_tape_destroy(tsri_tape *tape);  // takes NULL; waits for what was played

// Makes it (or, with NULL, none) the calling thread's tape.
void tsri_tape_switch(tsri_tape *tape);
tsri_tape *tsri_tape_now(void);

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

// Something is being done that playing would not repeat: "moving a tensor between devices".
void tsri_tape_refuses(tsr_device *device, const char *what);

#endif
