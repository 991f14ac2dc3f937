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

// y = alpha a b + beta c
void tsri_gradient_product(const grad_view *v) {
  const tsri_product_attributes *given = TSRI_GIVEN(v, product);
  tsr_tensor *a = v->inputs[0], *b = v->inputs[1], *g = v->cotangents[0];
  tsr_tensor *scaled = given->alpha == 1 ? g : tsr_mul_scalar(g, given->alpha);
  if (v->wants[0]) v->gradients[0] = sum_to(tsr_matmul(scaled, turned(b)), tsr_tensor_shape(a));
  if (v->wants[1]) v->gradients[1] = sum_to(tsr_matmul(turned(a), scaled), tsr_tensor_shape(b));
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
