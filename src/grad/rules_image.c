// SPDX-License-Identifier: MIT
// Gradients of resize, of im2col and col2im, and of interp.
#include "grad/rule.h"

// --- resize --------------------------------------------------------------------------------------------------------------

// Line `t` of a table of taps, [taps, positions], in a shape that broadcasts along all axes but `axis` of a tensor of this rank.
static tsr_tensor *tap_along(tsr_tensor *table, int64_t positions, int64_t taps, int64_t t, int axis, int rank) {
  tsr_shape shape = {.rank = rank};
  for (int i = 0; i < rank; i++) shape.dims[i] = i == axis ? positions : 1;
  return tsr_reshape(tsr_slice(tsr_reshape(table, TSR_SHAPE(taps, positions)), 0, t, t + 1, 1), shape);
}

// Each position of the result is a weighted sum of a few elements of x (its taps). If the first index is negative, it is not computed from x.
void tsri_gradient_resize(const grad_view *v) {
  const tsri_taps_attributes *given = TSRI_GIVEN(v, taps);
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  int axis = (int)given->axis, rank = tsr_tensor_shape(g).rank;
  int64_t positions = tsr_tensor_shape(g).dims[axis], taps = given->taps;
  tsr_tensor *first = tap_along(v->inputs[1], positions, taps, 0, axis, rank);
  g = tsr_masked_fill(g, tsr_lt_scalar(first, 0), 0);
  tsr_tensor *sum = tsr_zeros(g->value->device, tsr_tensor_dtype(g), tsr_tensor_shape(v->inputs[0]));
  for (int64_t t = 0; t < taps; t++) {
    tsr_tensor *indices = tap_along(v->inputs[1], positions, taps, t, axis, rank);
    tsr_tensor *part = tsr_mul(g, tap_along(v->inputs[2], positions, taps, t, axis, rank));
    sum = tsr_scatter_add(sum, axis, tsr_expand(indices, tsr_tensor_shape(g)), part);
  }
  v->gradients[0] = sum;
}

// --- Columns -------------------------------------------------------------------------------------------------------------

// The description of the operator's windows, with just as much padding after each axis as the windows extend beyond it.
static tsr_conv_desc windows_of(const tsri_columns_attributes *given, tsr_shape *out_kernel, tsr_shape *out_size) {
  tsr_conv_desc desc = {0};
  *out_kernel = *out_size = (tsr_shape){.rank = (int)given->spatial};
  for (int i = 0; i < given->spatial; i++) {
    int64_t reach = (given->windows[i] - 1) * given->stride[i] + (given->kernel[i] - 1) * given->dilation[i] + 1;
    int64_t after = reach - given->before[i] - given->size[i];
    desc.stride[i] = given->stride[i];
    desc.dilation[i] = given->dilation[i];
    desc.before[i] = given->before[i];
    desc.after[i] = after > 0 ? after : 0;
    out_kernel->dims[i] = given->kernel[i];
    out_size->dims[i] = given->size[i];
  }
  return desc;
}

void tsri_gradient_im2col(const grad_view *v) {
  tsr_shape kernel, size;
  tsr_conv_desc desc = windows_of(TSRI_GIVEN(v, columns), &kernel, &size);
  v->gradients[0] = tsr_col2im(v->cotangents[0], size, kernel, &desc);
}

void tsri_gradient_col2im(const grad_view *v) {
  tsr_shape kernel, size;
  tsr_conv_desc desc = windows_of(TSRI_GIVEN(v, columns), &kernel, &size);
  v->gradients[0] = tsr_im2col(v->cotangents[0], kernel, &desc);
}

// --- interp --------------------------------------------------------------------------------------------------------------

static tsr_tensor *only(tsr_tensor *g, tsr_tensor *condition) {
  return tsr_masked_fill(g, tsr_logical_not(condition), 0);
}

// y = y0 + t (y1 - y0) with t = (x - x0) / (x1 - x0) between x0 and x1; else y0 or y1.
void tsri_gradient_line(const grad_view *v) {
  tsr_tensor *x = v->inputs[0], *x0 = v->inputs[1], *x1 = v->inputs[2], *y0 = v->inputs[3], *y1 = v->inputs[4];
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  tsr_tensor *is_right = tsr_ge(x, x1), *is_left = tsr_logical_and(tsr_le(x, x0), tsr_logical_not(is_right));
  tsr_tensor *is_outside = tsr_logical_or(is_left, is_right);
  tsr_tensor *width = tsr_masked_fill(tsr_sub(x1, x0), is_outside, 1);
  tsr_tensor *t = tsr_masked_fill(tsr_div(tsr_sub(x, x0), width), is_outside, 0);
  tsr_tensor *inside = tsr_masked_fill(g, is_outside, 0);
  tsr_tensor *rise = tsr_mul(inside, tsr_div(tsr_sub(y1, y0), width));
  if (v->wants[0]) v->gradients[0] = rise;
  if (v->wants[1]) v->gradients[1] = tsr_mul(rise, tsr_sub_scalar(t, 1));
  if (v->wants[2]) v->gradients[2] = tsr_neg(tsr_mul(rise, t));
  if (v->wants[3]) v->gradients[3] = tsr_add(tsr_mul(inside, tsr_rsub_scalar(t, 1)), only(g, is_left));
  if (v->wants[4]) v->gradients[4] = tsr_add(tsr_mul(inside, t), only(g, is_right));
}
