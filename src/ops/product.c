// SPDX-License-Identifier: MIT
// Describes matrix products: sizes, strides and batch axes.
#include "ops/product.h"

#include "graph/node.h"
#include "ops/matmul_f8.h"
#include "ops/matmul_padded.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "runtime/native_op.h"

// The strides of an input, with its batch axes broadcast to those of the product.
static tsri_matrix matrix_of(const tsri_layout *layout, tsr_dtype dtype, int batch_rank) {
  int rank = layout->shape.rank, missing = batch_rank - (rank - 2);
  tsri_matrix matrix = {.at.offset = (size_t)layout->offset * tsr_dtype_bytes(dtype)};
  if (layout->shape.dims[rank - 2] != 1) matrix.row = layout->strides[rank - 2];
  if (layout->shape.dims[rank - 1] != 1) matrix.column = layout->strides[rank - 1];
  for (int i = missing; i < batch_rank; i++) {
    if (layout->shape.dims[i - missing] != 1) matrix.batch[i] = layout->strides[i - missing];
  }
  return matrix;
}

// Removes batch axes of size 1 and joins neighbouring ones, so that the two that kernels handle are mostly enough.
static void join_batch(tsri_product_op *p) {
  tsri_matrix *all[3] = {&p->a, &p->b, &p->c};
  int rank = 0;
  for (int i = 0; i < p->batch_rank; i++) {
    int64_t size = p->batch_dims[i];
    if (size == 1) continue;
    bool joins = rank > 0;
    for (int j = 0; j < 3 && joins; j++) joins = all[j]->batch[rank - 1] == all[j]->batch[i] * size;
    if (!joins) rank++;
    p->batch_dims[rank - 1] = joins ? p->batch_dims[rank - 1] * size : size;
    for (int j = 0; j < 3; j++) all[j]->batch[rank - 1] = all[j]->batch[i];
  }
  p->batch_rank = rank;
}

bool tsri_product_describe(tsr_dtype dtype, tsr_shape shape, const tsri_layout *const *layouts, int input_count,
                           double alpha, double beta, tsri_native_op *out_op) {
  *out_op = (tsri_native_op){.kind = TSRI_NATIVE_PRODUCT, .dtype = dtype, .result = dtype};
  tsri_product_op *p = &out_op->is.product;
  tsri_matrix *matrices[3] = {&p->a, &p->b, &p->c};
  bool is_empty = false;
  p->m = shape.dims[shape.rank - 2];
  p->n = shape.dims[shape.rank - 1];
  p->k = layouts[0]->shape.dims[layouts[0]->shape.rank - 1];
  p->batch_rank = shape.rank - 2;
  for (int i = 0; i < p->batch_rank; i++) {
    p->batch_dims[i] = shape.dims[i];
    is_empty = is_empty || shape.dims[i] == 0;
  }
  for (int i = 0; i < input_count; i++) *matrices[i] = matrix_of(layouts[i], dtype, p->batch_rank);
  p->alpha = alpha;
  p->beta = input_count > 2 ? beta : 0;
  if (p->alpha != 1 || p->beta != 0) out_op->parts = TSRI_PRODUCT_SCALED;
  join_batch(p);
  return !is_empty && p->m > 0 && p->n > 0 && p->k > 0;
}

bool tsri_product_of(const tsri_node *node, tsri_native_op *out_op) {
  const tsri_layout *layouts[3] = {NULL};
  const tsri_product_attributes *given = TSRI_GIVEN(node, product);
  for (uint32_t i = 0; i < node->input_count; i++) layouts[i] = &node->inputs[i].layout;
  return tsri_product_describe(node->dtype, node->shape, layouts, (int)node->input_count, given->alpha, given->beta,
                               out_op);
}

// Describes the layout of copies of a batch of matrices, one after the other and contiguous along k; the other axis has `lines` elements.
static void lay_along_k(const tsri_product_op *p, int64_t lines, int64_t *out_k_step, int64_t *out_line_step,
                        tsri_matrix *matrix) {
  int64_t step = p->k * lines;
  matrix->at.offset = 0;
  *out_k_step = 1;
  *out_line_step = p->k;
  for (int i = p->batch_rank - 1; i >= 0; i--) {
    if (matrix->batch[i] == 0) continue;
    matrix->batch[i] = step;
    step *= p->batch_dims[i];
  }
}

bool tsri_product_i8_sums(tsri_native_op *op, unsigned *out_copies) {
  tsri_product_op *p = &op->is.product;
  *out_copies = 0;
  // Devices with products of bytes need sizes that are multiples of four.
  if (op->parts || p->m % 4 || p->n % 4 || p->k % 4) return false;
  op->result = TSR_I32;
  if (p->a.column != 1) {
    *out_copies |= 1;
    lay_along_k(p, p->m, &p->a.column, &p->a.row, &p->a);
  }
  if (p->b.row != 1) {
    *out_copies |= 2;
    lay_along_k(p, p->n, &p->b.row, &p->b.column, &p->b);
  }
  return true;
}

// A product of i8 is described with sums in i32, unless the device has an operator that keeps the low bytes; a product of f8 with an f32 result. A product that
// is computed from padded copies is not described: it runs as a kernel (tsri_run_matmul), which makes the copies.
bool tsri_describe_product(const tsri_node *node, tsri_native_op *out_op) {
  unsigned copies = 0;
  if (!tsri_product_of(node, out_op)) return false;
  if (tsri_dtype_is_f8(node->dtype)) return tsri_product_f8_wide(out_op);
  if (tsri_product_wants_padding(node->value.device, out_op)) return false;
  return node->dtype != TSR_I8 || tsri_device_takes(node->value.device, out_op) ||
         tsri_product_i8_sums(out_op, &copies);
}
