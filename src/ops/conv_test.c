// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(conv_adds_up_products_of_windows) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 1, 3, 3)), *w = list(TSR_F32, TSR_SHAPE(1, 1, 2, 2), 1, 2, 3, 4);
  CHECK_VALUES(tsr_conv(x, w, NULL, NULL), TSR_F32, TSR_SHAPE(1, 1, 2, 2), 0, 27, 37, 57, 67);
  CHECK_VALUES(tsr_conv(x, w, list(TSR_F32, TSR_SHAPE(1), 100), &(tsr_conv_desc){.stride = {2, 2}, .after = {1, 1}}),
               TSR_F32, TSR_SHAPE(1, 1, 2, 2), 0, 127, 100 + 2 + 15, 100 + 6 + 14, 108);
  finish();
}

TEST(conv_of_one_axis_with_same_padding_keeps_the_size) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(1, 1, 4), 1, 2, 3, 4), *w = list(TSR_I32, TSR_SHAPE(1, 1, 2), 1, 10);
  tsr_conv_desc after = {.padding = TSR_PADDING_SAME}, before = {.padding = TSR_PADDING_SAME_BEFORE};
  CHECK_VALUES(tsr_conv(x, w, NULL, &after), TSR_I32, TSR_SHAPE(1, 1, 4), 0, 21, 32, 43, 4);
  CHECK_VALUES(tsr_conv(x, w, NULL, &before), TSR_I32, TSR_SHAPE(1, 1, 4), 0, 10, 21, 32, 43);
  finish();
}

TEST(groups_are_convolved_by_themselves) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 2, 2), 1, 2, 3, 4), *w = list(TSR_F32, TSR_SHAPE(2, 1, 1), 10, 100);
  CHECK_VALUES(tsr_conv(x, w, NULL, &(tsr_conv_desc){.groups = 2}), TSR_F32, TSR_SHAPE(1, 2, 2), 0, 10, 20, 300, 400);
  finish();
}

TEST(channels_last_is_the_same_convolution) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 5, 6, 3), 1),
             *w = tsr_randn(dev, TSR_F32, TSR_SHAPE(4, 3, 3, 2), 2);
  tsr_tensor *last = tsr_conv(x, w, NULL, &(tsr_conv_desc){.channels_last = true});
  tsr_tensor *second = tsr_conv(tsr_moveaxis(x, -1, 1), w, NULL, NULL);
  tsr_tensor *difference = tsr_sub(tsr_moveaxis(last, -1, 1), second);
  CHECK_VALUES(tsr_norm(difference, INFINITY, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 0);
  finish();
}

TEST(conv_with_a_kernel_of_one_is_a_matrix_product) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(2, 7, 5), 1), *w = tsr_randn(dev, TSR_F64, TSR_SHAPE(3, 7, 1), 2);
  tsr_tensor *difference = tsr_sub(tsr_conv(x, w, NULL, NULL), tsr_matmul(tsr_squeeze(w, 2), x));
  CHECK_VALUES(tsr_norm(difference, INFINITY, NULL, 0, false), TSR_F64, TSR_SCALAR, 1e-13, 0);
  finish();
}

// With sizes beyond the blocks that the CPU works in.
TEST(conv_is_the_product_of_weights_and_columns_of_windows) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(3, 31, 33, 20), 1), *b = tsr_randn(dev, TSR_F64, TSR_SHAPE(18), 3),
             *w = tsr_randn(dev, TSR_F64, TSR_SHAPE(18, 31, 3, 4), 2);
  tsr_conv_desc desc = {.stride = {1, 2}, .dilation = {2, 1}, .before = {1, 2}, .after = {2, 0}};
  tsr_tensor *y = tsr_conv(x, w, b, &desc), *columns = tsr_im2col(x, TSR_SHAPE(3, 4), &desc);
  tsr_tensor *product =
      tsr_add(tsr_matmul(tsr_reshape(w, TSR_SHAPE(18, 31 * 12)), columns), tsr_reshape(b, TSR_SHAPE(18, 1)));
  tsr_tensor *difference = tsr_sub(tsr_reshape(y, tsr_tensor_shape(product)), product);
  CHECK_VALUES(tsr_norm(difference, INFINITY, NULL, 0, false), TSR_F64, TSR_SCALAR, 1e-12, 0);
  finish();
}

