// SPDX-License-Identifier: MIT
// searchsorted on GPUs, by binary searches that begin in shared memory. Not part of the browser module (search_tree_wasm.c).
#ifndef TSRI_OPS_SEARCH_TREE_H
#define TSRI_OPS_SEARCH_TREE_H

#include "ops/call.h"

// Runs searchsorted, with the same inputs, by the kernel search_tree. Returns TSR_ERR_UNSUPPORTED, without a message, if that would not be faster.
tsr_status tsri_search_tree(const tsri_kernel_run *run);

#endif
