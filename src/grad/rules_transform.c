// SPDX-License-Identifier: MIT
// Gradients of Fourier transforms. A transform is linear in the real and imaginary parts, which are separate elements, so its gradient is the transform with the
// conjugate factors, exp(+2 pi i j k / n).
#include "grad/rule.h"

static int64_t length_of(const grad_view *v, int axis) { return tsr_tensor_shape(v->inputs[0]).dims[axis]; }

void tsri_gradient_fft(const grad_view *v) {
  const tsri_fft_attributes *given = TSRI_GIVEN(v, fft);
  int axis = (int)given->axis;
  double n = (double)length_of(v, axis);
  tsr_tensor *g = v->cotangents[0];
  v->gradients[0] =
      given->is_inverse ? tsr_div_scalar(tsr_fft(g, &axis, 1), n) : tsr_mul_scalar(tsr_ifft(g, &axis, 1), n);
}
