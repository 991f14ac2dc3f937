// SPDX-License-Identifier: MIT
// concat of tensors whose lines are contiguous, by a native operator (TSRI_NATIVE_JOIN), or of tensors whose lines have a constant step, up to six in one launch on a GPU (kernels/op_join.tk). Web pages do without it (join_lines_wasm.c).
#ifndef TSRI_OPS_JOIN_LINES_H
#define TSRI_OPS_JOIN_LINES_H

#include "ops/call.h"

// Joins the inputs of the run along the axis. Returns TSR_ERR_UNSUPPORTED, without a message, if they must be copied one by one.
tsr_status tsri_join_lines(const tsri_kernel_run *run, int axis);

#endif
