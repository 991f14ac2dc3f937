// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(batch_norm_takes_the_statistics_it_is_given) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 10, 3, 30);
  tsr_tensor *mean = list(TSR_F32, TSR_SHAPE(2), 1, 10), *variance = list(TSR_F32, TSR_SHAPE(2), 4, 100);
  CHECK_VALUES(tsr_batch_norm(x, mean, variance, NULL, NULL, 0), TSR_F32, TSR_SHAPE(2, 2), 0, 0, 0, 1, 2);
  CHECK_VALUES(tsr_batch_norm(x, mean, variance, mean, mean, 0), TSR_F32, TSR_SHAPE(2, 2), 0, 1, 10, 2, 30);
  CHECK_FAILS(tsr_batch_norm(x, NULL, variance, NULL, NULL, 0), TSR_ERR_INVALID_ARGUMENT, "batch_norm");
  CHECK_FAILS(tsr_batch_norm(x, mean, x, NULL, NULL, 0), TSR_ERR_SHAPE, "variance is 2x2, there are 2 channels");
  CHECK_FAILS(tsr_batch_norm(x, mean, variance, NULL, NULL, -1), TSR_ERR_INVALID_ARGUMENT, "eps is -1");
  CHECK_FAILS(tsr_batch_norm(mean, mean, variance, NULL, NULL, 0), TSR_ERR_SHAPE, "takes 2 axes or more, not [2]");
  finish();
}

TEST(group_norm_of_one_group_is_layer_norm_of_the_image) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 3, 4), 1);
  tsr_tensor *rows = tsr_layer_norm(tsr_reshape(x, TSR_SHAPE(2, 12)), NULL, NULL, 1e-5);
  tsr_tensor *difference = tsr_sub(tsr_reshape(tsr_group_norm(x, 1, NULL, NULL, 1e-5), TSR_SHAPE(2, 12)), rows);
  CHECK_VALUES(tsr_norm(difference, INFINITY, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 0);
  CHECK_FAILS(tsr_group_norm(x, 2, NULL, NULL, 1e-5), TSR_ERR_SHAPE, "group_norm: 2 groups do not divide 3 channels");
  CHECK_FAILS(tsr_group_norm(x, 0, NULL, NULL, 1e-5), TSR_ERR_SHAPE, "0 groups");
  finish();
}

TEST(instance_norm_is_of_each_channel_by_itself) {
  begin();
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(1, 2, 2), 1, 3, 100, 700), *bias = list(TSR_F64, TSR_SHAPE(2), 0, 5);
  CHECK_VALUES(tsr_instance_norm(x, NULL, bias, 0), TSR_F64, TSR_SHAPE(1, 2, 2), 1e-12, -1, 1, 4, 6);
  CHECK_FAILS(tsr_instance_norm(x, x, NULL, 0), TSR_ERR_SHAPE, "instance_norm: weight is 1x2x2");
  finish();
}

TEST(local_response_norm_divides_by_neighbouring_channels) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 3), 1, 2, 3);
  CHECK_VALUES(tsr_local_response_norm(x, 3, 3, 1, 1), TSR_F32, TSR_SHAPE(1, 3), 1e-6, 1.0 / 6, 2.0 / 15, 3.0 / 14);
  CHECK_VALUES(tsr_local_response_norm(x, 2, 2, 1, 1), TSR_F32, TSR_SHAPE(1, 3), 1e-6, 1.0 / 6, 2.0 / 14, 3.0 / 10);
  CHECK_FAILS(tsr_local_response_norm(x, 0, 1, 1, 1), TSR_ERR_INVALID_ARGUMENT, "a neighbourhood of 0 channels");
  finish();
}

// The variance that is kept is divided by n - 1, as PyTorch's is: 2, where the one of x is 1.
TEST(training_updates_running_statistics_in_place) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 10, 3, 30), *normed = NULL;
  tsr_tensor *mean = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2)), *variance = tsr_ones(dev, TSR_F32, TSR_SHAPE(2));
  CHECK_OK(tsr_batch_norm_train(x, mean, variance, NULL, NULL, 0.5, 0, &normed));
  CHECK_VALUES(normed, TSR_F32, TSR_SHAPE(2, 2), 1e-6, -1, -1, 1, 1);
  CHECK_VALUES(mean, TSR_F32, TSR_SHAPE(2), 1e-6, 1, 10);
  CHECK_VALUES(variance, TSR_F32, TSR_SHAPE(2), 1e-4, 1.5, 100.5);
  CHECK_OK(tsr_batch_norm_train(x, NULL, NULL, NULL, NULL, 0, 0, &normed));
  finish();
}

TEST(training_refuses_what_has_no_statistics) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3)), *two = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2)), *normed = x;
  CHECK_STATUS(tsr_batch_norm_train(x, two, NULL, NULL, NULL, 0.1, 0, &normed), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("running_mean is [2], there are 3 channels");
  CHECK(!normed);
  CHECK_STATUS(tsr_batch_norm_train(x, NULL, NULL, NULL, NULL, 2, 0, &normed), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("momentum is 2");
  CHECK_STATUS(tsr_batch_norm_train(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3)), NULL, NULL, NULL, NULL, 0, 0, &normed),
               TSR_ERR_SHAPE);
  finish();
}
