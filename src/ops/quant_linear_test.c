// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(quantize_linear_rounds_halves_to_even_and_saturates) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 3), 1, 3, 5, -1000, NAN, INFINITY), *scale = list(TSR_F32, TSR_SCALAR, 2);
  tsr_tensor *zero = list(TSR_U8, TSR_SCALAR, 128);
  CHECK_VALUES(tsr_quantize_linear(x, scale, zero, 0, TSR_U8), TSR_U8, TSR_SHAPE(2, 3), 0, 128, 130, 130, 0, 0, 255);
  CHECK_VALUES(tsr_quantize_linear(x, scale, NULL, 0, TSR_I8), TSR_I8, TSR_SHAPE(2, 3), 0, 0, 2, 2, -128, 0, 127);
  CHECK_VALUES(tsr_quantize_linear(x, scale, zero, 0, TSR_U16), TSR_U16, TSR_SHAPE(2, 3), 0, 128, 130, 130, 0, 0,
               65535);
  CHECK_VALUES(tsr_quantize_linear(tsr_mul_scalar(x, 1000), scale, NULL, 0, TSR_I16), TSR_I16, TSR_SHAPE(2, 3), 0, 500,
               1500, 2500, -32768, 0, 32767);
  finish();
}

TEST(scales_go_along_an_axis_or_belong_to_blocks_of_it) {
  begin();
  tsr_tensor *x = list(TSR_I8, TSR_SHAPE(2, 4), 1, 2, 3, 4, 5, 6, 7, 8);
  tsr_tensor *rows = list(TSR_F32, TSR_SHAPE(2), 1, 10), *columns = list(TSR_F16, TSR_SHAPE(4), 1, 2, 3, 4);
  tsr_tensor *blocks = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4), *zeros = list(TSR_I8, TSR_SHAPE(2, 2), 1, 0, 0, 8);
  CHECK_VALUES(tsr_dequantize_linear(x, rows, NULL, 0), TSR_F32, TSR_SHAPE(2, 4), 0, 1, 2, 3, 4, 50, 60, 70, 80);
  CHECK_VALUES(tsr_dequantize_linear(x, columns, NULL, 1), TSR_F16, TSR_SHAPE(2, 4), 0, 1, 4, 9, 16, 5, 12, 21, 32);
  CHECK_VALUES(tsr_dequantize_linear(x, blocks, zeros, 1), TSR_F32, TSR_SHAPE(2, 4), 0, 0, 1, 6, 8, 15, 18, -4, 0);
  CHECK_FAILS(tsr_dequantize_linear(x, rows, NULL, 1), TSR_ERR_SHAPE, "x is 2x4, the scale is [2]");
  CHECK_FAILS(tsr_dequantize_linear(x, rows, zeros, 0), TSR_ERR_SHAPE, "the scale is [2], the zero point is 2x2");
  CHECK_FAILS(tsr_dequantize_linear(x, x, NULL, 0), TSR_ERR_DTYPE, "the scale is a float, not i8");
  CHECK_FAILS(tsr_quantize_linear(x, rows, NULL, 0, TSR_F32), TSR_ERR_DTYPE, "gives u8, i8, u16 or i16, not f32");
  CHECK_FAILS(tsr_quantize_linear(x, rows, NULL, 7, TSR_U8), TSR_ERR_SHAPE, "there is no axis 7, x is 2x4");
  finish();
}

TEST(quantising_what_was_dequantised_changes_nothing) {
  begin();
  tsr_tensor *q = tsr_randint(dev, TSR_I8, TSR_SHAPE(7, 33), -128, 128, 1), *same = NULL;
  tsr_tensor *scale = tsr_add_scalar(tsr_rand(dev, TSR_F32, TSR_SHAPE(7), 2), 0.1);
  tsr_tensor *zero = tsr_randint(dev, TSR_I8, TSR_SHAPE(7), -20, 20, 3);
  same = tsr_quantize_linear(tsr_dequantize_linear(q, scale, zero, 0), scale, zero, 0, TSR_I8);
  int64_t is_equal = 0;
  CHECK_OK(tsr_item_int(tsr_all(tsr_eq(q, same), NULL, 0, false), &is_equal));
  CHECK(is_equal);
  finish();
}

