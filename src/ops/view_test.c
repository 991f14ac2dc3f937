// SPDX-License-Identifier: MIT
// Views that only operators of ops.h give; those of tensor.h are tested in core/layout_test.c.
#include "ops/ops_testing.h"

TEST(diagonal_is_a_view_that_can_be_written) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3)), *above = tsr_diagonal(x, 1, 0, 1);
  CHECK(tsr_tensor_shares_memory(x, above));
  CHECK_OK(tsr_assign(above, list(TSR_F32, TSR_SHAPE(2), 7, 8)));
  CHECK_VALUES(x, TSR_F32, TSR_SHAPE(2, 3), 0, 0, 7, 0, 0, 0, 8);
  CHECK_VALUES(tsr_diagonal(x, 1, 1, 0), TSR_F32, TSR_SHAPE(1), 0, 0);
  finish();
}

TEST(diagonal_of_two_axes_comes_last) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 2, 3));
  CHECK_VALUES(tsr_diagonal(x, 0, 0, 1), TSR_I32, TSR_SHAPE(3, 2), 0, 0, 9, 1, 10, 2, 11);
  CHECK_VALUES(tsr_diagonal(x, -1, 1, 2), TSR_I32, TSR_SHAPE(2, 1), 0, 3, 9);
  CHECK_EMPTY(tsr_diagonal(x, INT64_MIN, 1, 2), TSR_I32, TSR_SHAPE(2, 0));
  CHECK_EMPTY(tsr_diagonal(x, INT64_MAX, 1, 2), TSR_I32, TSR_SHAPE(2, 0));
  CHECK_FAILS(tsr_diagonal(x, 0, 1, -2), TSR_ERR_INVALID_ARGUMENT, "diagonal: axis 1 is named twice");
  CHECK_FAILS(tsr_diagonal(x, 0, 0, 3), TSR_ERR_SHAPE, "axis 3 is out of range");
  finish();
}

TEST(trace_is_the_sum_of_the_diagonal) {
  begin();
  CHECK_VALUES(tsr_trace(count_up(TSR_I8, TSR_SHAPE(3, 3)), 0, 0, 1), TSR_I32, TSR_SCALAR, 0, 12);
  CHECK_VALUES(tsr_trace(count_up(TSR_F32, TSR_SHAPE(2, 2, 2)), 0, 1, 2), TSR_F32, TSR_SHAPE(2), 0, 3, 11);
  CHECK_VALUES(tsr_trace(count_up(TSR_F32, TSR_SHAPE(2, 2)), 5, 0, 1), TSR_F32, TSR_SCALAR, 0, 0);
  CHECK_FAILS(tsr_trace(count_up(TSR_F32, TSR_SHAPE(2)), 0, 0, 1), TSR_ERR_SHAPE, "trace");
  finish();
}

TEST(moveaxis_keeps_the_order_of_the_others) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3, 4));
  CHECK(tsr_tensor_shape(tsr_moveaxis(x, 0, -1)).dims[2] == 2 && tsr_tensor_shape(tsr_moveaxis(x, 0, 2)).dims[0] == 3);
  CHECK(tsr_tensor_shape(tsr_moveaxis(x, 2, 0)).dims[0] == 4 && tsr_tensor_shape(tsr_moveaxis(x, 2, 0)).dims[1] == 2);
  CHECK_FAILS(tsr_moveaxis(x, 0, 3), TSR_ERR_SHAPE, "moveaxis: axis 3 is out of range");
  finish();
}

TEST(rot90_four_times_changes_nothing) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(2, 2), 1, 2, 3, 4);
  CHECK_VALUES(tsr_rot90(x, 1, 0, 1), TSR_I32, TSR_SHAPE(2, 2), 0, 2, 4, 1, 3);
  CHECK_VALUES(tsr_rot90(x, -1, 0, 1), TSR_I32, TSR_SHAPE(2, 2), 0, 3, 1, 4, 2);
  CHECK_VALUES(tsr_rot90(x, 2, 0, 1), TSR_I32, TSR_SHAPE(2, 2), 0, 4, 3, 2, 1);
  CHECK_VALUES(tsr_rot90(x, 4, 0, 1), TSR_I32, TSR_SHAPE(2, 2), 0, 1, 2, 3, 4);
  CHECK_VALUES(tsr_rot90(x, 1, 1, 0), TSR_I32, TSR_SHAPE(2, 2), 0, 3, 1, 4, 2);
  CHECK_FAILS(tsr_rot90(x, 1, 1, 1), TSR_ERR_INVALID_ARGUMENT, "rot90: axis 1 is named twice");
  finish();
}