// sum of conv(x) * y is the sum of x * conv_transpose(y).
TEST(conv_transpose_is_the_adjoint_of_conv) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(2, 4, 9, 7), 1),
             *w = tsr_randn(dev, TSR_F64, TSR_SHAPE(6, 2, 3, 2), 2);
  tsr_conv_desc desc = {.stride = {2, 1}, .dilation = {1, 2}, .before = {1, 0}, .after = {1, 1}, .groups = 2};
  tsr_tensor *y = tsr_conv(x, w, NULL, &desc), *z = tsr_randn(dev, TSR_F64, tsr_tensor_shape(y), 3);
  tsr_tensor *there = tsr_sum(tsr_mul(y, z), NULL, 0, false);
  tsr_tensor *back = tsr_sum(tsr_mul(x, tsr_conv_transpose(z, w, NULL, &desc)), NULL, 0, false);
  CHECK_VALUES(tsr_sub(there, back), TSR_F64, TSR_SCALAR, 1e-11, 0);
  finish();
}

TEST(conv_needs_no_memory_beside_its_result) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 3, 96, 96), 1),
             *w = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 3, 5, 5), 2);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(w));
  tsr_memory_stats before, after;
  CHECK_OK(tsr_memory_get_stats(dev, &before));
  tsr_tensor *y = tsr_conv(x, w, NULL, NULL);
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_memory_get_stats(dev, &after));
  size_t result = (size_t)tsr_tensor_count(y) * 4;
  CHECK(after.peak_bytes <= before.peak_bytes + 2 * result);  // a matrix of windows would take 37 times as much
  finish();
}

TEST(conv_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 4, 5)), *w = tsr_zeros(dev, TSR_F32, TSR_SHAPE(6, 4, 7));
  CHECK_FAILS(tsr_conv(x, w, NULL, NULL), TSR_ERR_SHAPE,
              "a window of 7, dilation 1, is larger than spatial axis 0 of 5");
  CHECK_FAILS(tsr_conv(x, w, NULL, &(tsr_conv_desc){.groups = 3}), TSR_ERR_SHAPE, "3 groups do not divide 4 channels");
  CHECK_FAILS(tsr_conv(x, w, NULL, &(tsr_conv_desc){.groups = 2}), TSR_ERR_SHAPE, "its axis 1 must have 2");
  CHECK_FAILS(tsr_conv(x, w, x, &(tsr_conv_desc){.before = {5}}), TSR_ERR_SHAPE,
              "the bias is 1x4x5, the result has 6 channels");
  CHECK_FAILS(tsr_conv(x, w, NULL, &(tsr_conv_desc){.stride = {-1}}), TSR_ERR_SHAPE, "stride -1");
  CHECK_FAILS(tsr_conv(x, w, NULL, &(tsr_conv_desc){.before = {1}, .padding = TSR_PADDING_SAME}),
              TSR_ERR_INVALID_ARGUMENT, ".padding is worked out");
  CHECK_FAILS(tsr_conv(x, w, NULL, &(tsr_conv_desc){.output_padding = {1}}), TSR_ERR_INVALID_ARGUMENT,
              "does not read .output_padding");
  CHECK_FAILS(tsr_conv(tsr_zeros(dev, TSR_F32, TSR_SHAPE(4, 5)), w, NULL, NULL), TSR_ERR_SHAPE, "3 to 5 axes");
  CHECK_FAILS(tsr_conv_transpose(x, w, NULL, NULL), TSR_ERR_SHAPE, "its axis 0 must have 4");
  CHECK_FAILS(tsr_conv_transpose(x, tsr_zeros(dev, TSR_F32, TSR_SHAPE(4, 1, 1)), NULL, &(tsr_conv_desc){.before = {9}}),
              TSR_ERR_SHAPE, "padding 9 and 0");
  finish();
}

// A matrix of windows would be nine times as large as the image.
TEST(a_convolution_of_a_large_image_runs_within_its_input_and_result) {
  enum { SIZE = 1024 };
  begin();
  tsr_tensor *x = tsr_rand(dev, TSR_F32, TSR_SHAPE(1, 1, SIZE, SIZE), 1),
             *w = tsr_ones(dev, TSR_F32, TSR_SHAPE(1, 1, 3, 3));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(tsr_conv(x, w, NULL, &(tsr_conv_desc){.padding = TSR_PADDING_SAME})));
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(dev, &stats));
  CHECK(stats.peak_bytes <= 3 * (size_t)SIZE * SIZE * sizeof(float));
  finish();
}
