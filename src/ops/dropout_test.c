// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(bernoulli_is_repeatable_and_as_frequent_as_asked_for) {
  begin();
  tsr_tensor *x = tsr_bernoulli(dev, TSR_BOOL, TSR_SHAPE(4000), 0.25, 7);
  double share = 0;
  CHECK_OK(tsr_item(tsr_mean(x, NULL, 0, false), &share));
  CHECK(share > 0.21 && share < 0.29);
  tsr_tensor *again = tsr_bernoulli(dev, TSR_BOOL, TSR_SHAPE(4000), 0.25, 7);
  CHECK_VALUES(tsr_all(tsr_eq(x, again), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_bernoulli(dev, TSR_I32, TSR_SHAPE(2), 0, 1), TSR_I32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_VALUES(tsr_bernoulli(dev, TSR_F16, TSR_SHAPE(2), 1, 1), TSR_F16, TSR_SHAPE(2), 0, 1, 1);
  CHECK_FAILS(tsr_bernoulli(dev, TSR_I32, TSR_SHAPE(2), 1.5, 1), TSR_ERR_INVALID_ARGUMENT, "bernoulli: p is 1.5");
  finish();
}

TEST(bernoulli_is_1_where_the_uniform_number_is_below_p) {
  begin();
  static const double shares[] = {0, 1e-9, 0.1, 0.25, 0.7, 0.99999999, 1};
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    tsr_shape shape = TSR_SHAPE(4001);
    tsr_tensor *is_below = tsr_lt_scalar(tsr_rand(dev, TSR_F32, shape, 11), shares[i]);
    tsr_tensor *found = tsr_bernoulli(dev, TSR_BOOL, shape, shares[i], 11);
    CHECK_VALUES(tsr_all(tsr_eq(found, is_below), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  }
  finish();
}

TEST(dropout_keeps_the_sum_on_average) {
  begin();
  tsr_tensor *x = tsr_ones(dev, TSR_F32, TSR_SHAPE(4000)), *y = tsr_dropout(x, 0.5, 3);
  double mean = 0, most = 0;
  CHECK_OK(tsr_item(tsr_mean(y, NULL, 0, false), &mean));
  CHECK_OK(tsr_item(tsr_max(y, NULL, 0, false), &most));
  CHECK(mean > 0.93 && mean < 1.07 && most == 2);
  CHECK_VALUES(tsr_dropout(list(TSR_I32, TSR_SHAPE(2), 3, 4), 0, 1), TSR_F32, TSR_SHAPE(2), 0, 3, 4);
  CHECK_VALUES(tsr_dropout(list(TSR_F32, TSR_SHAPE(2), NAN, INFINITY), 1, 1), TSR_F32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_FAILS(tsr_dropout(x, NAN, 1), TSR_ERR_INVALID_ARGUMENT, "dropout: p is");
  finish();
}
