// SPDX-License-Identifier: MIT
// Depthwise convolutions by kernels/op_conv_depth.tk.
#ifndef TSRI_OPS_CONV_DEPTH_H
#define TSRI_OPS_CONV_DEPTH_H

#include "graph/graph.h"

// Whether the device computes the convolution so: a GPU, floats, groups of one channel of x, a small kernel over one or two axes, and, if it is transposed, a stride of 1.
bool tsri_conv_is_depthwise(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype);

// Computes it. `op` describes the run's inputs, whose elements kernels can address; of its places, only offsets are read. is_last: the result's channels are its last axis.
tsr_status tsri_conv_run_depthwise(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last);

// Computes the gradient by the weights of such a convolution, which is not transposed. `op` describes the convolution; its y is the run's input 1, the gradient by
// the result.
tsr_status tsri_conv_run_depthwise_weight(const tsri_kernel_run *run, const tsri_conv_op *op);

#endif
