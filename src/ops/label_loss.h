// SPDX-License-Identifier: MIT
// nll_loss of a matrix in one launch.
#ifndef TSRI_OPS_LABEL_LOSS_H
#define TSRI_OPS_LABEL_LOSS_H

#include "graph/graph.h"

// The operator that tsri_label_loss records, and how it runs.
extern const tsri_op tsri_op_label_loss;
tsr_status tsri_run_label_loss(const tsri_kernel_run *run);

// Minus the sum, or the mean, of x[row, labels[row]] over the rows of the matrix x, in its dtype; NaN if a label names no column. NULL: there is no kernel for these
// tensors, or more rows than one work-group takes.
tsr_tensor *tsri_label_loss(tsr_tensor *x, tsr_tensor *labels, bool is_mean);

#endif
