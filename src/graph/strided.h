// SPDX-License-Identifier: MIT
// Copies between any two layouts by kernels of ours (kernels/op_copy.tk), for devices without a strided copy of their own.
#ifndef TSRI_GRAPH_STRIDED_H
#define TSRI_GRAPH_STRIDED_H

#include "graph/transfer.h"

// Queues the copy of the elements of `from` into `to`, where they lie as `layout` says; the shapes are equal, the buffers are
// of one device and the memory of the two does not overlap. Sizes that 32-bit indices cannot reach take several launches.
//
// Errors: TSR_ERR_UNSUPPORTED (the device runs no kernels), TSR_ERR_OUT_OF_MEMORY, what a launch gives.
tsr_status tsri_strided_kernels(const tsri_view *from, tsr_buffer *to, const tsri_layout *layout);

// --- For tests --------------------------------------------------------------------------------------------------------

// A copy made ready: in units of `unit` bytes, axes joined, the one along which the destination runs last. Where `is_turned`, the
// source runs along the axis before it.
typedef struct tsri_strided {
  int rank;
  size_t unit;
  int64_t dims[TSR_MAX_RANK + 1], from[TSR_MAX_RANK + 1], to[TSR_MAX_RANK + 1];
  bool is_turned;
} tsri_strided;

// `most_unit`: widest unit that the device copies at once, 4 or 8.
void tsri_strided_init(const tsri_layout *from, const tsri_layout *to, size_t element, size_t most_unit,
                       tsri_strided *out);

// How many elements of each axis a launch takes, so that none of its indices reaches `most`.
void tsri_strided_pieces(const tsri_strided *strided, int64_t most, int64_t *out_sizes);

#endif
