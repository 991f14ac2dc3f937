// SPDX-License-Identifier: MIT
// Convolutions by kernels/op_conv_units.tk, on devices with matrix units.
#ifndef TSRI_OPS_CONV_UNITS_H
#define TSRI_OPS_CONV_UNITS_H

#include "ops/call.h"

// Whether the kernel can compute the convolution and is estimated to be faster than tiles without matrix units: of f16 or bf16, or of f32 where it may be
// rounded to TF32; without strides if it is transposed; and with enough results for the whole device.
bool tsri_conv_has_units(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

tsr_status tsri_conv_run_units(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last);

#endif
