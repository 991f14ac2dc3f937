// SPDX-License-Identifier: MIT
// Modes of rows by kernels/op_mode.tk.
#ifndef TSRI_OPS_MODE_ROWS_H
#define TSRI_OPS_MODE_ROWS_H

#include "graph/graph.h"

// The operator that tsri_mode_by_kernels records, and how it runs.
extern const tsri_op tsri_op_mode_rows;
tsr_status tsri_run_mode_rows(const tsri_kernel_run *run);

// The mode of x along the axis, which has at least one element. NULL: the device has no kernels for it.
tsr_tensor *tsri_mode_by_kernels(tsr_tensor *x, int axis, bool keep_dims);

#endif
