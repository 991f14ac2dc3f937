// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(item_reads_one_number_of_any_dtype_and_rank) {
  begin();
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    double value = 7;
    CHECK_OK(tsr_item(tsr_ones(dev, (tsr_dtype)i, TSR_SHAPE(1, 1, 1)), &value));
    CHECK_NEAR(value, 1, 0);
  }
  double sum = 0;
  CHECK_OK(tsr_item(tsr_sum(count_up(TSR_F32, TSR_SHAPE(2, 3)), TSR_AXES(0, 1), false), &sum));
  CHECK_NEAR(sum, 15, 0);
  CHECK_OK(tsr_item(tsr_slice(count_up(TSR_F16, TSR_SHAPE(5)), 0, 3, 4, 1), &sum));
  CHECK_NEAR(sum, 3, 0);
  int64_t whole = 0;
  CHECK_OK(tsr_item_int(tsr_full_int(dev, TSR_I64, TSR_SCALAR, INT64_MAX), &whole));
  CHECK_EQ_INT(whole, INT64_MAX);
  CHECK_OK(tsr_item_int(tsr_ones(dev, TSR_BOOL, TSR_SCALAR), &whole));
  CHECK_EQ_INT(whole, 1);
  finish();
}

TEST(item_refuses_what_is_not_one_number) {
  begin();
  double value = 5;
  int64_t whole = 5;
  CHECK_STATUS(tsr_item(count_up(TSR_F32, TSR_SHAPE(2)), &value), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("one element, not [2]");
  CHECK_NEAR(value, 0, 0);
  CHECK_STATUS(tsr_item(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), &value), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_item_int(tsr_ones(dev, TSR_F32, TSR_SCALAR), &whole), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("tsr_item reads floats");
  CHECK_EQ_INT(whole, 0);
  CHECK_STATUS(tsr_item(NULL, &value), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_item(tsr_ones(dev, TSR_F32, TSR_SCALAR), NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_item_int(tsr_ones(dev, TSR_I32, TSR_SCALAR), NULL), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

TEST(axes_are_written_where_they_are_used) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3, 2));
  CHECK_VALUES(tsr_sum(x, TSR_AXES(0, 2), false), TSR_I32, TSR_SHAPE(3), 0, 14, 22, 30);
  CHECK_VALUES(tsr_max(x, TSR_AXES(-1), true), TSR_I32, TSR_SHAPE(2, 3, 1), 0, 1, 3, 5, 7, 9, 11);
  CHECK_EQ_INT(tsr_tensor_shape(tsr_permute(x, TSR_AXES(1, 0, 2))).dims[0], 3);
  finish();
}

TEST(peek_reads_what_has_been_computed_and_nothing_else) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3)), *sum = tsr_add(x, x);
  int32_t element = 77;
  CHECK(!tsr_peek(sum, (int64_t[]){0, 0}, 2, &element));  // pending
  CHECK_OK(tsr_evaluate(sum));
  CHECK(tsr_peek(sum, (int64_t[]){1, -1}, 2, &element));
  CHECK_EQ_INT(element, 10);
  CHECK(tsr_peek(tsr_transpose(sum, 0, 1), (int64_t[]){2, 0}, 2, &element));
  CHECK_EQ_INT(element, 4);
  CHECK(!tsr_peek(sum, (int64_t[]){2, 0}, 2, &element));
  CHECK(!tsr_peek(sum, (int64_t[]){0}, 1, &element));
  CHECK(!tsr_peek(sum, NULL, 2, &element));
  CHECK(!tsr_peek(sum, (int64_t[]){0, 0}, 2, NULL));
  CHECK(!tsr_peek(NULL, NULL, 0, &element));
  CHECK_OK(tsr_assign(sum, x));
  CHECK(!tsr_peek(sum, (int64_t[]){0, 0}, 2, &element));  // its old elements are not what it has
  CHECK_EQ_INT(element, 4);
  finish();
}

