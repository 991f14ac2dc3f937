// SPDX-License-Identifier: MIT
// Stopping a run between two kernels: for programs whose user gives up waiting (Ctrl-C).
#ifndef TESSERA_INTERRUPT_H
#define TESSERA_INTERRUPT_H

#include <stdbool.h>

#include <tessera/export.h>

// Called before each kernel that is launched to compute tensors; returning true stops the run. It must be quick and must not call the library.
typedef bool (*tsr_interrupt_fn)(void *user);

// Sets the function for runs that the calling thread starts from now on; NULL: none.
//
// A run that is stopped fails with TSR_ERR_TIMEOUT. Results that were computed until then are kept, and the rest stays recorded: reading a tensor later continues
// from there.
// Kernels that were launched are not stopped, so a device that queues work, as GPUs do, still has to finish what it was given.
//
// Threads: the function belongs to the calling thread, which alone calls it.
TSR_API void tsr_set_interrupt(tsr_interrupt_fn fn, void *user);

#endif
