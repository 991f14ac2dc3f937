// SPDX-License-Identifier: MIT
// In the browser, factors are multiplied without padding, so that the module is smaller.
#include "ops/matmul_padded.h"

bool tsri_product_wants_padding(const tsr_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return false;
}

tsr_status tsri_matmul_padded(const tsri_kernel_run *run, tsri_native_op product, tsri_product_fn by_kernel) {
  (void)run, (void)product, (void)by_kernel;
  return TSR_ERR_UNSUPPORTED;
}
