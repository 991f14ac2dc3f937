// SPDX-License-Identifier: MIT
// Where the speed of a device is kept.
#ifndef TSRI_SAVED_SPEED_H
#define TSRI_SAVED_SPEED_H

#include <tessera/placement.h>

// The path of the file, which has a tsr_device_speed. The caller frees it with tsri_free. NULL: nothing can be kept.
char *tsri_speed_path(const tsr_device *device);

#endif
