// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(linear_adds_the_residual_after_the_activation) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 2), 1, 2), *w = list(TSR_F32, TSR_SHAPE(3, 2), 1, 0, 0, 1, -1, -1);
  tsr_tensor *b = list(TSR_F32, TSR_SHAPE(3), 10, 20, 1), *r = list(TSR_F32, TSR_SHAPE(1, 3), -1, -2, -3);
  CHECK_VALUES(tsr_linear(x, w, NULL, NULL), TSR_F32, TSR_SHAPE(1, 3), 0, 1, 2, -3);
  tsr_linear_desc desc = {.activation = TSR_ACTIVATION_RELU, .residual = r};
  CHECK_VALUES(tsr_linear(x, w, b, &desc), TSR_F32, TSR_SHAPE(1, 3), 0, 10, 20, -3);
  finish();
}

TEST(linear_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(4, 2)), *w = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 2));
  CHECK_FAILS(tsr_linear(x, tsr_transpose(w, 0, 1), NULL, NULL), TSR_ERR_SHAPE, "x is 4x2, the weight is 2x3");
  CHECK_FAILS(tsr_linear(x, w, x, NULL), TSR_ERR_SHAPE, "the bias is 4x2, there are 3 outputs");
  CHECK_FAILS(tsr_linear(x, w, NULL, &(tsr_linear_desc){.residual = x}), TSR_ERR_SHAPE, "the result is 4x3");
  CHECK_FAILS(tsr_linear(x, w, NULL, &(tsr_linear_desc){.activation = (tsr_activation)77}), TSR_ERR_INVALID_ARGUMENT,
              "no activation 77");
  finish();
}

TEST(a_product_is_written_into_a_view) {
  begin();
  tsr_tensor *cache = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 2)), *x = list(TSR_F32, TSR_SHAPE(1, 2), 1, 2);
  tsr_tensor *w = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4), *before = tsr_sum(cache, NULL, 0, false);
  CHECK_OK(tsr_matmul_into(tsr_slice(cache, 0, 1, 2, 1), x, w));
  CHECK_OK(tsr_gemv_into(tsr_squeeze(tsr_slice(cache, 0, 2, 3, 1), 0), w, tsr_squeeze(x, 0)));
  CHECK_VALUES(cache, TSR_F32, TSR_SHAPE(3, 2), 0, 0, 0, 7, 10, 5, 11);
  CHECK_VALUES(before, TSR_F32, TSR_SCALAR, 0, 0);
  finish();
}

TEST(a_product_into_another_shape_is_refused_and_not_broadcast) {
  begin();
  tsr_tensor *target = tsr_zeros(dev, TSR_F32, TSR_SHAPE(5, 2)), *w = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 2));
  CHECK_STATUS(tsr_matmul_into(target, tsr_slice(w, 0, 0, 1, 1), w), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("matmul_into: the target is 5x2, the product is 1x2");
  CHECK_STATUS(tsr_gemv_into(target, w, w), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("gemv_into");
  CHECK_VALUES(target, TSR_F32, TSR_SHAPE(5, 2), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  finish();
}
