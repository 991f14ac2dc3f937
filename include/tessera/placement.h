// SPDX-License-Identifier: MIT
// What work costs on a device, measured: for choosing between the CPU and another device. docs/placement.md says how it is used.
#ifndef TESSERA_PLACEMENT_H
#define TESSERA_PLACEMENT_H

#include <tessera/device.h>

// A graph of so many kernels, bytes read and written, and multiply-adds takes about
// run_ns + kernels * kernel_ns + bytes * byte_ns + multiply_adds * multiply_add_ns.
typedef struct tsr_device_speed {
  double run_ns;           // of a run, whatever it does: inputs written, results waited for and read
  double kernel_ns;        // of each kernel
  double byte_ns;          // of each byte of large tensors, both directions
  double multiply_add_ns;  // of f32, in large matrix products
  double copied_byte_ns;   // of each byte that is copied between the host and the device
} tsr_device_speed;

// Measures a device, in about half a second, and keeps the result on disk (cache.h) for this device, its driver, this version of the library and this number of threads.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, a thread that is capturing), TSR_ERR_OUT_OF_MEMORY, those of tsr_capture_end and tsr_capture_run.
TSR_API tsr_status tsr_device_measure_speed(tsr_device *device, tsr_device_speed *out_speed);

// What was measured last, also by another process.
//
// Errors: TSR_ERR_NOT_FOUND (nothing was, or it is not on disk any more), TSR_ERR_INVALID_ARGUMENT (NULL).
TSR_API tsr_status tsr_device_get_speed(tsr_device *device, tsr_device_speed *out_speed);

#endif
