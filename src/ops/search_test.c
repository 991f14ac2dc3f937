// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(searchsorted_goes_in_front_of_equal_elements_or_behind_them) {
  begin();
  tsr_tensor *sorted = list(TSR_F32, TSR_SHAPE(4), 1, 2, 2, 3), *values = list(TSR_F32, TSR_SHAPE(2, 2), 2, 0, 5, 3);
  CHECK_VALUES(tsr_searchsorted(sorted, values, false), TSR_I32, TSR_SHAPE(2, 2), 0, 1, 0, 4, 3);
  CHECK_VALUES(tsr_searchsorted(sorted, values, true), TSR_I32, TSR_SHAPE(2, 2), 0, 3, 0, 4, 4);
  tsr_tensor *middle = tsr_slice(sorted, 0, 1, 3, 1);
  CHECK_VALUES(tsr_searchsorted(middle, list(TSR_I32, TSR_SHAPE(3), 1, 2, 9), true), TSR_I32, TSR_SHAPE(3), 0, 0, 2, 2);
  finish();
}

TEST(searchsorted_puts_nan_last_as_sort_does) {
  begin();
  tsr_tensor *sorted = tsr_sort(list(TSR_F32, TSR_SHAPE(4), NAN, 2, NAN, 1), 0, false);
  tsr_tensor *values = list(TSR_F32, TSR_SHAPE(2), NAN, INFINITY);
  CHECK_VALUES(tsr_searchsorted(sorted, values, false), TSR_I32, TSR_SHAPE(2), 0, 2, 2);
  CHECK_VALUES(tsr_searchsorted(sorted, values, true), TSR_I32, TSR_SHAPE(2), 0, 4, 2);
  finish();
}

TEST(searchsorted_in_an_empty_list_is_zero) {
  begin();
  tsr_tensor *none = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), *values = list(TSR_F32, TSR_SHAPE(2), 5, -5);
  CHECK_VALUES(tsr_searchsorted(none, values, false), TSR_I32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_EMPTY(tsr_searchsorted(values, none, false), TSR_I32, TSR_SHAPE(0));
  CHECK_FAILS(tsr_searchsorted(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 2)), values, false), TSR_ERR_SHAPE,
              "searchsorted: sorted is a list, not 2x2");
  finish();
}
