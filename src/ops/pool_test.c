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

// Few different numbers, so that windows have several largest elements, with the last axis' elements side by side, or every second one of a wider tensor.
static tsr_tensor *pooled_planes(tsr_shape shape, bool is_strided) {
  tsr_tensor *x = tsr_round(tsr_randn(dev, TSR_F32, shape, 1)), *zeros = tsr_zeros(dev, TSR_F32, shape);
  if (!is_strided) return x;
  tsr_tensor *both = tsr_stack((tsr_tensor *[]){x, zeros}, 2, 4);
  shape.dims[3] *= 2;
  return tsr_slice(tsr_reshape(both, shape), 3, 0, shape.dims[3], 2);
}

// Windows side by side are taken by whole blocks of rows where rows of x are contiguous.
TEST(windows_side_by_side_are_pooled_alike_in_contiguous_and_strided_rows) {
  static const struct {
    int64_t height, width, rows, columns;
  } sizes[] = {{14, 14, 2, 2}, {9, 6, 3, 3},    {40, 64, 2, 4}, {4, 2, 1, 2},
               {6, 3, 2, 1},   {200, 34, 4, 2}, {30, 28, 2, 2}};
  begin();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    tsr_pool_desc desc = {.size = {sizes[i].rows, sizes[i].columns}};
    tsr_shape shape = TSR_SHAPE(2, 3, sizes[i].height, sizes[i].width);
    tsr_tensor *results[2][3], *x[2];
    for (int k = 0; k < 2; k++) {
      x[k] = pooled_planes(shape, k == 1);
      CHECK_OK(tsr_evaluate(x[k]));
      CHECK_OK(tsr_grad_begin());
      CHECK_OK(tsr_grad_watch(x[k]));
      results[k][0] = tsr_max_pool(x[k], &desc);
      results[k][1] = tsr_avg_pool(x[k], &desc);
      tsr_tensor *g = tsr_randn(dev, TSR_F32, tsr_tensor_shape(results[k][0]), 2);
      CHECK_OK(tsr_grad(results[k][0], &(tsr_grad_desc){.cotangent = g}, &x[k], 1, &results[k][2]));
      tsr_grad_end();
    }
    for (int j = 0; j < 3; j++) {
      double apart = 1;
      tsr_tensor *difference = tsr_abs(tsr_sub(results[0][j], results[1][j]));
      CHECK_OK(tsr_item(tsr_max(difference, NULL, 0, false), &apart));
      CHECK(apart < 1e-6);
    }
    tsr_release(results[0][2]);
    tsr_release(results[1][2]);
  }
  finish();
}
