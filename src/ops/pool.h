// SPDX-License-Identifier: MIT
// Parts of pooling that its gradient uses.
#ifndef TSRI_OPS_POOL_H
#define TSRI_OPS_POOL_H

#include "ops/operators.h"

// The index of the largest element of each window, as tsr_argmax_pool gives it, for the windows of a recorded pooling. x and the result, whose shape is
// `shape`, have channels as axis 1.
tsr_tensor *tsri_pool_places(tsr_tensor *x, const tsri_pool_attributes *given, tsr_shape shape);

// The gradient of max_pool by `x`, from its result `y` and the gradient `g` of that. All have channels as axis 1, and the same dtype; windows have a given size
// (not adaptive). If the pooling has channels last, so has the gradient in memory, if our kernel computes it. Each element looks at all windows over it, so
// windows should be small.
extern const tsri_op
    tsri_op_max_pool_gradient[2];  // [0]: by kernels without hooks, or natively; [1]: by a kernel with a store hook
tsr_tensor *tsri_max_pool_gradient(tsr_tensor *x, tsr_tensor *g, tsr_tensor *y, const tsri_pool_attributes *given);

// Whether the gradient is computed by our kernel, which can fuse operators into its stores and supports channels last.
bool tsri_max_pool_gradient_fuses(tsr_device *device);

#endif
