// SPDX-License-Identifier: MIT
// Destroying what queued work may still use. That takes a wait for the device; where the wait times out, the object is kept
// and destroyed when a later wait has succeeded. On a device that is given up (device.c) it stays until the process ends.
#ifndef TSRI_LATE_H
#define TSRI_LATE_H

#include "runtime/device.h"

// Inside the object. `destroy` frees the object; it is called once, on a thread that holds no lock of ours.
typedef struct tsri_late {
  struct tsri_late *next;
  void (*destroy)(tsr_device *device, struct tsri_late *late);
} tsri_late;

// Waits, then calls late->destroy, now or later; what goes wrong is logged under the name `caller`. The object need not
// hold a reference to the device for this. No lock of ours is held.
void tsri_late_destroy(tsr_device *device, tsri_late *late, const char *caller);

// Destroys what was kept. After a wait that succeeded, with no lock of ours held.
void tsri_late_finish(tsr_device *device);

#endif
