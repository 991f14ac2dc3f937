// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(gather_reads_along_one_axis) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3)), *at = list(TSR_I32, TSR_SHAPE(2, 2), 2, 0, -1, 1);
  CHECK_VALUES(tsr_gather(x, 1, at), TSR_F32, TSR_SHAPE(2, 2), 0, 2, 0, 5, 4);
  CHECK_VALUES(tsr_gather(tsr_transpose(x, 0, 1), 0, tsr_transpose(at, 0, 1)), TSR_F32, TSR_SHAPE(2, 2), 0, 2, 5, 0, 4);
  CHECK_VALUES(tsr_gather(x, 0, list(TSR_U8, TSR_SHAPE(1, 3), 1, 0, 1)), TSR_F32, TSR_SHAPE(1, 3), 0, 3, 1, 5);
  finish();
}

TEST(index_select_and_take_read_lists) {
  begin();
  tsr_tensor *x = count_up(TSR_F16, TSR_SHAPE(2, 3));
  CHECK_VALUES(tsr_index_select(x, 1, list(TSR_I64, TSR_SHAPE(4), 0, -1, 0, 1)), TSR_F16, TSR_SHAPE(2, 4), 0, 0, 2, 0,
               1, 3, 5, 3, 4);
  CHECK_VALUES(tsr_take(x, list(TSR_I16, TSR_SHAPE(2, 1), 5, -6)), TSR_F16, TSR_SHAPE(2, 1), 0, 5, 0);
  CHECK_VALUES(tsr_take(tsr_transpose(x, 0, 1), list(TSR_I32, TSR_SHAPE(2), 1, 2)), TSR_F16, TSR_SHAPE(2), 0, 3, 1);
  CHECK_EMPTY(tsr_index_select(x, 0, tsr_zeros(dev, TSR_I32, TSR_SHAPE(0))), TSR_F16, TSR_SHAPE(0, 3));
  finish();
}

TEST(indices_out_of_range_read_zero_and_write_nothing) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3), 1, 2, 3);
  tsr_tensor *at = list(TSR_I32, TSR_SHAPE(5), 3, -4, 2147483647, -2147483648.0, 1);
  CHECK_VALUES(tsr_take(x, at), TSR_F32, TSR_SHAPE(5), 0, 0, 0, 0, 0, 2);
  CHECK_VALUES(tsr_scatter(x, 0, at, count_up(TSR_F32, TSR_SHAPE(5))), TSR_F32, TSR_SHAPE(3), 0, 1, 4, 3);
  CHECK_VALUES(tsr_scatter_add(x, 0, at, count_up(TSR_F32, TSR_SHAPE(5))), TSR_F32, TSR_SHAPE(3), 0, 1, 6, 3);
  CHECK_VALUES(tsr_take(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), list(TSR_I32, TSR_SHAPE(1), 0)), TSR_F32, TSR_SHAPE(1),
               0, 0);
  CHECK_VALUES(tsr_take(x, list(TSR_I64, TSR_SHAPE(2), 4294967297.0, -4294967295.0)), TSR_F32, TSR_SHAPE(2), 0, 0, 0);
  finish();
}

TEST(scatter_keeps_the_last_and_scatter_add_keeps_all) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3), 10, 20, 30), *at = list(TSR_I32, TSR_SHAPE(4), 0, 2, 0, -1);
  tsr_tensor *source = list(TSR_F32, TSR_SHAPE(4), 1, 2, 3, 4);
  CHECK_VALUES(tsr_scatter(x, 0, at, source), TSR_F32, TSR_SHAPE(3), 0, 3, 20, 4);
  CHECK_VALUES(tsr_scatter_add(x, 0, at, source), TSR_F32, TSR_SHAPE(3), 0, 14, 20, 36);
  tsr_tensor *matrix = tsr_zeros(dev, TSR_I8, TSR_SHAPE(2, 2)), *places = list(TSR_I32, TSR_SHAPE(2, 2), 1, 1, 0, 1);
  CHECK_VALUES(tsr_scatter(matrix, 1, places, count_up(TSR_I32, TSR_SHAPE(2, 2))), TSR_I8, TSR_SHAPE(2, 2), 0, 0, 1, 2,
               3);
  CHECK_VALUES(tsr_scatter_add(matrix, 0, places, count_up(TSR_I32, TSR_SHAPE(2, 2))), TSR_I8, TSR_SHAPE(2, 2), 0, 2, 0,
               0, 4);
  tsr_tensor *none = tsr_zeros(dev, TSR_I32, TSR_SHAPE(0));
  CHECK_VALUES(tsr_scatter_add(x, 0, none, tsr_zeros(dev, TSR_F32, TSR_SHAPE(0))), TSR_F32, TSR_SHAPE(3), 0, 10, 20,
               30);
  finish();
}

