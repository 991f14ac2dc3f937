// SPDX-License-Identifier: MIT
// Web pages need no kernels for copies: the webgpu backend has its own.
#include "runtime/copier.h"

tsr_status tsri_copier_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                            bool *out_done) {
  (void)dst, (void)dst_offset, (void)src, (void)src_offset, (void)bytes;
  *out_done = false;
  return TSR_OK;
}

void tsri_copier_destroy(tsr_device *device) { (void)device; }
