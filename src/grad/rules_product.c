// SPDX-License-Identifier: MIT
// Gradients of matrix products.
#include "grad/rule.h"
#include "ops/quant.h"

// Adds up over the axes along which a tensor of `shape` was broadcast.
static tsr_tensor *sum_to(tsr_tensor *x, tsr_shape shape) {
  tsr_shape from = tsr_tensor_shape(x);
  int axes[TSR_MAX_RANK], count = 0, missing = from.rank - shape.rank;
  for (int i = 0; i < from.rank; i++) {
    if (i < missing || (shape.dims[i - missing] == 1 && from.dims[i] != 1)) axes[count++] = i;
  }
  return count ? tsr_reshape(tsr_sum(x, axes, count, true), shape) : x;
}

static tsr_tensor *turned(tsr_tensor *x) {
  int rank = tsr_tensor_shape(x).rank;
  return tsr_transpose(x, rank - 2, rank - 1);
}

static bool is_by_columns(const tsr_tensor *x) {
  const tsri_layout *layout = &x->layout;
  int rank = layout->shape.rank;
  return layout->strides[rank - 2] == 1 && layout->strides[rank - 1] != 1;
}

// All rows of a batch of matrices as one matrix.
static tsr_tensor *rows_of(tsr_tensor *x) {
  tsr_shape shape = tsr_tensor_shape(x);
  int64_t columns = shape.dims[shape.rank - 1], rows = 1;
  for (int i = 0; i + 1 < shape.rank; i++) rows *= shape.dims[i];
  return tsr_reshape(x, TSR_SHAPE(rows, columns));
}

// a^T g. One matrix b for a whole batch gets one product over all rows. If b is a transposed view, as the weight of tsr_linear, the transposed
// product g^T a has the order of its memory.
static tsr_tensor *gradient_of_right(tsr_tensor *a, const tsr_tensor *b, tsr_tensor *g) {
  if (b->layout.shape.rank == 2 && tsr_tensor_shape(a).rank > 2) {
    a = rows_of(a);
    g = rows_of(g);
  }
  tsr_tensor *product = is_by_columns(b) ? turned(tsr_matmul(turned(g), a)) : tsr_matmul(turned(a), g);
  return sum_to(product, b->layout.shape);
}

// y = alpha a b + beta c
void tsri_gradient_product(const grad_view *v) {
  const tsri_product_attributes *given = TSRI_GIVEN(v, product);
  tsr_tensor *a = v->inputs[0], *b = v->inputs[1], *g = v->cotangents[0];
  tsr_tensor *scaled = given->alpha == 1 ? g : tsr_mul_scalar(g, given->alpha);
  if (v->wants[0]) v->gradients[0] = sum_to(tsr_matmul(scaled, turned(b)), tsr_tensor_shape(a));
  if (v->wants[1]) v->gradients[1] = gradient_of_right(a, b, scaled);
  if (v->input_count > 2 && v->wants[2]) {
    v->gradients[2] = sum_to(tsr_mul_scalar(g, given->beta), tsr_tensor_shape(v->inputs[2]));
  }
}

// y = x w^T; w has no gradient.
void tsri_gradient_quant_product(const grad_view *v) {
  if (!v->wants[0]) return;
  int64_t format = TSRI_GIVEN(v, quant)->format;
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]), *w = v->inputs[1];
  tsr_dtype dtype = tsr_tensor_dtype(g);
  w = format == TSRI_QUANT_I8 ? tsr_cast(tsr_bit_cast(w, TSR_I8), dtype)
                              : tsr_dequantize(w, (tsr_quant_format)format, dtype);
  v->gradients[0] = tsr_cast(tsr_matmul(g, w), tsr_tensor_dtype(v->inputs[0]));
}

// y = |a - b| for each pair of rows: the gradient of a is the sum over rows of b of (a - b) w with w = g / y, and 0 where y is 0, where there is none.
void tsri_gradient_distance(const grad_view *v) {
  tsr_tensor *a = tsri_grad_wide(v->inputs[0]), *b = tsri_grad_wide(v->inputs[1]);
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]), *y = tsri_grad_wide(v->outputs[0]);
  tsr_tensor *w = tsr_masked_fill(tsr_div(g, y), tsr_eq_scalar(y, 0), 0);
  if (v->wants[0]) {
    tsr_tensor *all = tsr_mul(a, tsr_sum(w, (const int[]){2}, 1, true));
    v->gradients[0] = tsr_cast(tsr_sub(all, tsr_matmul(w, b)), tsr_tensor_dtype(v->inputs[0]));
  }
  if (v->wants[1]) {
    tsr_tensor *turned_w = turned(w), *all = tsr_mul(b, tsr_sum(turned_w, (const int[]){2}, 1, true));
    v->gradients[1] = tsr_cast(tsr_sub(all, tsr_matmul(turned_w, a)), tsr_tensor_dtype(v->inputs[1]));
  }
}
