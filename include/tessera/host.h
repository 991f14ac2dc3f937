// SPDX-License-Identifier: MIT
// Functions of the CPU device that a program can call directly, for so few numbers that recording an operator would take longer than computing it.
#ifndef TESSERA_HOST_H
#define TESSERA_HOST_H

#include <stdint.h>
#include <tessera/device.h>
#include <tessera/export.h>

// out[i] = function(a[i], b[i]) for i < count. `out` may be the same as `a` or `b`, but must not overlap them in another way. Functions of one number do not read `b`.
typedef void (*tsr_host_function)(float *out, const float *a, const float *b, uint32_t count);

// The f32 function that computes an operator in the kernels of a CPU device, so that its results have the same bits: "exp", "log2", "sin", "tanh", "erf",
// "atan2", "pow" and others. NULL: the device is no CPU, or has no such function for the operator. Not in web pages.
//
// Ownership: the function stays valid when the device is closed.
// Threads:   any; the function, too.
TSR_API tsr_host_function tsr_device_host_function(const tsr_device *device, const char *operator_name);

#endif
