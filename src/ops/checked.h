// SPDX-License-Identifier: MIT
// Checked mode: an index out of range is an error instead of a 0.
#ifndef TSRI_OPS_CHECKED_H
#define TSRI_OPS_CHECKED_H

#include "graph/graph.h"

// On a device in checked mode, looks at the indices (input 1 of the run) and waits; elsewhere does nothing. They are positions along `axis`,
// which has `size` elements; -1: in the whole tensor, counted in row-major order.
//
// Errors: TSR_ERR_LAUNCH for an index out of range, with the operator, the first such index, its place, and the size; those of a launch
//         and a wait.
tsr_status tsri_check_indices(const tsri_kernel_run *run, int axis, int64_t size);

#endif
