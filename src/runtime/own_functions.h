// SPDX-License-Identifier: MIT
// Finds out which of a device's own f32 functions kernels may use. Vulkan and WebGPU promise little: they allow an error of 2.5 ULP for a quotient and of 3 +
// 2|x| ULP for exp2. But drivers of GPUs do better, and functions made of other operations take two to four times the instructions.
#ifndef TSRI_RUNTIME_OWN_FUNCTIONS_H
#define TSRI_RUNTIME_OWN_FUNCTIONS_H

#include "runtime/program.h"

// Sets has_exact_quotient, has_near_quotient, has_near_exp2, has_near_root and has_exact_products in the limits of a device without has_exact_divide. A launch
// computes functions of numbers of all kinds; the results are compared with those of the CPU. If they differ, or the device cannot run the kernel, these limits
// stay false. Software devices are not tested: their backends set the limits themselves.
//
// quotients     must have the CPU's bits: all of them with the device's own division; otherwise those of ordinary numbers, with two corrections
// (lang/lower/expand_divide.c). The arguments include quotients closest to the middle between two floats.
// exp           by the device's exp2 (lang/lower/expand_exp.c) may be off by 2.5 ULP, where `tessera check` allows 5. exp2 of NVIDIA's GPUs is off by up to
// 2.06 ULP from -0.5 to 0.5, and so is exp; that is the same in CUDA.
// square roots  by the device's inverse square root and one correction (lang/lower/expand_root.c) must have the CPU's bits; the arguments include roots closest
// to the middle between two floats.
// bf16          by products (lang/lower/expand_half.c; only in SPIR-V) must have the bits of tsr_convert: a device may flush subnormal f32.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, and those that leave the device unusable (TSR_ERR_DEVICE_LOST, TSR_ERR_TIMEOUT).
tsr_status tsri_own_functions_measure(tsr_device *device);

#endif
