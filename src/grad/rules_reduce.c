// SPDX-License-Identifier: MIT
// Gradients of reductions.
#include "grad/rule.h"

void tsri_gradient_sum(const grad_view *v) { v->gradients[0] = tsri_grad_spread(v, v->cotangents[0], v->inputs[0]); }

// Lists the axes that the operator reduced; the result is their number.
static int reduced_axes(const grad_view *v, int *out_axes) {
  int count = 0;
  for (int i = 0; i < tsr_tensor_shape(v->inputs[0]).rank; i++) {
    if (v->axes >> i & 1u) out_axes[count++] = i;
  }
  return count;
}

// The product of all other elements: without zeros that is y / x; with one zero it is not 0 only there; with more it is 0 everywhere.
void tsri_gradient_prod(const grad_view *v) {
  tsr_tensor *x = v->inputs[0];
  int axes[TSR_MAX_RANK], count = reduced_axes(v, axes);
  if (count == 0) {
    v->gradients[0] = v->cotangents[0];
    return;
  }
  tsr_tensor *is_zero = tsr_eq_scalar(x, 0);
  tsr_tensor *rest = tsr_prod(tsr_masked_fill(x, is_zero, 1), axes, count, true);
  tsr_tensor *zeros = tsr_sum(tsr_cast(is_zero, TSR_I32), axes, count, true);
  tsr_tensor *at_others = tsr_masked_fill(tsr_div(rest, x), tsr_gt_scalar(zeros, 0), 0);
  tsr_tensor *at_zero = tsr_expand(tsr_masked_fill(rest, tsr_ne_scalar(zeros, 1), 0), tsr_tensor_shape(x));
  v->gradients[0] = tsr_mul(tsri_grad_spread(v, v->cotangents[0], x), tsr_where(is_zero, at_zero, at_others));
}

// Elements that equal the extreme share the gradient equally.
void tsri_gradient_extreme(const grad_view *v) {
  tsr_tensor *x = v->inputs[0];
  tsr_tensor *is_extreme = tsr_eq(x, tsri_grad_spread(v, v->outputs[0], x));
  int axes[TSR_MAX_RANK], count = reduced_axes(v, axes);
  tsr_tensor *share = tsri_grad_spread(v, v->cotangents[0], x);
  if (count > 0) {
    tsr_tensor *several = tsr_sum(tsr_cast(is_extreme, TSR_I32), axes, count, true);
    share = tsr_div(share, tsr_cast(several, tsr_tensor_dtype(x)));
  }
  v->gradients[0] = tsr_masked_fill(share, tsr_logical_not(is_extreme), 0);
}