TEST(fill_writes_a_number_into_any_view) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3));
  CHECK_OK(tsr_fill(tsr_slice(x, 1, 0, TSR_END, 2), 2.5));
  CHECK_VALUES(x, TSR_F32, TSR_SHAPE(2, 3), 0, 2.5, 0, 2.5, 2.5, 0, 2.5);
  CHECK_OK(tsr_assign_at(x, (int64_t[]){-1, 1}, 2, &(float){7}));
  CHECK_VALUES(x, TSR_F32, TSR_SHAPE(2, 3), 0, 2.5, 0, 2.5, 2.5, 7, 2.5);
  tsr_tensor *large = tsr_zeros(dev, TSR_I64, TSR_SHAPE(5000));
  CHECK_OK(tsr_fill_int(large, INT64_MAX));
  int64_t last = 0;
  CHECK_OK(tsr_item_int(tsr_slice(large, 0, 4999, 5000, 1), &last));
  CHECK_EQ_INT(last, INT64_MAX);
  CHECK_OK(tsr_fill(tsr_slice(x, 0, 1, 1, 1), 9));
  CHECK_STATUS(tsr_fill(tsr_expand(tsr_zeros(dev, TSR_F32, TSR_SCALAR), TSR_SHAPE(4)), 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("repeats elements");
  CHECK_STATUS(tsr_assign_at(x, (int64_t[]){0, 3}, 2, &(float){7}), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("index 3 is out of bounds for axis 1");
  CHECK_STATUS(tsr_assign_at(x, (int64_t[]){0}, 1, &(float){7}), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_assign_at(x, (int64_t[]){0, 0}, 2, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_fill(NULL, 1), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

TEST(numbers_written_later_are_not_seen_by_what_was_recorded_before) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(4)), *before = tsr_add(x, x), *copy = tsr_copy(x), *again = tsr_copy(x);
  CHECK_OK(tsr_fill(x, 5));
  CHECK_OK(tsr_assign_at(x, (int64_t[]){2}, 1, &(float){6}));
  CHECK_OK(tsr_fill(copy, -1));
  CHECK_VALUES(x, TSR_F32, TSR_SHAPE(4), 0, 5, 5, 6, 5);
  CHECK_VALUES(before, TSR_F32, TSR_SHAPE(4), 0, 0, 2, 4, 6);
  CHECK_VALUES(copy, TSR_F32, TSR_SHAPE(4), 0, -1, -1, -1, -1);
  CHECK_VALUES(again, TSR_F32, TSR_SHAPE(4), 0, 0, 1, 2, 3);
  CHECK(!tsr_tensor_shares_memory(copy, again) && !tsr_tensor_shares_memory(copy, x));
  finish();
}

TEST(a_capture_sees_numbers_that_are_written_between_its_runs) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(3));
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_capture_begin(dev));
  tsr_tensor *y = tsr_mul_scalar(x, 10);
  CHECK_OK(tsr_fill(tsr_slice(x, 0, 2, 3, 1), 4));  // captured: it is written in each run
  CHECK_OK(tsr_capture_end(&y, 1, &capture));
  CHECK_OK(tsr_assign_at(x, (int64_t[]){0}, 1, &(float){8}));
  CHECK_OK(tsr_assign_at(x, (int64_t[]){2}, 1, &(float){9}));
  CHECK_OK(tsr_capture_run(capture));
  CHECK_VALUES(y, TSR_F32, TSR_SHAPE(3), 0, 80, 10, 90);
  tsr_capture_release(capture);
  finish();
}

TEST(a_gradient_goes_around_a_number_that_is_written) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(3)), *gradient = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_mul_scalar(tsr_copy(x), 3);
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_fill(tsr_slice(y, 0, 1, 2, 1), 7));
  CHECK_OK(tsr_grad(tsr_sum(y, NULL, 0, false), NULL, &x, 1, &gradient));
  CHECK_OK(tsr_grad_end());
  CHECK_VALUES(gradient, TSR_F32, TSR_SHAPE(3), 0, 3, 0, 3);
  finish();
}
