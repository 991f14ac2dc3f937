// SPDX-License-Identifier: MIT
// Where the speed of a device is kept.
#ifndef TSRI_RUNTIME_SPEED_H
#define TSRI_RUNTIME_SPEED_H

#include <tessera/placement.h>

// The path of the file, which has a tsr_device_speed. The caller frees it with tsri_free. NULL: nothing can be kept.
char *tsri_speed_path(const tsr_device *device);

// Writes the file. A failure is ignored: the device then counts as not measured.
void tsri_speed_keep(const tsr_device *device, const tsr_device_speed *speed);

#endif
