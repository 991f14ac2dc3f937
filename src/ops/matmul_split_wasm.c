// SPDX-License-Identifier: MIT
// In the browser, sums are not split, so that the module is smaller.
#include "ops/matmul_split.h"

bool tsri_matmul_can_split(const tsri_product_op *p, tsr_dtype dtype) {
  (void)p, (void)dtype;
  return false;
}

tsri_matmul_split tsri_matmul_split_choose(const tsr_device *device, const tsri_product_op *p, tsr_dtype dtype,
                                           int64_t items, int unit, double busy_share) {
  (void)device, (void)dtype, (void)items, (void)unit, (void)busy_share;
  return (tsri_matmul_split){1, p->k};
}

tsri_product_op tsri_matmul_split_product(const tsri_product_op *p, const tsri_matmul_split *split) {
  (void)split;
  return *p;
}

tsr_status tsri_matmul_split_join(const tsri_kernel_run *run, const tsri_product_op *p, int64_t parts,
                                  tsr_buffer *sums) {
  (void)run, (void)p, (void)parts, (void)sums;
  return TSR_ERR_UNSUPPORTED;
}
