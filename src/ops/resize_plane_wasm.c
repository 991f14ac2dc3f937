// SPDX-License-Identifier: MIT
// In the browser, resize takes one axis after the other, so that the module has fewer kernels.
#include "core/error.h"
#include "ops/resize.h"

const tsri_op tsri_op_resize_plane = {.name = "resize",
                                      .kind = TSRI_OP_KERNEL,
                                      .attribute_set = TSRI_SET_plane,
                                      .attribute_bytes = sizeof(tsri_plane_attributes)};

bool tsri_resize_has_planes(const tsr_tensor *x) {
  (void)x;
  return false;
}

tsr_tensor *tsri_resize_planes(tsr_tensor *x, tsr_shape shape, tsr_dtype dtype, const tsri_plane_attributes *given) {
  (void)x, (void)shape, (void)dtype, (void)given;
  return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_INTERNAL, "resize: there is no kernel for planes in web pages"));
}
