// SPDX-License-Identifier: MIT
// Placement by measurement (TESSERA_PLACEMENT=measured): the speed of a device and of the CPU, and estimates of what work costs on both.
#ifndef TSRI_RUNTIME_PLACING_H
#define TSRI_RUNTIME_PLACING_H

#include "runtime/device.h"

#include <tessera/placement.h>

// A device other than the CPU has one of these while the setting is on and both devices have been measured.
typedef struct tsri_placing {
  tsr_device *cpu;               // one reference
  tsr_device_speed here, there;  // here: speed of the CPU; there: speed of the device
} tsri_placing;

// Sets device->placing. Leaves it NULL, with a warning, if a device has not been measured. Call without the registry's lock.
void tsri_placing_attach(tsr_device *device);
void tsri_placing_detach(tsr_device *device);

// The work of a graph, from which its time is estimated.
typedef struct tsri_work {
  double kernels, bytes, multiply_adds;
} tsri_work;

// Estimated time of a run on a device with this speed, in nanoseconds.
double tsri_work_ns(const tsri_work *work, const tsr_device_speed *speed);

// Counts a graph that runs on the CPU instead, and notes it in the log and the profile. `moved_bytes`: bytes of inputs that are on the device.
void tsri_placing_note(tsr_device *device, const tsri_work *work, double there_ns, double here_ns,
                       uint64_t moved_bytes);

#endif
