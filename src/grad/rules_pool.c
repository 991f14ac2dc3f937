// SPDX-License-Identifier: MIT
// Gradients of adaptive pooling, whose windows follow from the size of the result, and of lp_pool.
#include <math.h>

#include "grad/rule.h"

// The gradient of an element of x is a sum over the windows that contain it. A window is the product of one interval per spatial axis, so the axes are processed
// one after the other: a matrix of zeros and ones says which elements of an axis lie in which window.

// Whether element j of an axis of n lies in window i of `count`: [count, n].
static tsr_tensor *is_in_window(tsr_device *device, const tsri_pool_attributes *given, int axis, int64_t count,
                                int64_t n) {
  tsr_tensor *i = tsr_reshape(tsr_arange(device, TSR_I32, 0, (double)count, 1), TSR_SHAPE(count, 1));
  tsr_tensor *j = tsr_arange(device, TSR_I32, 0, (double)n, 1);
  if (given->is_adaptive) {  // from i n / count to (i + 1) n / count, rounded up
    tsr_tensor *first = tsr_floor_div_scalar(tsr_mul_scalar(i, (double)n), (double)count);
    tsr_tensor *end = tsr_add_scalar(tsr_mul_scalar(i, (double)n), (double)(n + count - 1));
    return tsr_logical_and(tsr_ge(j, first), tsr_lt(j, tsr_floor_div_scalar(end, (double)count)));
  }
  double step = (double)given->dilation[axis];
  tsr_tensor *first = tsr_sub_scalar(tsr_mul_scalar(i, (double)given->stride[axis]), (double)given->before[axis]);
  tsr_tensor *off = tsr_sub(j, first), *is_tap = tsr_eq_scalar(tsr_mod_scalar(off, step), 0);
  tsr_tensor *is_near = tsr_lt_scalar(off, step * (double)given->size[axis]);
  return tsr_logical_and(is_tap, tsr_logical_and(tsr_ge_scalar(off, 0), is_near));
}

// Sums over the elements of each window, or, for the reverse direction, over the windows of each element. `sizes` are the sizes of the spatial axes of the result.
static tsr_tensor *sum_windows(tsr_tensor *x, const tsri_pool_attributes *given, const int64_t *sizes,
                               bool to_elements) {
  int spatial = tsr_tensor_shape(x).rank - 2;
  for (int i = 0; i < spatial; i++) {
    int64_t here = tsr_tensor_shape(x).dims[2 + i], there = sizes[i];
    tsr_tensor *is_in = to_elements ? is_in_window(x->value->device, given, i, here, there)
                                    : is_in_window(x->value->device, given, i, there, here);
    tsr_tensor *ones = tsr_cast(is_in, tsr_tensor_dtype(x));
    tsr_tensor *rows = tsr_matmul(tsr_moveaxis(x, 2 + i, -1), to_elements ? ones : tsr_transpose(ones, 0, 1));
    x = tsr_moveaxis(rows, -1, 2 + i);
  }
  return x;
}

static tsr_tensor *channels_second(tsr_tensor *x, const tsri_pool_attributes *given) {
  return given->is_last ? tsr_moveaxis(x, -1, 1) : x;
}

tsr_tensor *tsri_grad_of_adaptive_mean(const grad_view *v) {
  const tsri_pool_attributes *given = TSRI_GIVEN(v, pool);
  tsr_tensor *x = v->inputs[0], *g = channels_second(tsri_grad_wide(v->cotangents[0]), given);
  tsr_shape shape = tsr_tensor_shape(x), one = shape;
  one.dims[0] = one.dims[1] = 1;
  tsr_tensor *ones = tsr_ones(x->value->device, tsr_tensor_dtype(g), one);
  tsr_tensor *counts = sum_windows(ones, given, &tsr_tensor_shape(g).dims[2], false);
  return sum_windows(tsr_div(g, counts), given, &shape.dims[2], true);
}

// y = (sum of |x|^p)^(1 / p): dx = sign(x) |x|^(p - 1) times the sum over its windows of g y^(1 - p); a window of zeros gets none.
void tsri_gradient_lp_pool(const grad_view *v) {
  const tsri_pool_attributes *given = TSRI_GIVEN(v, pool);
  double p = given->power;
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *y = channels_second(tsri_grad_wide(v->outputs[0]), given);
  tsr_tensor *g = channels_second(tsri_grad_wide(v->cotangents[0]), given), *is_zero = tsr_eq_scalar(y, 0);
  tsr_tensor *weight = tsr_pow_scalar(tsr_masked_fill(y, is_zero, 1), 1 - p);
  tsr_tensor *share = tsr_masked_fill(tsr_mul(g, weight), is_zero, 0);
  tsr_tensor *sums = sum_windows(share, given, &tsr_tensor_shape(x).dims[2], true);
  tsr_tensor *slope = p == 1 ? tsr_sign(x) : tsr_mul(tsr_sign(x), tsr_pow_scalar(tsr_abs(x), p - 1));
  v->gradients[0] = tsr_mul(sums, slope);
}
