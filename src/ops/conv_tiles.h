// SPDX-License-Identifier: MIT
// Convolutions by kernels/op_conv_tiles.tk.
#ifndef TSRI_OPS_CONV_TILES_H
#define TSRI_OPS_CONV_TILES_H

#include "graph/graph.h"

// Whether the device computes the convolution in tiles: a GPU, floats, and a product that fills tiles and is worth them.
bool tsri_conv_has_tiles(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

// Computes it so. `op` describes the run's inputs, whose elements kernels can address; of its places, only offsets are read. is_last: the result's channels are its last axis.
tsr_status tsri_conv_run_tiles(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last);

#endif
