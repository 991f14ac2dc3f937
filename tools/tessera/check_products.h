// SPDX-License-Identifier: MIT
// The reference of operators whose results are sums of products of elements of two tensors.
#ifndef TESSERA_TOOL_CHECK_PRODUCTS_H
#define TESSERA_TOOL_CHECK_PRODUCTS_H

#include "check.h"

// One product of a sum: the row-major indices of its elements, and its sign.
typedef struct check_term {
  int64_t a, b;
  bool is_subtracted;
  bool is_nothing;  // there is no such element: the product is 0
} check_term;

typedef check_term (*check_term_of)(const void *context, const int64_t *index, int64_t number);

// Each element of the result is the sum of `terms` products, in the promoted dtype, plus an element of `bias` (may be
// NULL), which has as many elements as axis `bias_axis` of the result.
typedef struct check_products {
  const check_tensor *a, *b, *bias;
  int bias_axis;
  int64_t terms;
  check_term_of term;
  const void *context;
} check_products;

check_expected *check_expect_products(check_run *run, tsr_shape shape, const check_products *products);

#endif
