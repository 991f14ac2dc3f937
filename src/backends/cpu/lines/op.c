// SPDX-License-Identifier: MIT
// The native operators of this folder, as the core describes them.
#include "backends/cpu/lines/lines.h"

bool tsri_cpu_has_lines(const tsri_native_op *op) {
  return op->kind != TSRI_NATIVE_ARG_REDUCE || tsri_cpu_has_arg(&op->is.reduce);
}

tsr_status tsri_cpu_lines(cpu_device *device, const tsri_native_op *op) {
  if (op->kind == TSRI_NATIVE_ARG_REDUCE) return tsri_cpu_arg(device, op->dtype, &op->is.reduce);
  tsri_cpu_softmax(device, op->dtype, &op->is.softmax);
  return TSR_OK;
}
