// SPDX-License-Identifier: MIT
// Destroys objects that queued work may still use. This waits for the device. If the wait times out, the object is
// kept, and destroyed after a later wait that succeeds. On a device that is given up (device.c) it stays until the
// device can be closed, or the process ends.
#ifndef TSRI_LATE_H
#define TSRI_LATE_H

#include "runtime/device.h"

// A member of the object. `destroy` frees the object; it is called once, on a thread that holds no lock of the library.
typedef struct tsri_late {
  struct tsri_late *next;
  void (*destroy)(tsr_device *device, struct tsri_late *late);
} tsri_late;

// Waits for the device, then calls late->destroy, now or later. Failures are logged with the name `caller`. The object
// need not hold a reference to the device. Call without any lock of the library.
void tsri_late_destroy(tsr_device *device, tsri_late *late, const char *caller);

// Destroys the objects that were kept. Call after a wait that succeeded, without any lock of the library.
void tsri_late_finish(tsr_device *device);

#endif
