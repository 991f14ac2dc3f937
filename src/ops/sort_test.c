// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(sorting_is_stable_and_puts_nan_last) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(7), 3, NAN, -INFINITY, 3, INFINITY, 0, 1);
  CHECK_VALUES(tsr_sort(x, 0, false), TSR_F32, TSR_SHAPE(7), 0, -INFINITY, 0, 1, 3, 3, INFINITY, NAN);
  CHECK_VALUES(tsr_argsort(x, 0, false), TSR_I32, TSR_SHAPE(7), 0, 2, 5, 6, 0, 3, 4, 1);
  CHECK_VALUES(tsr_sort(x, 0, true), TSR_F32, TSR_SHAPE(7), 0, INFINITY, 3, 3, 1, 0, -INFINITY, NAN);
  CHECK_VALUES(tsr_argsort(x, 0, true), TSR_I32, TSR_SHAPE(7), 0, 4, 0, 3, 6, 5, 2, 1);
  finish();
}

TEST(sorting_goes_along_any_axis_of_any_view) {
  begin();
  tsr_tensor *x = list(TSR_I8, TSR_SHAPE(2, 3), 3, -1, 2, 0, 9, -7);
  CHECK_VALUES(tsr_sort(x, 1, false), TSR_I8, TSR_SHAPE(2, 3), 0, -1, 2, 3, -7, 0, 9);
  CHECK_VALUES(tsr_sort(x, 0, false), TSR_I8, TSR_SHAPE(2, 3), 0, 0, -1, -7, 3, 9, 2);
  CHECK_VALUES(tsr_argsort(tsr_transpose(x, 0, 1), 0, true), TSR_I32, TSR_SHAPE(3, 2), 0, 0, 1, 2, 0, 1, 2);
  CHECK_VALUES(tsr_sort(list(TSR_BOOL, TSR_SHAPE(4), 1, 0, 1, 0), 0, false), TSR_BOOL, TSR_SHAPE(4), 0, 0, 0, 1, 1);
  CHECK_EMPTY(tsr_sort(tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 0)), 1, false), TSR_F32, TSR_SHAPE(3, 0));
  CHECK_FAILS(tsr_sort(x, 2, false), TSR_ERR_SHAPE, "sort: axis 2 is out of range");
  finish();
}

// Checks that the values are sorted and that the order maps the input to them, for lengths around the block size and
// its multiples.
static void check_length(int64_t n) {
  enum { MOST = 5000 };
  static int32_t data[MOST], values[MOST], order[MOST];
  tsr_tensor *x = tsr_randint(dev, TSR_I32, TSR_SHAPE(n), 0, n / 3 + 1, (uint64_t)n);
  size_t bytes = (size_t)n * sizeof(int32_t);
  CHECK_OK(tsr_read(x, data, bytes));
  CHECK_OK(tsr_read(tsr_sort(x, 0, false), values, bytes));
  CHECK_OK(tsr_read(tsr_argsort(x, 0, false), order, bytes));
  for (int64_t i = 0; i < n; i++) {
    CHECK_EQ_INT(values[i], data[order[i]]);
    if (i == 0) continue;
    CHECK(values[i - 1] < values[i] || (values[i - 1] == values[i] && order[i - 1] < order[i]));
  }
}

TEST(every_length_is_sorted) {
  begin();
  for (int64_t n = 1; n < 70; n++) check_length(n);
  check_length(127);
  check_length(128);
  check_length(129);
  check_length(4999);
  finish();
}

// The result has memory of its own: writing x afterwards does not change it.
TEST(an_axis_of_one_element_is_copied) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(3, 1), 7, 5, 6), *values = NULL, *indices = NULL;
  tsr_tensor *sorted = tsr_sort(x, 1, false), *order = tsr_argsort(x, 1, true);
  CHECK_OK(tsr_topk(x, 1, 1, true, &values, &indices));
  CHECK_OK(tsr_assign(x, tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 1))));
  CHECK_VALUES(sorted, TSR_F32, TSR_SHAPE(3, 1), 0, 7, 5, 6);
  CHECK_VALUES(order, TSR_I32, TSR_SHAPE(3, 1), 0, 0, 0, 0);
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(3, 1), 0, 7, 5, 6);
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(3, 1), 0, 0, 0, 0);
  CHECK_OK(tsr_topk(x, 0, 1, true, &values, &indices));
  CHECK_EMPTY(indices, TSR_I32, TSR_SHAPE(3, 0));
  finish();
}

TEST(topk_gives_the_first_of_the_sorted) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 4), 1, 4, 4, 2, 9, 7, 8, 6), *values = NULL, *indices = NULL;
  CHECK_OK(tsr_topk(x, 2, 1, true, &values, &indices));
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(2, 2), 0, 4, 4, 9, 8);
  CHECK_VALUES(indices, TSR_I32, TSR_SHAPE(2, 2), 0, 1, 2, 0, 2);
  CHECK_OK(tsr_topk(x, 1, 0, false, &values, NULL));
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(1, 4), 0, 1, 4, 4, 2);
  CHECK_OK(tsr_topk(x, 0, 1, false, NULL, &indices));
  CHECK_EMPTY(indices, TSR_I32, TSR_SHAPE(2, 0));
  CHECK_STATUS(tsr_topk(x, 5, 1, true, &values, &indices), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("topk: k is 5, axis 1 has 4 elements");
  CHECK(values == NULL && indices == NULL);
  finish();
}
