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
