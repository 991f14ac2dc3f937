// SPDX-License-Identifier: MIT
// Copies between two strided layouts in host memory.
#ifndef TSRI_STRIDED_H
#define TSRI_STRIDED_H

#include "core/layout.h"

// Copies every element of `src` to the same index of `dst`. Both layouts have the same shape. `dst` and `src` point at
// index 0 of the layouts' memory. The two must not overlap in memory.
void tsri_strided_copy(void *dst, const tsri_layout *dst_layout, const void *src, const tsri_layout *src_layout,
                       size_t element_bytes);

#endif
