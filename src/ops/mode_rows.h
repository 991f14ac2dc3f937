// SPDX-License-Identifier: MIT
// Modes of rows by kernels/op_mode.tk.
#ifndef TSRI_OPS_MODE_ROWS_H
#define TSRI_OPS_MODE_ROWS_H

#include "graph/graph.h"

// The operator that tsri_mode_of_rows records, and how it runs.
extern const tsri_op tsri_op_mode_rows;
tsr_status tsri_run_mode_rows(const tsri_kernel_run *run);

// The mode of each row of x (not bool) along its last axis, which has at least one element; the result has no such axis. NULL: the device has no kernels for it.
// Passes a failed tensor on.
tsr_tensor *tsri_mode_of_rows(tsr_tensor *x);

#endif
