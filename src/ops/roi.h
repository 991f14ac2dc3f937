// SPDX-License-Identifier: MIT
// Parts of roi_align, for its gradient.
#ifndef TSRI_OPS_ROI_H
#define TSRI_OPS_ROI_H

#include "ops/operators.h"

// What the functions below record.
extern const tsri_op tsri_op_roi_weights, tsri_op_roi_places;

// How much each element of an axis (0: rows, 1: columns) counts in the mean of each part of a region: [regions, parts, size].
tsr_tensor *tsri_roi_weights(const tsri_roi_attributes *given, tsr_tensor *regions, int axis, int64_t parts,
                             int64_t size);

// For each result, of which `shape` tells how many there are, the four elements of x around its largest point, as numbers in row-major order, and their
// weights: two tensors [4, results]. `inputs` are x, regions and images. A result that is 0 whatever x is has weights 0.
void tsri_roi_places(const tsri_roi_attributes *given, tsr_tensor *const *inputs, tsr_shape shape,
                     tsr_tensor **out_table);

#endif
