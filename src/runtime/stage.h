// SPDX-License-Identifier: MIT
// Host memory for copies to and from a device, which a time-out may leave in the driver's hands.
#ifndef TSRI_STAGE_H
#define TSRI_STAGE_H

#include "runtime/device.h"

// NULL when host memory is out.
void *tsri_stage_create(size_t bytes);

// Frees the stage; after TSR_ERR_TIMEOUT, only once a wait for the device has succeeded or the device is closed. `status` is that of the
// last copy that used it. NULL is ignored.
void tsri_stage_release(tsr_device *device, void *memory, tsr_status status);

// Frees those that were kept. Under the queue's lock, when nothing is queued any more.
void tsri_stage_free_kept(tsr_device *device);

#endif
