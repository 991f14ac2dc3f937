// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(item_reads_one_number_of_any_dtype_and_rank) {
  begin();
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    double value = 7;
    CHECK_OK(tsr_item(tsr_ones(dev, (tsr_dtype)i, TSR_SHAPE(1, 1, 1)), &value));
    CHECK_NEAR(value, 1, 0);
  }
  double sum = 0;
  CHECK_OK(tsr_item(tsr_sum(count_up(TSR_F32, TSR_SHAPE(2, 3)), TSR_AXES(0, 1), false), &sum));
  CHECK_NEAR(sum, 15, 0);
  CHECK_OK(tsr_item(tsr_slice(count_up(TSR_F16, TSR_SHAPE(5)), 0, 3, 4, 1), &sum));
  CHECK_NEAR(sum, 3, 0);
  int64_t whole = 0;
  CHECK_OK(tsr_item_int(tsr_full_int(dev, TSR_I64, TSR_SCALAR, INT64_MAX), &whole));
  CHECK_EQ_INT(whole, INT64_MAX);
  CHECK_OK(tsr_item_int(tsr_ones(dev, TSR_BOOL, TSR_SCALAR), &whole));
  CHECK_EQ_INT(whole, 1);
  finish();
}

TEST(item_refuses_what_is_not_one_number) {
  begin();
  double value = 5;
  int64_t whole = 5;
  CHECK_STATUS(tsr_item(count_up(TSR_F32, TSR_SHAPE(2)), &value), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("one element, not [2]");
  CHECK_NEAR(value, 0, 0);
  CHECK_STATUS(tsr_item(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), &value), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_item_int(tsr_ones(dev, TSR_F32, TSR_SCALAR), &whole), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("tsr_item reads floats");
  CHECK_EQ_INT(whole, 0);
  CHECK_STATUS(tsr_item(NULL, &value), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_item(tsr_ones(dev, TSR_F32, TSR_SCALAR), NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_item_int(tsr_ones(dev, TSR_I32, TSR_SCALAR), NULL), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

TEST(axes_are_written_where_they_are_used) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3, 2));
  CHECK_VALUES(tsr_sum(x, TSR_AXES(0, 2), false), TSR_I32, TSR_SHAPE(3), 0, 14, 22, 30);
  CHECK_VALUES(tsr_max(x, TSR_AXES(-1), true), TSR_I32, TSR_SHAPE(2, 3, 1), 0, 1, 3, 5, 7, 9, 11);
  CHECK_EQ_INT(tsr_tensor_shape(tsr_permute(x, TSR_AXES(1, 0, 2))).dims[0], 3);
  finish();
}
