// SPDX-License-Identifier: MIT
// pad in one launch on a GPU (kernels/op_join.tk). Not part of the browser module (pad_lines_wasm.c).
#ifndef TSRI_OPS_PAD_LINES_H
#define TSRI_OPS_PAD_LINES_H

#include "ops/call.h"

// Pads input 0 of the run with the element whose bytes are in `pattern`. Returns TSR_ERR_UNSUPPORTED, without a message, if the kernel cannot be used; the
// caller then fills the result and copies x into it.
tsr_status tsri_pad_lines(const tsri_kernel_run *run, const int64_t *before, const unsigned char pattern[8]);

#endif
