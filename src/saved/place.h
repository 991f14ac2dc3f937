// SPDX-License-Identifier: MIT
// Choosing where a capture that was loaded runs, by what was measured (TESSERA_PLACEMENT=measured).
#ifndef TSRI_SAVED_PLACE_H
#define TSRI_SAVED_PLACE_H

#include "graph/capture.h"
#include "runtime/placing.h"

// What a capture does, estimated from its trace.
tsri_work tsri_work_of(const tsr_capture *capture);

// Returns the CPU device if placement is on for the capture's device and the CPU is estimated to run the capture in less time; else NULL. Borrowed from the
// capture's device.
tsr_device *tsri_place_of_capture(const tsr_capture *capture);

#endif
