// SPDX-License-Identifier: MIT
// In place of fft/ in the browser, where the portable kernel is smaller.
#include "backends/cpu/fft/fft.h"

bool tsri_cpu_has_fft(const tsri_fft_op *op) {
  (void)op;
  return false;
}

tsr_status tsri_cpu_fft(cpu_device *device, tsr_dtype dtype, const tsri_fft_op *op) {
  (void)device, (void)dtype, (void)op;
  return TSR_ERR_UNSUPPORTED;
}
