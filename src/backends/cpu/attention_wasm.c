// SPDX-License-Identifier: MIT
// In place of attention/ in the browser module, which must stay small.
#include "backends/cpu/attention/attention.h"

bool tsri_cpu_has_attention(const tsri_native_op *op) {
  (void)op;
  return false;
}

tsr_status tsri_cpu_attention(cpu_device *device, const tsri_native_op *op) {
  (void)device, (void)op;
  return TSR_ERR_UNSUPPORTED;
}
