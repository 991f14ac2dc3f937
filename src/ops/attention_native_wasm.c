// SPDX-License-Identifier: MIT
// In place of attention_native.c: no device in the browser has attention as a native operator.
#include "core/error.h"
#include "ops/attention_native.h"

const tsri_op tsri_op_native_attention_gradient = {.name = "attention",
                                                   .kind = TSRI_OP_KERNEL,
                                                   .is_for_device = true,
                                                   .attribute_set = TSRI_SET_attention,
                                                   .attribute_bytes = sizeof(tsri_attention_attributes)};

bool tsri_attention_is_native(const tsr_device *device, tsr_dtype dtype, tsr_tensor *const *inputs, int count,
                              const tsri_attention_attributes *given) {
  (void)device, (void)dtype, (void)inputs, (void)count, (void)given;
  return false;
}

tsr_status tsri_attention_run_native(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_attention_run_native_tiles(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_attention_run_native_gradient(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}

bool tsri_attention_has_gradient(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                                 const tsri_attention_attributes *given) {
  (void)inputs, (void)count, (void)g, (void)given;
  return false;
}

void tsri_attention_gradients(tsr_tensor *const *inputs, int count, tsr_tensor *g,
                              const tsri_attention_attributes *given, bool is_joined, tsr_tensor *out_gradients[3]) {
  (void)inputs, (void)count, (void)g, (void)given, (void)is_joined, (void)out_gradients;
}
