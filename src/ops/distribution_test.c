// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

// Checks mean and variance of 100,000 random numbers. The tolerance, `share`, is about six standard deviations of a sample's mean and variance.
static void check_moments(tsr_tensor *x, double mean, double variance, double share) {
  double found = 0;
  CHECK_OK(tsr_item(tsr_mean(x, NULL, 0, false), &found));
  CHECK_NEAR(found, mean, share * sqrt(variance));
  CHECK_OK(tsr_item(tsr_var(x, NULL, 0, false, 1), &found));
  CHECK_NEAR(found, variance, 3 * share * variance);
}

#define MANY TSR_SHAPE(100000)

TEST(distributions_have_their_mean_and_variance) {
  begin();
  check_moments(tsr_rand_exponential(dev, TSR_F32, MANY, 2, 1), 2, 4, 0.02);
  check_moments(tsr_rand_gamma(dev, TSR_F32, MANY, 4, 0.5, 2), 2, 1, 0.02);
  check_moments(tsr_rand_gamma(dev, TSR_F32, MANY, 0.5, 1, 3), 0.5, 0.5, 0.03);
  check_moments(tsr_rand_gamma(dev, TSR_F64, MANY, 10000, 1, 4), 10000, 10000, 0.02);
  check_moments(tsr_rand_poisson(dev, TSR_F32, MANY, 3, 5), 3, 3, 0.02);
  check_moments(tsr_rand_poisson(dev, TSR_F64, MANY, 1e6, 6), 1e6, 1e6, 0.02);
  check_moments(tsr_rand_truncated_normal(dev, TSR_F32, MANY, -INFINITY, INFINITY, 7), 0, 1, 0.02);
  check_moments(tsr_rand_truncated_normal(dev, TSR_F32, MANY, -2, 2, 8), 0, 0.7737, 0.02);
  finish();
}

TEST(truncated_normal_numbers_stay_within_their_limits) {
  begin();
  tsr_tensor *x = tsr_rand_truncated_normal(dev, TSR_F32, MANY, 3, 3.5, 1);
  CHECK_VALUES(tsr_all(tsr_logical_and(tsr_ge_scalar(x, 3), tsr_le_scalar(x, 3.5)), NULL, 0, false), TSR_BOOL,
               TSR_SCALAR, 0, 1);
  CHECK_FAILS(tsr_rand_truncated_normal(dev, TSR_F32, MANY, 2, 2, 1), TSR_ERR_INVALID_ARGUMENT,
              "rand_truncated_normal: from 2 to 2 is no range");
  CHECK_FAILS(tsr_rand_truncated_normal(dev, TSR_F32, MANY, 8, INFINITY, 1), TSR_ERR_UNSUPPORTED,
              "from 8 to inf lie less than 2^-16 of all normal numbers");
  finish();
}

TEST(distributions_repeat_with_their_seed_and_differ_with_another) {
  begin();
  float first[100], again[100], other[100];
  CHECK_OK(tsr_read(tsr_rand_gamma(dev, TSR_F32, TSR_SHAPE(100), 0.7, 1, 9), first, sizeof first));
  CHECK_OK(tsr_read(tsr_rand_gamma(dev, TSR_F32, TSR_SHAPE(100), 0.7, 1, 9), again, sizeof again));
  CHECK_OK(tsr_read(tsr_rand_gamma(dev, TSR_F32, TSR_SHAPE(100), 0.7, 1, 10), other, sizeof other));
  CHECK_BYTES(again, first, sizeof first);
  CHECK(memcmp(first, other, sizeof first) != 0);
  finish();
}

TEST(distributions_refuse_what_they_cannot_be) {
  begin();
  tsr_shape shape = TSR_SHAPE(3);
  CHECK_VALUES(tsr_rand_poisson(dev, TSR_I32, shape, 0, 1), TSR_I32, shape, 0, 0, 0, 0);
  CHECK_FAILS(tsr_rand_poisson(dev, TSR_I32, shape, -1, 1), TSR_ERR_INVALID_ARGUMENT,
              "rand_poisson: rate is -1; 0 to 1e+08");
  CHECK_FAILS(tsr_rand_poisson(dev, TSR_BOOL, shape, 1, 1), TSR_ERR_DTYPE, "rand_poisson: makes integers, not bool");
  CHECK_FAILS(tsr_rand_gamma(dev, TSR_F32, shape, 0, 1, 1), TSR_ERR_INVALID_ARGUMENT,
              "rand_gamma: alpha is 0; 0.001 to");
  CHECK_FAILS(tsr_rand_gamma(dev, TSR_F32, shape, 1, NAN, 1), TSR_ERR_INVALID_ARGUMENT, "rand_gamma: scale is nan");
  CHECK_FAILS(tsr_rand_exponential(dev, TSR_I32, shape, 1, 1), TSR_ERR_DTYPE,
              "rand_exponential: makes floats, not i32");
  CHECK_FAILS(tsr_rand_exponential(NULL, TSR_F32, shape, 1, 1), TSR_ERR_INVALID_ARGUMENT, "rand_exponential: ");
  finish();
}
