// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(median_of_an_even_count_is_the_mean_of_the_middle_two) {
  begin();
  CHECK_VALUES(tsr_median(list(TSR_I32, TSR_SHAPE(4), 9, 1, 2, 5), 0, false), TSR_F32, TSR_SCALAR, 0, 3.5);
  CHECK_VALUES(tsr_median(list(TSR_F32, TSR_SHAPE(2, 3), 3, 1, 2, 6, 5, 4), -1, true), TSR_F32, TSR_SHAPE(2, 1), 0, 2,
               5);
  CHECK_VALUES(tsr_median(list(TSR_F32, TSR_SHAPE(2, 3), 3, 1, 2, 6, 5, 4), 0, false), TSR_F32, TSR_SHAPE(3), 0, 4.5, 3,
               3);
  finish();
}

TEST(quantile_interpolates_between_neighbours) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(5), 50, 10, 40, 20, 30);
  CHECK_VALUES(tsr_quantile(x, 0, 0, false), TSR_F32, TSR_SCALAR, 0, 10);
  CHECK_VALUES(tsr_quantile(x, 1, 0, false), TSR_F32, TSR_SCALAR, 0, 50);
  CHECK_VALUES(tsr_quantile(x, 0.25, 0, false), TSR_F32, TSR_SCALAR, 0, 20);
  CHECK_VALUES(tsr_quantile(x, 0.375, 0, true), TSR_F32, TSR_SHAPE(1), 0, 25);
  finish();
}

TEST(quantile_of_nan_is_nan_and_infinities_stay) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3, 2), NAN, 1, INFINITY, INFINITY, 1, INFINITY);
  CHECK_VALUES(tsr_quantile(x, 0.5, 1, false), TSR_F32, TSR_SHAPE(3), 0, NAN, INFINITY, INFINITY);
  CHECK_VALUES(tsr_quantile(x, 0, 1, false), TSR_F32, TSR_SHAPE(3), 0, NAN, INFINITY, 1);
  finish();
}

TEST(quantile_refuses_what_has_no_answer) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2), 1, 2);
  CHECK_FAILS(tsr_quantile(x, 1.5, 0, false), TSR_ERR_INVALID_ARGUMENT, "quantile: q is 1.5");
  CHECK_FAILS(tsr_quantile(x, NAN, 0, false), TSR_ERR_INVALID_ARGUMENT, "quantile: q is");
  CHECK_FAILS(tsr_median(tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 0)), 1, false), TSR_ERR_SHAPE,
              "median: axis 1 of 3x0 has no elements");
  CHECK_FAILS(tsr_median(x, 1, false), TSR_ERR_SHAPE, "axis 1 is out of range");
  finish();
}
