// SPDX-License-Identifier: MIT
// Choosing where a capture that was loaded runs, by what was measured (TESSERA_PLACEMENT=measured).
#ifndef TSRI_SAVED_PLACE_H
#define TSRI_SAVED_PLACE_H

#include "graph/capture.h"

#include <tessera/placement.h>

// What a capture does, estimated from its trace.
typedef struct tsri_work {
  double kernels, bytes, multiply_adds;
} tsri_work;

tsri_work tsri_work_of(const tsr_capture *capture);

// Estimated time of a run on a device with this speed, in nanoseconds.
double tsri_work_ns(const tsri_work *work, const tsr_device_speed *speed);

// Whether the CPU would run the capture, which is on another device, in less time. Then `*out_cpu` is a CPU device, which the caller releases. False if the
// setting is off, or either device has not been measured.
bool tsri_place_is_on_cpu(const tsr_capture *capture, tsr_device **out_cpu);

#endif
