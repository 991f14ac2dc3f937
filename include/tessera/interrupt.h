// SPDX-License-Identifier: MIT
// Stopping a run between two kernels: for programs whose user gives up waiting (Ctrl-C).
#ifndef TESSERA_INTERRUPT_H
#define TESSERA_INTERRUPT_H

#include <stdbool.h>

#include <tessera/export.h>

// Asked before each kernel that is launched to compute tensors; true stops the run. Must be quick, and must not call the library.
typedef bool (*tsr_interrupt_fn)(void *user);

// Sets the function that runs of the calling thread ask from now on; NULL: none.
//
// A run that is stopped fails with TSR_ERR_TIMEOUT. What was computed until then is kept, and the rest stays recorded: reading a tensor later goes on from there.
// Kernels that were launched are not stopped, so a device that queues work, as GPUs do, still has to finish what it was given.
//
// Threads: the function belongs to the calling thread, which alone calls it.
TSR_API void tsr_set_interrupt(tsr_interrupt_fn fn, void *user);

#endif
