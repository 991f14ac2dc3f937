// SPDX-License-Identifier: MIT
// Staging memory on the host for copies to and from a device. After a time-out the driver may still use it.
#ifndef TSRI_STAGE_H
#define TSRI_STAGE_H

#include "runtime/device.h"

// Allocates staging memory; NULL when host memory is out.
void *tsri_stage_create(size_t bytes);

// Frees the staging memory. `status` is that of the last copy that used it: after TSR_ERR_TIMEOUT it is kept, and freed
// when a wait for the device succeeds or the device is closed. `memory` may be NULL.
void tsri_stage_release(tsr_device *device, void *memory, tsr_status status);

// Frees all memory that was kept. Call with the queue locked and nothing queued.
void tsri_stage_free_kept(tsr_device *device);

#endif
