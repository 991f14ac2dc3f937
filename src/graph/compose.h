// SPDX-License-Identifier: MIT
// Views of views: reading an input through an operator whose own result is seen through a layout.
#ifndef TSRI_COMPOSE_H
#define TSRI_COMPOSE_H

#include "core/layout.h"

// `seen`: how row-major elements of shape `shape` are seen. `input`: a layout over `shape`. `*out`: the same input over
// seen->shape. True if axes match one to one (permuted, broadcast) or the elements are all there in order; false where it
// would take more than strides to say. `out` may be NULL: who only asks.
bool tsri_compose(const tsri_layout *seen, const tsr_shape *shape, const tsri_layout *input, tsri_layout *out);

bool tsri_layout_equal(const tsri_layout *a, const tsri_layout *b);

// All elements in order: index i is element i.
bool tsri_layout_is_identity(const tsri_layout *layout, int64_t count);

#endif
