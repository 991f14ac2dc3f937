// SPDX-License-Identifier: MIT
// Gradients of reading and sorting by index, of joining and of padding.
#include "grad/rule.h"

// The gradient of reading one element of each line along `axis`: every position of the line is compared with the index. That is element-wise, so it needs no memory and
// can be fused with the kernel that reads it. Indices below 0 count from the end.
static tsr_tensor *placed_in_lines(tsr_tensor *g, tsr_tensor *indices, int axis, tsr_shape shape) {
  tsr_dtype dtype = tsr_tensor_dtype(indices) == TSR_I64 ? TSR_I64 : TSR_I32;
  tsr_shape along = {.rank = shape.rank};
  for (int i = 0; i < shape.rank; i++) along.dims[i] = i == axis ? shape.dims[axis] : 1;
  tsr_tensor *at = tsr_cast(indices, dtype);
  at = tsr_where(tsr_lt_scalar(at, 0), tsr_add_scalar(at, (double)shape.dims[axis]), at);
  tsr_tensor *places = tsr_arange(g->value->device, dtype, 0, (double)shape.dims[axis], 1);
  return tsr_masked_fill(tsr_expand(g, shape), tsr_ne(tsr_reshape(places, along), at), 0);
}

// Adds the gradient to the elements that were read. Along other axes `indices` may be shorter than x; the elements beyond get 0.
void tsri_gradient_gather(const grad_view *v) {
  const tsri_gather_attributes *given = TSRI_GIVEN(v, gather);
  tsr_tensor *x = v->inputs[0], *indices = v->inputs[1], *g = v->cotangents[0];
  tsr_shape shape = tsr_tensor_shape(x), part = tsr_tensor_shape(indices);
  int axis = (int)given->axis;
  if (given->is_list) {
    tsr_shape list = TSR_SHAPE(indices->layout.count);
    indices = tsr_reshape(indices, list);
    g = tsr_reshape(g, list);
    part = list;
  }
  int64_t none[TSR_MAX_RANK] = {0}, missing[TSR_MAX_RANK] = {0};
  bool is_part = false;
  for (int i = 0; i < shape.rank; i++) {
    if (i == axis) continue;
    missing[i] = shape.dims[i] - part.dims[i];
    is_part = is_part || missing[i] > 0;
  }
  if (!given->is_list && !is_part && part.dims[axis] == 1 && shape.dims[axis] <= INT32_MAX) {
    v->gradients[0] = placed_in_lines(g, indices, axis, shape);
    return;
  }
  part.dims[axis] = shape.dims[axis];
  tsr_tensor *zeros = tsr_zeros(x->value->device, tsr_tensor_dtype(g), part);
  tsr_tensor *sum = tsr_scatter_add(zeros, axis, indices, g);
  v->gradients[0] = is_part ? tsr_pad(sum, none, missing, shape.rank, 0) : sum;
}

// Along the last axis, and perhaps the first few only.
void tsri_gradient_sort(const grad_view *v) {
  tsr_tensor *x = v->inputs[0], *g = v->cotangents[0];
  int last = tsr_tensor_shape(x).rank - 1;
  tsr_tensor *order = tsr_argsort(x, last, TSRI_GIVEN(v, sort)->is_descending != 0);
  order = tsr_slice(order, last, 0, tsr_tensor_shape(g).dims[last], 1);
  v->gradients[0] = tsr_scatter(tsri_grad_zeros(x), last, order, g);
}

void tsri_gradient_concat(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, concat)->axis;
  int64_t at = 0;
  for (int i = 0; i < v->input_count; i++) {
    int64_t size = tsr_tensor_shape(v->inputs[i]).dims[axis];
    if (v->wants[i]) v->gradients[i] = tsr_slice(v->cotangents[0], axis, at, at + size, 1);
    at += size;
  }
}

void tsri_gradient_pad(const grad_view *v) {
  const int64_t *before = TSRI_GIVEN(v, pad)->before;
  tsr_shape shape = tsr_tensor_shape(v->inputs[0]);
  tsr_tensor *g = v->cotangents[0];
  for (int i = 0; i < shape.rank; i++) g = tsr_slice(g, i, before[i], before[i] + shape.dims[i], 1);
  v->gradients[0] = g;
}

void tsri_gradient_masked_fill(const grad_view *v) {
  if (v->wants[0]) v->gradients[0] = tsr_masked_fill(v->cotangents[0], v->inputs[1], 0);
}

// Inputs: row + diagonal, column, x; tril keeps columns up to that.
void tsri_gradient_triangle(const grad_view *v) {
  bool is_lower = v->op == TSRI_BODY(tril);
  tsr_tensor *is_out = is_lower ? tsr_gt(v->inputs[1], v->inputs[0]) : tsr_lt(v->inputs[1], v->inputs[0]);
  v->gradients[2] = tsr_masked_fill(v->cotangents[0], is_out, 0);
}
