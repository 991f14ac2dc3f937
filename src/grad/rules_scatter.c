// SPDX-License-Identifier: MIT
// Gradients of writing by index: scatter, scatter_add and its variants.
#include "grad/rule.h"

// 1 where an element of the source was written and not overwritten by a later one, as scatter promises.
static tsr_tensor *is_last_written(const grad_view *v, int axis) {
  tsr_tensor *x = v->inputs[0], *indices = v->inputs[1];
  tsr_tensor *numbers = tsr_arange(x->value->device, TSR_I32, 0, (double)indices->layout.count, 1);
  numbers = tsr_reshape(numbers, tsr_tensor_shape(indices));
  tsr_tensor *nobody = tsr_full(x->value->device, TSR_I32, tsr_tensor_shape(x), -1);
  return tsr_eq(tsr_gather(tsr_scatter(nobody, axis, indices, numbers), axis, indices), numbers);
}

void tsri_gradient_scatter(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, scatter)->axis;
  tsr_tensor *indices = v->inputs[1], *g = v->cotangents[0];
  if (v->wants[0]) v->gradients[0] = tsr_scatter(g, axis, indices, tsri_grad_zeros(v->inputs[2]));
  if (v->wants[2]) {
    v->gradients[2] = tsr_masked_fill(tsr_gather(g, axis, indices), tsr_logical_not(is_last_written(v, axis)), 0);
  }
}

void tsri_gradient_scatter_add(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, scatter)->axis;
  v->gradients[0] = v->cotangents[0];
  if (v->wants[2]) v->gradients[2] = tsr_gather(v->cotangents[0], axis, v->inputs[1]);
}

// The product of all factors of an element except `factor`. `rest` is the product of the factors that are not 0, and `zeros` the number of those that are 0.
static tsr_tensor *product_of_others(tsr_tensor *factor, tsr_tensor *rest, tsr_tensor *zeros) {
  tsr_tensor *is_zero = tsr_eq_scalar(factor, 0);
  tsr_tensor *at_zero = tsr_masked_fill(rest, tsr_ne_scalar(zeros, 1), 0);
  tsr_tensor *at_others =
      tsr_masked_fill(tsr_div(rest, tsr_masked_fill(factor, is_zero, 1)), tsr_ne_scalar(zeros, 0), 0);
  return tsr_where(is_zero, at_zero, at_others);
}

void tsri_gradient_scatter_mul(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, scatter)->axis;
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *indices = v->inputs[1], *source = tsri_grad_wide(v->inputs[2]);
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  tsr_tensor *is_zero = tsr_eq_scalar(x, 0), *is_zero_there = tsr_eq_scalar(source, 0);
  tsr_tensor *rest =
      tsr_scatter_mul(tsr_masked_fill(x, is_zero, 1), axis, indices, tsr_masked_fill(source, is_zero_there, 1));
  tsr_tensor *zeros = tsr_scatter_add(tsr_cast(is_zero, TSR_I32), axis, indices, tsr_cast(is_zero_there, TSR_I32));
  if (v->wants[0]) v->gradients[0] = tsr_mul(g, product_of_others(x, rest, zeros));
  if (!v->wants[2]) return;
  tsr_tensor *others = product_of_others(source, tsr_gather(rest, axis, indices), tsr_gather(zeros, axis, indices));
  v->gradients[2] = tsr_mul(tsr_gather(g, axis, indices), others);
}

// Of the candidates for an element, those that are the extreme share its gradient equally.
void tsri_gradient_scatter_extreme(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, scatter)->axis;
  tsr_tensor *x = v->inputs[0], *indices = v->inputs[1], *source = v->inputs[2], *y = v->outputs[0];
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  tsr_tensor *is_it = tsr_cast(tsr_eq(x, y), TSR_I32);
  tsr_tensor *is_it_there = tsr_cast(tsr_eq(source, tsr_gather(y, axis, indices)), TSR_I32);
  tsr_tensor *several = tsr_maximum_scalar(tsr_scatter_add(is_it, axis, indices, is_it_there), 1);
  tsr_tensor *share = tsr_div(g, tsr_cast(several, tsr_tensor_dtype(g)));
  if (v->wants[0]) v->gradients[0] = tsr_masked_fill(share, tsr_eq_scalar(is_it, 0), 0);
  if (!v->wants[2]) return;
  v->gradients[2] = tsr_masked_fill(tsr_gather(share, axis, indices), tsr_eq_scalar(is_it_there, 0), 0);
}
