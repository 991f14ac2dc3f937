// SPDX-License-Identifier: MIT
// Depthwise convolutions, and others with few channels in a group, by kernels/op_conv_depth.tk.
#ifndef TSRI_OPS_CONV_DEPTH_H
#define TSRI_OPS_CONV_DEPTH_H

#include "graph/graph.h"

// Whether the device uses these kernels for the convolution: a GPU, floats, groups with one channel of x and fewer than eight of the result, up to 64 weights
// along axes 1 and 2 (any number along axis 0 of three), any strides and dilations; strides of a transposed convolution are small.
bool tsri_conv_is_depthwise(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

// As tsri_conv_is_depthwise, for groups with any number of channels of x, and not for small results. Tiles (conv_tiles.h) are better wherever they can be used and there are several.
bool tsri_conv_is_direct(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

// Runs a convolution for which tsri_conv_is_direct. `op` describes the run's inputs, whose elements must be addressable by kernels; of its places, only the offsets are used, not the
// buffers. is_last: the result's channels are its last axis.
tsr_status tsri_conv_run_direct(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last);

// Whether the device uses these kernels for the gradient by the weights: as above, for up to 64 weights of a channel.
bool tsri_conv_weight_is_depthwise(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

// Runs the gradient by the weights of a convolution that is not transposed. `op` describes the convolution; its y is the run's input 1, the gradient by the
// convolution's result.
tsr_status tsri_conv_run_depthwise_weight(const tsri_kernel_run *run, const tsri_conv_op *op);

#endif