TEST(scatter_add_is_the_same_each_time) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(7)), *at = tsr_randint(dev, TSR_I32, TSR_SHAPE(3000), 0, 7, 1);
  tsr_tensor *source = tsr_randn(dev, TSR_F32, TSR_SHAPE(3000), 2);
  float first[7], again[7];
  CHECK_OK(tsr_read(tsr_scatter_add(x, 0, at, source), first, sizeof first));
  CHECK_OK(tsr_read(tsr_scatter_add(x, 0, at, source), again, sizeof again));
  CHECK_BYTES(again, first, sizeof first);
  finish();
}

TEST(scatter_joins_what_meets_with_what_is_there) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(4), 2, 3, 4, 5), *at = list(TSR_I32, TSR_SHAPE(5), 0, 0, -1, 3, 9);
  tsr_tensor *source = list(TSR_F32, TSR_SHAPE(5), 7, 0.5, NAN, 1, 100);
  CHECK_VALUES(tsr_scatter_mul(x, 0, at, source), TSR_F32, TSR_SHAPE(4), 0, 7, 3, 4, NAN);
  CHECK_VALUES(tsr_scatter_max(x, 0, at, source), TSR_F32, TSR_SHAPE(4), 0, 7, 3, 4, NAN);
  CHECK_VALUES(tsr_scatter_min(x, 0, at, source), TSR_F32, TSR_SHAPE(4), 0, 0.5, 3, 4, NAN);
  tsr_tensor *bytes = list(TSR_U8, TSR_SHAPE(2), 100, 3);
  CHECK_VALUES(tsr_scatter_mul(bytes, 0, list(TSR_I32, TSR_SHAPE(2), 0, 0), list(TSR_U8, TSR_SHAPE(2), 2, 2)), TSR_U8,
               TSR_SHAPE(2), 0, 144, 3);
  CHECK_FAILS(tsr_scatter_min(x, 0, at, x), TSR_ERR_SHAPE, "scatter_min: indices and source differ");
  finish();
}

// The kernel that reads a view by its strides cannot be built without f64. After that failure, the fallback for contiguous inputs must not be tried.
TEST(scatter_add_of_a_view_in_f64_is_refused_by_a_gpu_without_f64) {
  const char *missing = test_use_metal();
  if (missing) SKIP(missing);
  dev = test_open("metal");
  test_scope = tsr_scope_begin(dev);
  tsr_tensor *x = tsr_flip(count_up(TSR_F64, TSR_SHAPE(24)), 0), *at = list(TSR_I32, TSR_SHAPE(2), 1, 1);
  tsr_tensor *sums = tsr_scatter_add(x, 0, at, list(TSR_F64, TSR_SHAPE(2), 3, 4));
  CHECK_STATUS(tsr_evaluate(sums), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("f64");
  finish();
}

TEST(what_does_not_fit_is_said_with_shapes_and_dtypes) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3));
  CHECK_FAILS(tsr_gather(x, 0, x), TSR_ERR_DTYPE, "gather: indices are integers, not f32");
  CHECK_FAILS(tsr_gather(x, 0, count_up(TSR_I32, TSR_SHAPE(2, 4))), TSR_ERR_SHAPE,
              "axis 1: 3 and 4; the tensor is 2x3, indices is 2x4");
  CHECK_FAILS(tsr_gather(x, 0, count_up(TSR_I32, TSR_SHAPE(2))), TSR_ERR_SHAPE,
              "ranks differ, the tensor is 2x3, indices is [2]");
  CHECK_FAILS(tsr_index_select(x, 0, count_up(TSR_I32, TSR_SHAPE(2, 1))), TSR_ERR_SHAPE, "indices are a list, not 2x1");
  CHECK_FAILS(tsr_scatter(x, 0, count_up(TSR_I32, TSR_SHAPE(2, 3)), count_up(TSR_F32, TSR_SHAPE(2, 2))), TSR_ERR_SHAPE,
              "indices are 2x3, source is 2x2");
  CHECK_FAILS(tsr_one_hot(x, 3, TSR_F32), TSR_ERR_DTYPE, "one_hot: indices are integers, not f32");
  finish();
}

TEST(one_hot_marks_one_position) {
  begin();
  CHECK_VALUES(tsr_one_hot(list(TSR_I32, TSR_SHAPE(4), 2, 0, -1, 3), 3, TSR_F32), TSR_F32, TSR_SHAPE(4, 3), 0, 0, 0, 1,
               1, 0, 0, 0, 0, 0, 0, 0, 0);
  CHECK_VALUES(tsr_one_hot(list(TSR_U8, TSR_SHAPE(1), 1), 2, TSR_BOOL), TSR_BOOL, TSR_SHAPE(1, 2), 0, 0, 1);
  CHECK_EMPTY(tsr_one_hot(list(TSR_U8, TSR_SHAPE(1), 1), 0, TSR_F32), TSR_F32, TSR_SHAPE(1, 0));
  finish();
}
