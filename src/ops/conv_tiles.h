// SPDX-License-Identifier: MIT
// Convolutions by kernels/op_conv_tiles.tk.
#ifndef TSRI_OPS_CONV_TILES_H
#define TSRI_OPS_CONV_TILES_H

#include "ops/call.h"

// Whether the device computes the convolution in tiles: a GPU, floats, and a product large enough to fill tiles.
bool tsri_conv_has_tiles(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

// Runs the convolution in tiles. `given` describes the run's inputs, whose elements must be addressable by kernels; of its places, only the offsets are used, not
// the buffers. is_last: the result's channels are its last axis.
tsr_status tsri_conv_run_tiles(const tsri_kernel_run *run, const tsri_conv_op *given, bool is_last);

// The number of axes, without leading axes that have only one position.
int tsri_conv_axes(const tsri_conv_op *op);

// Passes what the kernels by tiles and by matrix units have in common: x, the weights and the bias with their layouts, and the sizes of windows. The first two
// are bound as `carrier`.
void tsri_conv_give(tsri_call *call, const tsri_kernel_run *run, const tsri_conv_op *op, tsr_dtype carrier);

#endif
