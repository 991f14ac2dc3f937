// SPDX-License-Identifier: MIT
// Pooling, for its gradient.
#ifndef TSRI_OPS_POOL_H
#define TSRI_OPS_POOL_H

#include "ops/operators.h"

// Where the largest element of each window is, as tsr_argmax_pool tells it, for the windows of a recorded pooling. `x` has its channels second,
// and so has the result, whose shape is `shape`.
tsr_tensor *tsri_pool_places(tsr_tensor *x, const tsri_pool_attributes *given, tsr_shape shape);

// The gradient of max_pool by `x`, from its result's gradient `g`: one operator, for windows of a size. Both have their channels second, and one dtype. A window is gone through
// again for each of its elements: windows should have few.
extern const tsri_op tsri_op_max_pool_gradient;
tsr_tensor *tsri_max_pool_gradient(tsr_tensor *x, tsr_tensor *g, const tsri_pool_attributes *given);

#endif
