// SPDX-License-Identifier: MIT
// Checked mode: an index out of range is an error. In other modes, such an index reads 0.
#ifndef TSRI_OPS_CHECKED_H
#define TSRI_OPS_CHECKED_H

#include "graph/graph.h"

// On a device in checked mode, checks the indices (input 1 of the run) and waits; on other devices does nothing. The
// indices are positions along `axis`, which has `size` elements, or, if `axis` is -1, row-major positions in the whole
// tensor.
//
// Errors: TSR_ERR_LAUNCH for an index out of range (the message has the operator, the first such index, its position,
//         and the size), those of a launch and of a wait.
tsr_status tsri_check_indices(const tsri_kernel_run *run, int axis, int64_t size);

#endif
