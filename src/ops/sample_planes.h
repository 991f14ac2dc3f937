// SPDX-License-Identifier: MIT
// grid_sample on GPUs from planes in shared memory. Not part of the browser module (sample_planes_wasm.c).
#ifndef TSRI_OPS_SAMPLE_PLANES_H
#define TSRI_OPS_SAMPLE_PLANES_H

#include "ops/call.h"

// Compile-time arguments that the kernels of grid_sample have in common. `run` and `given`, its attributes, are variables of the caller.
#define TSRI_GRID_ARGUMENTS                                                                                     \
  TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("MODE", given->mode), \
      TSRI_CONSTANT("PADDING", given->padding), TSRI_CONSTANT("CORNERS", given->align_corners)

// Passes the other arguments that they have in common.
void tsri_sample_pass(const tsri_kernel_run *run, tsri_call *call);

// Runs grid_sample by the kernel grid_planes. Returns TSR_ERR_UNSUPPORTED, without a message, if it cannot, or would not be faster.
tsr_status tsri_sample_planes(const tsri_kernel_run *run);

#endif
