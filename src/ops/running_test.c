// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(running_extremes_name_the_first_of_equal_ones) {
  begin();
  tsr_tensor *values = NULL, *indices = NULL;
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(6), 2, 1, 2, 3, 3, -1);
  CHECK_OK(tsr_cummax(x, 0, &values, &indices));
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(6), 0, 2, 2, 2, 3, 3, 3);
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(6), 0, 0, 0, 0, 3, 3, 3);
  CHECK_OK(tsr_cummin(x, -1, &values, &indices));
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(6), 0, 2, 1, 1, 1, 1, -1);
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(6), 0, 0, 1, 1, 1, 1, 5);
  finish();
}

TEST(running_extremes_stay_nan_from_the_first_nan_on) {
  begin();
  tsr_tensor *values = NULL, *indices = NULL;
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(5), 1, NAN, 7, NAN, 9);
  CHECK_OK(tsr_cummin(x, 0, &values, &indices));
  CHECK_VALUES(values, TSR_F64, TSR_SHAPE(5), 0, 1, NAN, NAN, NAN, NAN);
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(5), 0, 0, 1, 1, 1, 1);
  finish();
}

TEST(running_extremes_of_columns_bools_and_nothing) {
  begin();
  tsr_tensor *values = NULL, *indices = NULL;
  CHECK_OK(tsr_cummax(list(TSR_BOOL, TSR_SHAPE(3, 2), 0, 1, 1, 0, 0, 1), 0, &values, &indices));
  CHECK_VALUES(values, TSR_BOOL, TSR_SHAPE(3, 2), 0, 0, 1, 1, 1, 1, 1);
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(3, 2), 0, 0, 0, 1, 0, 1, 0);
  CHECK_OK(tsr_cummax(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2)), 0, &values, &indices));
  CHECK_EMPTY(values, TSR_F32, TSR_SHAPE(0, 2));
  CHECK_EMPTY(indices, TSR_I32, TSR_SHAPE(0, 2));
  finish();
}

TEST(running_extremes_take_one_result_or_none) {
  begin();
  tsr_tensor *indices = NULL, *failed = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1));
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(3), 1, 5, 2);
  CHECK_OK(tsr_cummax(x, 0, NULL, &indices));
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(3), 0, 0, 1, 1);
  CHECK_OK(tsr_cummax(x, 0, NULL, NULL));
  CHECK_STATUS(tsr_cummax(x, 1, &failed, NULL), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("cummax: ");
  CHECK(failed == NULL);
  finish();
}

TEST(logcumsumexp_neither_overflows_nor_loses_small_beginnings) {
  begin();
  CHECK_VALUES(tsr_logcumsumexp(list(TSR_F32, TSR_SHAPE(3), -1000, 1000, 1000), 0), TSR_F32, TSR_SHAPE(3), 1e-4, -1000,
               1000, 1000 + 0.69314718);
  CHECK_VALUES(tsr_logcumsumexp(list(TSR_I32, TSR_SHAPE(3), 0, 0, 0), 0), TSR_F32, TSR_SHAPE(3), 1e-6, 0, 0.69314718,
               1.09861229);
  CHECK_VALUES(tsr_logcumsumexp(list(TSR_F32, TSR_SHAPE(3), -INFINITY, -INFINITY, 2), 0), TSR_F32, TSR_SHAPE(3), 0,
               -INFINITY, -INFINITY, 2);
  finish();
}
