// SPDX-License-Identifier: MIT
// Whether a device's own division of f32 is rounded correctly, where nobody promises it: Vulkan and WebGPU allow an error of 2.5 ULP,
// but NVIDIA's driver divides exactly, and a quotient made of other operations takes some 30 instructions, a branch and registers for both.
#ifndef TSRI_RUNTIME_QUOTIENTS_H
#define TSRI_RUNTIME_QUOTIENTS_H

#include "runtime/program.h"

// Sets limits.has_exact_quotient of a device without has_exact_divide: it divides numbers of all kinds, and all quotients must be those of the
// CPU. A device whose quotients differ, or which cannot run the kernel, keeps false. Software devices say themselves what they can.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, and those that leave the device unusable (TSR_ERR_DEVICE_LOST, TSR_ERR_TIMEOUT).
tsr_status tsri_quotients_measure(tsr_device *device);

#endif
