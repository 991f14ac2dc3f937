// SPDX-License-Identifier: MIT
// Loops of many rounds on devices whose driver ends loops by itself (tsri_limits.max_loop_rounds).
//
// A launch whose loops are known to stay below that is like any other. Else a second program is launched, again and again,
// that stops in time and goes on where it stopped (tsri_kernel_resume).
#ifndef TSRI_RUNTIME_LONG_LOOPS_H
#define TSRI_RUNTIME_LONG_LOOPS_H

#include "runtime/program.h"

typedef struct tsri_long_loops tsri_long_loops;

// Measures limits.max_loop_rounds of a device that is emulated on the CPU, whatever its name is. Others keep 0.
//
// Errors: those of building and launching a kernel; TSR_ERR_INTERNAL: a loop gives a result that no number of rounds does.
tsr_status tsri_long_loops_measure(tsr_device *device);

// NULL, with TSR_OK, where loops may go on for as long as they like, or there are none.
tsr_status tsri_long_loops_create(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                                  tsri_long_loops **out_loops);
void tsri_long_loops_destroy(tsr_device *device, tsri_long_loops *loops);  // takes NULL

// May this launch go through more rounds than the device does at once?
bool tsri_long_loops_cuts(const tsri_long_loops *loops, const tsri_kernel *kernel, const uint32_t groups[3],
                          const void *params);

// Launches it as often as it takes, and waits for each.
tsr_status tsri_long_loops_launch(tsr_device *device, tsri_long_loops *loops, const tsri_kernel *kernel,
                                  const uint32_t groups[3], const tsri_argument *arguments, const void *params);

#endif
