// SPDX-License-Identifier: MIT
// Destroys an object after a wait for the device, or, if the wait times out, after a later one.
#include "runtime/late.h"

#include "core/error.h"
#include "core/log.h"

static void keep(tsr_device *device, tsri_late *late) {
  tsri_device_lock(device);
  late->next = device->late;
  device->late = late;
  tsri_device_unlock(device);
}

void tsri_late_destroy(tsr_device *device, tsri_late *late, const char *caller) {
  tsr_status status = tsri_device_settle(device);
  if (tsri_is_still_running(device, status)) {
    tsri_log(TSR_LOG_WARN, "%s: %s; it is kept until that has ended", caller, tsr_last_error());
    keep(device, late);
    return;
  }
  if (status != TSR_OK) tsri_log(TSR_LOG_ERROR, "%s: %s", caller, tsr_last_error());
  late->destroy(device, late);
}

void tsri_late_finish(tsr_device *device) {
  tsri_device_lock(device);
  tsri_late *late = device->late;
  device->late = NULL;
  tsri_device_unlock(device);
  while (late) {
    tsri_late *next = late->next;
    late->destroy(device, late);
    late = next;
  }
}
