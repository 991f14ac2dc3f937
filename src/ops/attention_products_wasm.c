// SPDX-License-Identifier: MIT
// In place of attention_products.c: in the browser attention is computed in tiles.
#include "core/error.h"
#include "ops/attention_products.h"

tsr_status tsri_attention_run_products(const tsri_kernel_run *run, bool has_units) {
  (void)run, (void)has_units;
  return TSR_ERR_UNSUPPORTED;
}

bool tsri_attention_gradient_by_products(const tsr_device *device, tsr_dtype dtype,
                                         const tsri_attention_attributes *given, tsr_shape q, tsr_shape v) {
  (void)device, (void)dtype, (void)given, (void)q, (void)v;
  return false;
}

tsr_status tsri_attention_run_products_gradient(const tsri_kernel_run *run, bool has_units, tsr_buffer *stats, int g) {
  (void)run, (void)has_units, (void)stats, (void)g;
  return TSR_ERR_UNSUPPORTED;
}
