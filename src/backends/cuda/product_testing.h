// SPDX-License-Identifier: MIT
// For tests of our kernels for products: describes a product and the layouts of its factors. A test may include ops/product.h before this file.
#ifndef TSRI_CUDA_PRODUCT_TESTING_H
#define TSRI_CUDA_PRODUCT_TESTING_H

#include "support/test.h"

// A product to test. is_turned: neighbouring elements are along m (of a) or n (of b), not along k. `pad` unused elements come between two lines.
typedef struct setting {
  int64_t batch, m, n, k;
  bool a_is_turned, b_is_turned;
  tsr_dtype dtype;
  int64_t pad;
  bool a_is_shared;  // all products of the batch have the same a
} setting;

// Number of elements of one matrix a, with the padding between its lines.
static inline int64_t a_matrix(const setting *s) {
  return s->a_is_turned ? s->k * (s->m + s->pad) : s->m * (s->k + s->pad);
}

static inline int64_t b_matrix(const setting *s) {
  return s->b_is_turned ? s->k * (s->n + s->pad) : s->n * (s->k + s->pad);
}

static inline tsri_native_op op_of(const setting *s) {
  tsri_layout a = {.shape = TSR_SHAPE(s->batch, s->m, s->k), .strides = {a_matrix(s), s->k + s->pad, 1}};
  tsri_layout b = {.shape = TSR_SHAPE(s->batch, s->k, s->n), .strides = {b_matrix(s), 1, s->k + s->pad}};
  if (s->a_is_turned) a.strides[1] = 1, a.strides[2] = s->m + s->pad;
  if (s->b_is_turned) b.strides[1] = s->n + s->pad, b.strides[2] = 1;
  if (s->a_is_shared) a.strides[0] = 0;
  const tsri_layout *layouts[] = {&a, &b};
  tsri_native_op op;
  CHECK(tsri_product_describe(s->dtype, TSR_SHAPE(s->batch, s->m, s->n), layouts, 2, 1, 0, &op));
  return op;
}

#endif
