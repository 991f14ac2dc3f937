// SPDX-License-Identifier: MIT
// Copies between two strided layouts in host memory.
#ifndef TSRI_STRIDED_H
#define TSRI_STRIDED_H

#include "core/layout.h"

// Copies every element of `src` to the same index of `dst`; both have the same shape. Bases point at element
// offset 0 of each layout. The memory of the two must not overlap.
void tsri_strided_copy(void *dst, const tsri_layout *dst_layout, const void *src, const tsri_layout *src_layout,
                       size_t element_bytes);

#endif
