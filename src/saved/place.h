// SPDX-License-Identifier: MIT
// Choosing where a capture that was loaded runs, by what was measured (TESSERA_PLACEMENT=measured).
#ifndef TSRI_SAVED_PLACE_H
#define TSRI_SAVED_PLACE_H

#include "graph/capture.h"
#include "runtime/placing.h"

// What a capture does, estimated from its trace.
tsri_work tsri_work_of(const tsr_capture *capture);

// The CPU, if it would run the capture, which is on another device, in less time, and placement is on for that device. Else NULL. Borrowed
// from that device.
tsr_device *tsri_place_of_capture(const tsr_capture *capture);

#endif