TEST(dynamic_quantisation_keeps_zero_a_whole_number) {
  begin();
  tsr_tensor *y, *scale, *zero;
  CHECK_OK(tsr_dynamic_quantize_linear(list(TSR_F32, TSR_SHAPE(4), 0, 2, -3, -2.4), &y, &scale, &zero));
  CHECK_VALUES(scale, TSR_F32, TSR_SCALAR, 1e-8, 5.0 / 255);
  CHECK_VALUES(zero, TSR_U8, TSR_SCALAR, 0, 153);
  CHECK_VALUES(y, TSR_U8, TSR_SHAPE(4), 0, 153, 255, 0, 31);
  CHECK_OK(tsr_dynamic_quantize_linear(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2)), &y, &scale, NULL));
  CHECK_VALUES(scale, TSR_F32, TSR_SCALAR, 0, 1);
  CHECK_VALUES(y, TSR_U8, TSR_SHAPE(2), 0, 0, 0);
  CHECK_OK(tsr_dynamic_quantize_linear(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), &y, &scale, NULL));
  CHECK_EMPTY(y, TSR_U8, TSR_SHAPE(0));
  finish();
}

TEST(channels_have_scales_of_their_own_and_zeros_have_1) {
  begin();
  tsr_tensor *values, *scale;
  CHECK_OK(tsr_quantize_channels(list(TSR_F32, TSR_SHAPE(3, 2), 254, -2, 0, 0, 0.5, -1), 0, &values, &scale));
  CHECK_VALUES(values, TSR_I8, TSR_SHAPE(3, 2), 0, 127, -1, 0, 0, 64, -127);
  CHECK_VALUES(scale, TSR_F32, TSR_SHAPE(3), 1e-8, 2, 1, 1.0 / 127);
  tsr_tensor *y = tsr_matmul_channels(list(TSR_F16, TSR_SHAPE(2), 300, 2), values, scale);  // 300 * 127 * 2 exceeds f16
  CHECK_VALUES(y, TSR_F16, TSR_SHAPE(3), 0.1, INFINITY, 0, 149.125);
  finish();
}

TEST(integer_products_subtract_zero_points_of_rows_and_columns) {
  begin();
  tsr_tensor *a = list(TSR_U8, TSR_SHAPE(2, 3), 255, 1, 2, 3, 4, 5),
             *b = list(TSR_I8, TSR_SHAPE(3, 2), -128, 1, 2, 3, 4, 5);
  tsr_tensor *rows = list(TSR_U8, TSR_SHAPE(2), 1, 3), *columns = list(TSR_I8, TSR_SHAPE(2), -1, 2);
  CHECK_VALUES(tsr_matmul_integer(a, b, rows, columns), TSR_I32, TSR_SHAPE(2, 2), 0, 254 * -127 + 0 + 1 * 5,
               254 * -1 + 0 + 1 * 3, 0 + 1 * 3 + 2 * 5, 0 + 1 * 1 + 2 * 3);
  CHECK_FAILS(tsr_matmul_integer(a, a, NULL, NULL), TSR_ERR_SHAPE, "a is 2x3, b is 2x3");
  CHECK_FAILS(tsr_matmul_integer(a, b, list(TSR_U8, TSR_SHAPE(3), 0, 0, 0), NULL), TSR_ERR_SHAPE,
              "the zero point of a is [3]; it is one number or 2");
  CHECK_FAILS(tsr_matmul_integer(tsr_cast(a, TSR_I32), b, NULL, NULL), TSR_ERR_DTYPE, "a is i8 or u8, not i32");
  finish();
}

TEST(padding_of_an_integer_convolution_counts_as_the_zero_point) {
  begin();
  tsr_tensor *x = list(TSR_U8, TSR_SHAPE(1, 1, 2), 130, 120), *w = list(TSR_I8, TSR_SHAPE(1, 1, 3), 1, 2, 3);
  tsr_tensor *y =
      tsr_conv_integer(x, w, list(TSR_U8, TSR_SCALAR, 128), NULL, &(tsr_conv_desc){.before = {1}, .after = {1}});
  CHECK_VALUES(y, TSR_I32, TSR_SHAPE(1, 1, 2), 0, 2 * 2 - 8 * 3, 2 * 1 - 8 * 2);
  finish();
}
