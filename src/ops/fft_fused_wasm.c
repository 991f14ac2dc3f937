// SPDX-License-Identifier: MIT
// In the browser, the steps before and after a transform are launches of their own, so that the module has fewer kernels.
#include "ops/fft_fused.h"

#include "core/error.h"

tsr_status tsri_fft_run_half(const tsri_fft_lines *l, tsr_buffer *x, int64_t x_at, tsr_buffer *y) {
  (void)l, (void)x, (void)x_at, (void)y;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_fft_convolve(const tsri_fft_lines *l, const tsri_fft_ends *ends, int64_t size, tsr_buffer *x,
                             int64_t x_at, tsr_buffer *w, tsr_buffer *y) {
  (void)l, (void)ends, (void)size, (void)x, (void)x_at, (void)w, (void)y;
  return TSR_ERR_UNSUPPORTED;
}

bool tsri_fft_takes_odd(const tsr_tensor *x, int axis, bool is_inverse, int64_t n) {
  (void)x, (void)axis, (void)is_inverse, (void)n;
  return false;
}

tsr_tensor *tsri_fft_of_odd(tsr_tensor *x, int axis, bool is_inverse, int64_t n) {
  (void)x, (void)axis, (void)is_inverse, (void)n;
  return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_INTERNAL, "rfft: there is no kernel for odd sizes in web pages"));
}
