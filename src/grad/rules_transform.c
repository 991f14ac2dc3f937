// SPDX-License-Identifier: MIT
// Gradients of Fourier transforms. A transform is linear in the real and imaginary parts, which are separate elements, so its gradient is the transform with the
// conjugate factors, exp(+2 pi i j k / n).
#include "grad/rule.h"
#include "ops/fft.h"

static int64_t length_of(const grad_view *v, int axis) { return tsr_tensor_shape(v->inputs[0]).dims[axis]; }

void tsri_gradient_fft(const grad_view *v) {
  const tsri_fft_attributes *given = TSRI_GIVEN(v, fft);
  int axis = (int)given->axis;
  double n = (double)length_of(v, axis);
  tsr_tensor *g = v->cotangents[0];
  v->gradients[0] =
      given->is_inverse ? tsr_div_scalar(tsr_fft(g, &axis, 1), n) : tsr_mul_scalar(tsr_ifft(g, &axis, 1), n);
}

// Multiplies the first and the last element along the axis by `factor`.
static tsr_tensor *with_scaled_ends(tsr_tensor *x, int axis, double factor) {
  const tsr_shape *shape = &x->layout.shape;
  int64_t n = shape->dims[axis];
  tsr_tensor *inner = tsr_ones(x->value->device, x->dtype, TSR_SHAPE(n - 2));
  tsr_tensor *factors = tsr_pad(inner, (int64_t[]){1}, (int64_t[]){1}, 1, factor);
  tsr_shape along = {.rank = shape->rank};
  for (int i = 0; i < along.rank; i++) along.dims[i] = i == axis ? n : 1;
  return tsr_mul(x, tsr_reshape(factors, along));
}

// The transform of m pairs of real numbers gives m + 1 elements. Those between the first and the last stand for two of the 2 m elements of the whole transform,
// which is why its gradient is m times the inverse of what has its ends doubled, and the gradient of the inverse halves the ends.
void tsri_gradient_fft_of_pairs(const grad_view *v) {
  const tsri_fft_attributes *given = TSRI_GIVEN(v, fft);
  int axis = (int)given->axis;
  double m = (double)(length_of(v, axis) - (given->is_inverse ? 1 : 0));
  tsr_tensor *g = v->cotangents[0];
  v->gradients[0] = given->is_inverse
                        ? tsr_div_scalar(with_scaled_ends(tsri_fft_of_pairs(g, axis, false), axis, 0.5), m)
                        : tsr_mul_scalar(tsri_fft_of_pairs(with_scaled_ends(g, axis, 2), axis, true), m);
}
