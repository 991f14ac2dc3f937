// SPDX-License-Identifier: MIT
// Copies between any two layouts by our own kernels (kernels/op_copy.tk), for devices without a native strided copy.
#ifndef TSRI_GRAPH_STRIDED_H
#define TSRI_GRAPH_STRIDED_H

#include "graph/transfer.h"

// Queues a copy of the elements of `from` into `to` with layout `layout`. The shapes are equal, the buffers are on one
// device, and the two do not overlap in memory. A copy that 32-bit indices cannot address takes several launches.
//
// Errors: TSR_ERR_UNSUPPORTED (the device runs no kernels), TSR_ERR_OUT_OF_MEMORY, those of a launch.
tsr_status tsri_strided_kernels(const tsri_view *from, tsr_buffer *to, const tsri_layout *layout);

// --- For tests --------------------------------------------------------------------------------------------------------

// A prepared copy: sizes and strides in units of `unit` bytes, with axes joined. The axis with the smallest destination
// stride is last. If `col_axes` is not 0, the copy transposes tiles in shared memory: the last col_axes axes, one or two, follow each other in the
// destination, and the row_axes axes before them in the source.
typedef struct tsri_strided {
  int rank;
  size_t unit;
  int64_t dims[TSR_MAX_RANK + 1], from[TSR_MAX_RANK + 1], to[TSR_MAX_RANK + 1];
  int row_axes, col_axes;
} tsri_strided;

// `most_unit` is the widest unit the device can copy at once, 4 or 8.
void tsri_strided_init(const tsri_layout *from, const tsri_layout *to, size_t element, size_t most_unit,
                       tsri_strided *out);

// Sets out_sizes[axis] to the number of units per axis in one launch, such that no index in it reaches `most`.
void tsri_strided_pieces(const tsri_strided *strided, int64_t most, int64_t *out_sizes);

#endif
