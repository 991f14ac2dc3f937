// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(a_convolution_is_the_product_of_weights_and_columns) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 3, 7, 6), 1),
             *w = tsr_randn(dev, TSR_F32, TSR_SHAPE(4, 3, 3, 2), 2);
  tsr_conv_desc desc = {.stride = {2, 1}, .dilation = {1, 2}, .before = {1, 0}, .after = {2, 1}};
  tsr_tensor *columns = tsr_im2col(x, TSR_SHAPE(3, 2), &desc), *y = tsr_conv(x, w, NULL, &desc);
  tsr_tensor *product = tsr_reshape(tsr_matmul(tsr_reshape(w, TSR_SHAPE(4, 18)), columns), tsr_tensor_shape(y));
  double worst = 1;
  CHECK_OK(tsr_item(tsr_norm(tsr_sub(product, y), INFINITY, NULL, 0, false), &worst));
  CHECK(worst < 1e-4);
  finish();
}

// Each element comes back as often as there are windows over it.
TEST(col2im_adds_up_what_im2col_repeats) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(1, 1, 4), 1, 2, 3, 4), *columns = tsr_im2col(x, TSR_SHAPE(2), NULL);
  CHECK_VALUES(columns, TSR_I32, TSR_SHAPE(1, 2, 3), 0, 1, 2, 3, 2, 3, 4);
  CHECK_VALUES(tsr_col2im(columns, TSR_SHAPE(4), TSR_SHAPE(2), NULL), TSR_I32, TSR_SHAPE(1, 1, 4), 0, 1, 4, 6, 4);
  finish();
}

// Where windows are one-hot products, an infinity would spread.
TEST(im2col_copies_infinities_as_they_are) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 3), 1, INFINITY, 3);
  CHECK_VALUES(tsr_im2col(x, TSR_SHAPE(2), NULL), TSR_F32, TSR_SHAPE(1, 2, 2), 0, 1, INFINITY, INFINITY, 3);
  finish();
}

TEST(columns_refuse_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 2, 4, 4)), *flat = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 9, 4));
  CHECK_FAILS(tsr_im2col(x, TSR_SHAPE(5, 1), NULL), TSR_ERR_SHAPE, "a window of 5");
  CHECK_FAILS(tsr_im2col(x, TSR_SHAPE(2), NULL), TSR_ERR_SHAPE, "the kernel is [2]");
  CHECK_FAILS(tsr_im2col(x, TSR_SHAPE(2, 2), &(tsr_conv_desc){.groups = 2}), TSR_ERR_INVALID_ARGUMENT,
              "does not read .groups");
  CHECK_FAILS(tsr_col2im(flat, TSR_SHAPE(3, 3), TSR_SHAPE(2, 2), NULL), TSR_ERR_SHAPE,
              "columns are 1x9x4; they are [images, channels * 4, 4]");
  finish();
}
