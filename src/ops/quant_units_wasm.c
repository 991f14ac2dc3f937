// SPDX-License-Identifier: MIT
// In the browser: WebGPU has no matrix units.
#include "ops/quant_units.h"

bool tsri_quant_has_units(const tsr_device *device, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format) {
  (void)device, (void)dtype, (void)m, (void)n, (void)k, (void)format;
  return false;
}

tsr_status tsri_quant_units(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}
