// SPDX-License-Identifier: MIT
// Parts of roi_align that its gradient uses.
#ifndef TSRI_OPS_ROI_H
#define TSRI_OPS_ROI_H

#include "ops/operators.h"

// The operators that the functions below record.
extern const tsri_op tsri_op_roi_weights, tsri_op_roi_places;

// The weight of each element of an axis (0: rows, 1: columns) in the mean of each part of a region: [regions, parts, size].
tsr_tensor *tsri_roi_weights(const tsri_roi_attributes *given, tsr_tensor *regions, int axis, int64_t parts,
                             int64_t size);

// For MAX: for each result (their shape is `shape`), the row-major indices of the four elements of x around its largest sample point, and their weights: two
// tensors [4, results]. `inputs` are x, regions and images. Results that are 0 for every x have weights 0.
void tsri_roi_places(const tsri_roi_attributes *given, tsr_tensor *const *inputs, tsr_shape shape,
                     tsr_tensor **out_table);

#endif
