// SPDX-License-Identifier: MIT
// In place of lapack/ in the browser, where no library can be opened.
#include "backends/cpu/lapack/lapack.h"

bool tsri_cpu_has_lapack(const cpu_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return false;
}

tsr_status tsri_cpu_lapack(cpu_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return TSR_ERR_UNSUPPORTED;
}
