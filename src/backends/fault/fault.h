// SPDX-License-Identifier: MIT
// A wrapper around any backend's open device that makes chosen calls fail, for tests.
//
// TESSERA_FAULTS="alloc:3,copy:2": the third buffer and the second copy fail. Kinds:
//   alloc:N    N-th buffer made or imported TSR_ERR_OUT_OF_MEMORY
//   copy:N     N-th copy or fill           TSR_ERR_INTERNAL
//   build:N    N-th program_create         TSR_ERR_BUILD
//   launch:N   N-th launch or native op    TSR_ERR_LAUNCH
//   wait:N     N-th queue_wait             TSR_ERR_TIMEOUT
//   event:N    N-th event made, recorded, awaited or asked: TSR_ERR_INTERNAL
//   lost:N     N-th of all these calls and every one after it: TSR_ERR_DEVICE_LOST
//   slow:TIME  copies and launches finish TIME late ("20ms"), so that waits can time out
// "N+" means the N-th and all after it. Counting starts when tsri_fault_arm is called.
#ifndef TSRI_FAULT_H
#define TSRI_FAULT_H

#include "backends/backend.h"

// Replaces `*backend` and `*handle` by wrapped ones; closing the wrapped handle closes the inner one and frees the
// wrapper. On failure both are unchanged.
//
// Errors: TSR_ERR_CONFIG (names the part and what is allowed), TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_fault_wrap(const char *text, const tsri_backend **backend, tsri_device **handle);

// Starts counting on a wrapped handle.
void tsri_fault_arm(tsri_device *handle);
// Stops failing calls, before the device is closed: from here on every call goes to the inner backend.
void tsri_fault_disarm(tsri_device *handle);

#endif
