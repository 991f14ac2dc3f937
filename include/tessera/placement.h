// SPDX-License-Identifier: MIT
// Measures how fast a device is, for choosing between the CPU and another device. docs/placement.md says how the measurements are used.
#ifndef TESSERA_PLACEMENT_H
#define TESSERA_PLACEMENT_H

#include <tessera/device.h>

// The speed of a device, in nanoseconds. A graph that launches `kernels` kernels, reads and writes `bytes` bytes and computes `multiply_adds` takes about
// run_ns + kernels * kernel_ns + bytes * byte_ns + multiply_adds * multiply_add_ns.
typedef struct tsr_device_speed {
  double run_ns;           // fixed time of a run: writing the inputs, waiting for the results and reading them
  double kernel_ns;        // time to launch a kernel
  double byte_ns;          // time per byte that a kernel reads or writes, in large tensors
  double multiply_add_ns;  // time per multiply-add of f32, in large matrix products
  double copied_byte_ns;   // time per byte that is copied between the host and the device
} tsr_device_speed;

// Measures a device, in about half a second, and keeps the result on disk (cache.h) for this device, its driver, this version of the library and this number of threads.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, a thread that is capturing), TSR_ERR_OUT_OF_MEMORY, those of tsr_capture_end and tsr_capture_run.
TSR_API tsr_status tsr_device_measure_speed(tsr_device *device, tsr_device_speed *out_speed);

// The result of the last measurement of this device, by this or another process.
//
// Errors: TSR_ERR_NOT_FOUND (the device was not measured, or the result is not on disk any more), TSR_ERR_INVALID_ARGUMENT (NULL).
TSR_API tsr_status tsr_device_get_speed(tsr_device *device, tsr_device_speed *out_speed);

#endif
