// SPDX-License-Identifier: MIT
#include <string.h>

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

// 0 and 1 at once in another dtype, and dropout with what follows it, are one launch on GPUs; elements are those of the mask. Rows of 8 are stored in quads, those of 7 one by one; but in quads, with three elements left over, if no row is added.
static void check_fused(tsr_device *device) {
  static const char *const backends[] = {"vulkan", "opencl", "webgpu", "cuda"};
  bool is_gpu = false;
  for (int i = 0; i < 4; i++) is_gpu |= strcmp(tsr_device_backend(device), backends[i]) == 0;
  for (int64_t n = 7; n <= 8 && test_device_computes(device); n++) {
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_shape shape = TSR_SHAPE(9, n);
    tsr_tensor *x = tsr_rand(device, TSR_F32, shape, 1), *row = tsr_rand(device, TSR_F32, TSR_SHAPE(n), 2);
    tsr_tensor *mask = tsr_bernoulli(device, TSR_BOOL, shape, 0.25, 9);
    tsr_tensor *given[] = {x, row, mask};
    for (int i = 0; i < 3; i++) CHECK_OK(tsr_evaluate(given[i]));
    tsr_device_counters before, after;
    CHECK_OK(tsr_device_get_counters(device, &before));
    tsr_tensor *y = tsr_add(tsr_dropout(x, 0.25, 9), row), *ones = tsr_bernoulli(device, TSR_F16, shape, 0.25, 9);
    tsr_tensor *twice = tsr_add(tsr_dropout(x, 0.25, 9), x);
    CHECK_OK(tsr_evaluate(y));
    CHECK_OK(tsr_evaluate(ones));
    CHECK_OK(tsr_evaluate(twice));
    CHECK_OK(tsr_device_get_counters(device, &after));
    if (is_gpu) CHECK_EQ_UINT(after.launches - before.launches, 3);
    tsr_tensor *dropped = tsr_masked_fill(tsr_mul_scalar(x, 1 / 0.75), mask, 0);
    tsr_tensor *are_equal = tsr_logical_and(tsr_eq(y, tsr_add(dropped, row)), tsr_eq(ones, tsr_cast(mask, TSR_F16)));
    are_equal = tsr_logical_and(are_equal, tsr_eq(twice, tsr_add(dropped, x)));
    double share = 0;
    CHECK_OK(tsr_item(tsr_mean(tsr_cast(are_equal, TSR_F32), NULL, 0, false), &share));
    CHECK_NEAR(share, 1, 0);
    tsr_scope_end(scope);
  }
}

TEST(dropout_and_what_follows_it_are_one_launch_on_gpus) { test_on_every_device(check_fused); }
