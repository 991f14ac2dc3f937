// SPDX-License-Identifier: MIT
// Web pages do without convolutions by matrix units: WebGPU has none there.
#include "core/error.h"
#include "ops/conv_units.h"

bool tsri_conv_has_units(const tsr_device *device, const tsri_conv_op *op, tsr_dtype dtype) {
  (void)device, (void)op, (void)dtype;
  return false;
}

tsr_status tsri_conv_run_units(const tsri_kernel_run *run, const tsri_conv_op *op, bool is_last) {
  (void)run, (void)op, (void)is_last;
  return TSR_ERR_UNSUPPORTED;
}
