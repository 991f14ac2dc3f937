// SPDX-License-Identifier: MIT
// Pooling, for its gradient.
#ifndef TSRI_OPS_POOL_H
#define TSRI_OPS_POOL_H

#include "ops/operators.h"

// Where the largest element of each window is, as tsr_argmax_pool tells it, for the windows of a recorded pooling. `x` has its channels second,
// and so has the result, whose shape is `shape`.
tsr_tensor *tsri_pool_places(tsr_tensor *x, const tsri_pool_attributes *given, tsr_shape shape);

// The gradient of max_pool by `x`, from its result `y` and that one's gradient `g`: one operator, for windows of a size. All have their channels second, and one dtype. If the pooling
// has its channels last, so has the gradient in memory where our kernel computes it. A window may be gone through again for its largest elements: windows should have few.
extern const tsri_op
    tsri_op_max_pool_gradient[2];  // by kernels without hooks, or natively; by a kernel with a store hook
tsr_tensor *tsri_max_pool_gradient(tsr_tensor *x, tsr_tensor *g, tsr_tensor *y, const tsri_pool_attributes *given);

// Whether that gradient is computed by our kernel, whose store can include operators after it and may have channels last.
bool tsri_max_pool_gradient_fuses(tsr_device *device);

#endif
