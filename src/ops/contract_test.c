// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(tensordot_sums_over_named_pairs_of_axes) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(3, 2));
  CHECK_VALUES(tsr_tensordot(a, b, (int[]){1}, (int[]){0}, 1), TSR_F32, TSR_SHAPE(2, 2), 0, 10, 13, 28, 40);
  CHECK_VALUES(tsr_tensordot(a, b, (int[]){-1, 0}, (int[]){0, 1}, 2), TSR_F32, TSR_SCALAR, 0, 50);
  CHECK_VALUES(tsr_tensordot(list(TSR_I8, TSR_SHAPE(2), 1, 2), list(TSR_I32, TSR_SHAPE(2), 3, 4), NULL, NULL, 0),
               TSR_I32, TSR_SHAPE(2, 2), 0, 3, 4, 6, 8);
  finish();
}

TEST(tensordot_over_nothing_is_zero) {
  begin();
  tsr_tensor *a = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), *b = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 1));
  CHECK_VALUES(tsr_tensordot(a, b, (int[]){1}, (int[]){0}, 1), TSR_F32, TSR_SHAPE(2, 1), 0, 0, 0);
  finish();
}

TEST(tensordot_refuses_axes_that_do_not_fit) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(4, 2));
  CHECK_FAILS(tsr_tensordot(a, b, (int[]){1}, (int[]){0}, 1), TSR_ERR_SHAPE,
              "tensordot: sizes differ, axis 1 of a has 3, axis 0 of b has 4");
  CHECK_FAILS(tsr_tensordot(a, b, (int[]){0, -2}, (int[]){1, 1}, 2), TSR_ERR_SHAPE, "axis 0 is named twice");
  CHECK_FAILS(tsr_tensordot(a, b, (int[]){2}, (int[]){0}, 1), TSR_ERR_SHAPE, "axis 2 is out of range");
  CHECK_FAILS(tsr_tensordot(a, b, NULL, (int[]){0}, 1), TSR_ERR_INVALID_ARGUMENT, "may be NULL");
  CHECK_FAILS(tsr_tensordot(a, b, NULL, NULL, -1), TSR_ERR_INVALID_ARGUMENT, "-1 axes");
  tsr_tensor *deep = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 1, 1));
  CHECK_FAILS(tsr_tensordot(deep, deep, NULL, NULL, 0), TSR_ERR_SHAPE, "would have 10 axes");
  finish();
}

TEST(kron_puts_one_in_place_of_each_element_of_the_other) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(1, 2), 1, 10), *b = list(TSR_I32, TSR_SHAPE(2, 1), 3, 4);
  CHECK_VALUES(tsr_kron(a, b), TSR_I32, TSR_SHAPE(2, 2), 0, 3, 30, 4, 40);
  CHECK_VALUES(tsr_kron(list(TSR_F32, TSR_SHAPE(2), 1, 2), a), TSR_F32, TSR_SHAPE(1, 4), 0, 1, 10, 2, 20);
  CHECK_FAILS(tsr_kron(tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 1, 1)), a), TSR_ERR_UNSUPPORTED,
              "kron: takes up to 4 axes, not 5");
  CHECK_FAILS(tsr_kron(tsr_zeros(dev, TSR_BOOL, TSR_SHAPE(2)), tsr_zeros(dev, TSR_BOOL, TSR_SHAPE(2))), TSR_ERR_DTYPE,
              "kron: takes numbers, not bool");
  finish();
}

TEST(cross_is_perpendicular_to_both) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3), 1, 2, 3), *y = list(TSR_F32, TSR_SHAPE(2, 3), 4, 5, 6, 0, 0, 1);
  tsr_tensor *z = tsr_cross(x, y, -1);
  CHECK_VALUES(z, TSR_F32, TSR_SHAPE(2, 3), 0, -3, 6, -3, 2, -1, 0);
  CHECK_VALUES(tsr_sum(tsr_mul(z, y), TSR_AXES(1), false), TSR_F32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_FAILS(tsr_cross(list(TSR_F32, TSR_SHAPE(2), 1, 2), y, -1), TSR_ERR_SHAPE, "cross: a is [2]");
  CHECK_FAILS(tsr_cross(y, x, 0), TSR_ERR_SHAPE, "axis 2 from the end must have 3 elements");
  finish();
}
