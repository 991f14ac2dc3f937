// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(pooling_without_options_is_over_the_whole_plane) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 2, 2, 3));
  CHECK_VALUES(tsr_max_pool(x, NULL), TSR_F32, TSR_SHAPE(1, 2, 1, 1), 0, 5, 11);
  CHECK_VALUES(tsr_argmax_pool(x, NULL), TSR_I32, TSR_SHAPE(1, 2, 1, 1), 0, 5, 5);
  CHECK_VALUES(tsr_avg_pool(x, NULL), TSR_F32, TSR_SHAPE(1, 2, 1, 1), 0, 2.5, 8.5);
  CHECK_VALUES(tsr_lp_pool(list(TSR_F32, TSR_SHAPE(1, 1, 2), 3, -4), NULL), TSR_F32, TSR_SHAPE(1, 1, 1), 0, 5);
  finish();
}

TEST(padding_counts_in_a_mean_only_when_asked_for) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 3), 2, 4, 6);
  tsr_pool_desc desc = {.size = {2}, .before = {1}};
  CHECK_VALUES(tsr_avg_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 2), 0, 2, 5);
  desc.counts_padding = true;
  CHECK_VALUES(tsr_avg_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 2), 0, 1, 5);
  finish();
}

TEST(a_window_that_reaches_beyond_the_end_counts_what_it_has) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(1, 1, 5), 1, 2, 3, 4, 10);
  tsr_pool_desc desc = {.size = {2}, .rounds_up = true};
  CHECK_VALUES(tsr_avg_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 3), 0, 1.5, 3.5, 10);
  CHECK_VALUES(tsr_max_pool(x, &desc), TSR_I32, TSR_SHAPE(1, 1, 3), 0, 2, 4, 10);
  desc.rounds_up = false;
  CHECK_VALUES(tsr_max_pool(x, &desc), TSR_I32, TSR_SHAPE(1, 1, 2), 0, 2, 4);
  finish();
}

TEST(the_largest_is_nan_where_one_is) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 6), 1, NAN, 9, 5, 5, -INFINITY);
  CHECK_VALUES(tsr_max_pool(x, &(tsr_pool_desc){.size = {3}}), TSR_F32, TSR_SHAPE(1, 1, 2), 0, NAN, 5);
  CHECK_VALUES(tsr_argmax_pool(x, &(tsr_pool_desc){.size = {3}}), TSR_I32, TSR_SHAPE(1, 1, 2), 0, 1, 3);
  CHECK_VALUES(tsr_max_pool(list(TSR_BOOL, TSR_SHAPE(1, 1, 4), 0, 0, 0, 1), &(tsr_pool_desc){.size = {2}}), TSR_BOOL,
               TSR_SHAPE(1, 1, 2), 0, 0, 1);
  finish();
}

TEST(a_window_in_the_padding_has_nothing) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 1), 3);
  tsr_pool_desc desc = {.size = {1}, .before = {1}};
  CHECK_VALUES(tsr_max_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 2), 0, -INFINITY, 3);
  CHECK_VALUES(tsr_argmax_pool(x, &desc), TSR_I32, TSR_SHAPE(1, 1, 2), 0, -1, 0);
  CHECK_VALUES(tsr_avg_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 2), 0, NAN, 3);
  CHECK_VALUES(tsr_lp_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 2), 0, 0, 3);
  finish();
}

// Two thousand million elements of the window lie in the padding.
TEST(padding_costs_no_time) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 1), 3);
  tsr_pool_desc desc = {.size = {2000000001}, .before = {1000000000}, .after = {1000000000}};
  CHECK_VALUES(tsr_max_pool(x, &desc), TSR_F32, TSR_SHAPE(1, 1, 1), 0, 3);
  desc.dilation[0] = 2;
  desc.size[0] = 1000000001;
  CHECK_VALUES(tsr_argmax_pool(x, &desc), TSR_I32, TSR_SHAPE(1, 1, 1), 0, 0);
  finish();
}

TEST(adaptive_windows_cover_the_axis) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 5), 1, 2, 3, 4, 5);
  CHECK_VALUES(tsr_avg_pool(x, &(tsr_pool_desc){.output = {2}}), TSR_F32, TSR_SHAPE(1, 1, 2), 0, 2, 4);
  CHECK_VALUES(tsr_max_pool(x, &(tsr_pool_desc){.output = {5}}), TSR_F32, TSR_SHAPE(1, 1, 5), 0, 1, 2, 3, 4, 5);
  finish();
}

TEST(max_unpool_puts_back_what_max_pool_took) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 2, 4), 1, 7, 2, 3, 4, 5, 9, 6);
  tsr_pool_desc desc = {.size = {2, 2}};
  tsr_tensor *largest = tsr_max_pool(x, &desc), *at = tsr_argmax_pool(x, &desc);
  CHECK_VALUES(tsr_max_unpool(largest, at, TSR_SHAPE(2, 4)), TSR_F32, TSR_SHAPE(1, 1, 2, 4), 0, 0, 7, 0, 0, 0, 0, 9, 0);
  tsr_pool_desc padded = {.size = {1}, .before = {1}, .after = {5}};
  CHECK_FAILS(tsr_lp_pool(tsr_zeros(dev, TSR_I64, TSR_SHAPE(2, 3, 0)), &padded), TSR_ERR_SHAPE, "spatial axis 0 of 0");
  CHECK_FAILS(tsr_max_unpool(largest, at, TSR_SHAPE(8)), TSR_ERR_SHAPE, "does not go into planes of [8]");
  CHECK_FAILS(tsr_max_unpool(largest, x, TSR_SHAPE(2, 4)), TSR_ERR_DTYPE, "indices are signed integers, not f32");
  CHECK_FAILS(tsr_max_unpool(x, at, TSR_SHAPE(2, 4)), TSR_ERR_SHAPE, "max_unpool: shapes differ");
  finish();
}

TEST(pooling_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 4));
  CHECK_FAILS(tsr_max_pool(x, &(tsr_pool_desc){.size = {5}}), TSR_ERR_SHAPE, "max_pool: a window of 5");
  CHECK_FAILS(tsr_max_pool(x, &(tsr_pool_desc){.power = 3}), TSR_ERR_INVALID_ARGUMENT,
              "max_pool: does not read .power");
  CHECK_FAILS(tsr_lp_pool(x, &(tsr_pool_desc){.power = -1}), TSR_ERR_INVALID_ARGUMENT, "the power is -1");
  CHECK_FAILS(tsr_max_pool(x, &(tsr_pool_desc){.counts_padding = true}), TSR_ERR_INVALID_ARGUMENT, ".counts_padding");
  CHECK_FAILS(tsr_avg_pool(x, &(tsr_pool_desc){.output = {2}, .size = {2}}), TSR_ERR_INVALID_ARGUMENT,
              ".output works out");
  CHECK_FAILS(tsr_avg_pool(x, &(tsr_pool_desc){.output = {-2}}), TSR_ERR_SHAPE, "-2 windows do not cover");
  CHECK_FAILS(tsr_avg_pool(tsr_zeros(dev, TSR_F32, TSR_SHAPE(4, 4)), NULL), TSR_ERR_SHAPE,
              "takes 3 to 5 axes, not 4x4");
  finish();
}
