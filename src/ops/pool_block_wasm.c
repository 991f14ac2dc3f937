// SPDX-License-Identifier: MIT
// In the browser, each item of a pooling computes one result, so that the module has fewer kernels.
#include "core/error.h"
#include "ops/pool_block.h"

tsr_status tsri_pool_blocks(const tsri_kernel_run *run, const tsri_pool_attributes *given, int64_t results,
                            double lowest) {
  (void)run, (void)given, (void)results, (void)lowest;
  return TSR_ERR_UNSUPPORTED;
}
