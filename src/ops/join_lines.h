// SPDX-License-Identifier: MIT
// concat without a copy for each input: by a native operator (TSRI_NATIVE_JOIN) if lines are contiguous, or on a GPU by kernels/op_join.tk, up to six inputs
// per launch, if their lines have a constant step. Not part of the browser module (join_lines_wasm.c).
#ifndef TSRI_OPS_JOIN_LINES_H
#define TSRI_OPS_JOIN_LINES_H

#include "ops/call.h"

// Joins the inputs of the run along the axis. Returns TSR_ERR_UNSUPPORTED, without a message, if they must be copied one by one.
tsr_status tsri_join_lines(const tsri_kernel_run *run, int axis);

#endif
