// SPDX-License-Identifier: MIT
// Composing views: addresses the input of an operator by the indices through which the operator's result is seen.
#ifndef TSRI_COMPOSE_H
#define TSRI_COMPOSE_H

#include "core/layout.h"

// `input` is a layout over `shape`, the shape of an operator. `seen` is a view of that operator's row-major result.
// Sets `*out` to the layout of the same input over seen->shape. True if the axes match one to one (permuted,
// broadcast), or if `seen` covers all elements in order; false if strides cannot express the composition. `out` may be
// NULL if only the answer is wanted.
bool tsri_compose(const tsri_layout *seen, const tsr_shape *shape, const tsri_layout *input, tsri_layout *out);

bool tsri_layout_equal(const tsri_layout *a, const tsri_layout *b);

// Whether the layout has `count` elements, contiguous and at offset 0: index i is element i.
bool tsri_layout_is_identity(const tsri_layout *layout, int64_t count);

#endif
