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

TEST(view_takes_a_key_of_indices_ranges_and_new_axes) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3, 4));
  CHECK_VALUES(tsr_view(x, (tsr_key[]){TSR_AT(-1), TSR_RANGE(1, TSR_END), TSR_AT(2)}, 3), TSR_I32, TSR_SHAPE(2), 0, 18,
               22);
  tsr_key backwards[] = {TSR_AT(0), TSR_AT(1), {TSR_KEY_RANGE, TSR_END, TSR_END, -2}};
  CHECK_VALUES(tsr_view(x, backwards, 3), TSR_I32, TSR_SHAPE(2), 0, 7, 5);
  tsr_tensor *wider = tsr_view(x, (tsr_key[]){TSR_NEW_AXIS, TSR_AT(1), TSR_NEW_AXIS}, 3);
  CHECK_EQ_INT(tsr_tensor_shape(wider).rank, 4);
  CHECK_EQ_INT(tsr_tensor_shape(wider).dims[3], 4);
  CHECK(tsr_tensor_shares_memory(wider, x) && tsr_tensor_is_contiguous(wider));
  CHECK_EMPTY(tsr_view(x, (tsr_key[]){TSR_RANGE(5, 1)}, 1), TSR_I32, TSR_SHAPE(0, 3, 4));
  CHECK_EQ_INT(tsr_tensor_count(tsr_view(x, NULL, 0)), 24);
  finish();
}

TEST(view_refuses_a_key_that_the_tensor_has_no_axes_for) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3));
  CHECK_FAILS(tsr_view(x, (tsr_key[]){TSR_AT(0), TSR_AT(0), TSR_AT(0)}, 3), TSR_ERR_SHAPE, "too many items");
  CHECK_FAILS(tsr_view(x, (tsr_key[]){TSR_AT(0), TSR_AT(3)}, 2), TSR_ERR_SHAPE,
              "index 3 is out of bounds for axis 1 with size 3");
  CHECK_FAILS(tsr_view(x, (tsr_key[]){TSR_AT(-3)}, 1), TSR_ERR_SHAPE, "index -3 is out of bounds");
  CHECK_FAILS(tsr_view(x, (tsr_key[]){{TSR_KEY_RANGE, 0, 1, 0}}, 1), TSR_ERR_INVALID_ARGUMENT, "step is 0");
  CHECK_FAILS(tsr_view(x, (tsr_key[]){{(tsr_key_kind)7, 0, 1, 1}}, 1), TSR_ERR_INVALID_ARGUMENT, "no known kind");
  CHECK_FAILS(tsr_view(x, NULL, 1), TSR_ERR_INVALID_ARGUMENT, "no items");
  tsr_key many[7];
  for (int i = 0; i < 7; i++) many[i] = TSR_NEW_AXIS;
  CHECK_FAILS(tsr_view(x, many, 7), TSR_ERR_SHAPE, "at most 8 axes");
  finish();
}
