// SPDX-License-Identifier: MIT
// Long loops on devices whose driver ends loops after some number of iterations (tsri_limits.max_loop_rounds).
//
// A launch whose loops are known to stay below that number is launched as usual. For any other, a second program is
// launched repeatedly, which stops in time, saves its state and continues in the next launch (tsri_kernel_resume).
#ifndef TSRI_RUNTIME_LONG_LOOPS_H
#define TSRI_RUNTIME_LONG_LOOPS_H

#include "runtime/program.h"

typedef struct tsri_long_loops tsri_long_loops;

// Measures limits.max_loop_rounds of a device that is emulated on the CPU. Other devices keep 0.
//
// Errors: those of building and launching a kernel; TSR_ERR_INTERNAL if the loop's result matches no number of
// iterations.
tsr_status tsri_long_loops_measure(tsr_device *device);

// Sets `*out_loops` to NULL, with TSR_OK, if the device does not limit loops, or the kernel has none.
tsr_status tsri_long_loops_create(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                                  tsri_long_loops **out_loops);
void tsri_long_loops_destroy(tsr_device *device, tsri_long_loops *loops);  // takes NULL

// Whether this launch may need more iterations than the device allows in one launch.
bool tsri_long_loops_cuts(const tsri_long_loops *loops, const tsri_kernel *kernel, const uint32_t groups[3],
                          const void *params);

// Launches the kernel as often as needed, and waits for each launch. A tape repeats the whole of it.
tsr_status tsri_long_loops_launch(tsr_device *device, tsri_long_loops *loops, const tsri_kernel *kernel,
                                  const uint32_t groups[3], const tsri_argument *arguments, const void *params);

#endif
