// SPDX-License-Identifier: MIT
// Radix sorts on the device (kernels/op_radix.tk), for rows too long for the counting sort of kernels/op_sort.tk.
#ifndef TSRI_OPS_RADIX_H
#define TSRI_OPS_RADIX_H

#include "ops/sort.h"

// Whether the device can run the kernels for elements of this dtype.
bool tsri_radix_takes(const tsr_device *device, tsr_dtype dtype);

// The longest row that one work-group sorts.
int64_t tsri_radix_longest_row(tsr_device *device, tsr_dtype dtype);

// The largest `keep` for which the first elements of longer rows are found without sorting the rows.
int64_t tsri_radix_most_first(const tsr_device *device);

// Queues the sort. For rows longer than tsri_radix_longest_row, `keep` must be n or at most tsri_radix_most_first.
tsr_status tsri_radix_sort(const tsri_sort *sort);

#endif
