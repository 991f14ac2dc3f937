// SPDX-License-Identifier: MIT
// In place of lines/ in the browser module, which must stay small.
#include "backends/cpu/lines/lines.h"

bool tsri_cpu_has_lines(const tsri_native_op *op) {
  (void)op;
  return false;
}

tsr_status tsri_cpu_lines(cpu_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return TSR_ERR_UNSUPPORTED;
}
