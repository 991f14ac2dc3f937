// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(diff_takes_differences_of_differences) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(5), 1, 2, 4, 7, 0);
  CHECK_VALUES(tsr_diff(x, 1, 0), TSR_I32, TSR_SHAPE(4), 0, 1, 2, 3, -7);
  CHECK_VALUES(tsr_diff(x, 2, -1), TSR_I32, TSR_SHAPE(3), 0, 1, 1, -10);
  CHECK_VALUES(tsr_diff(x, 0, 0), TSR_I32, TSR_SHAPE(5), 0, 1, 2, 4, 7, 0);
  CHECK_EMPTY(tsr_diff(x, 6, 0), TSR_I32, TSR_SHAPE(0));
  CHECK_EMPTY(tsr_diff(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), 1, 0), TSR_F32, TSR_SHAPE(0));
  CHECK_VALUES(tsr_diff(list(TSR_BOOL, TSR_SHAPE(4), 1, 1, 0, 1), 1, 0), TSR_BOOL, TSR_SHAPE(3), 0, 0, 1, 1);
  CHECK_EMPTY(tsr_diff(x, INT64_MAX, 0), TSR_I32, TSR_SHAPE(0));
  CHECK_EMPTY(tsr_diff(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), INT64_MAX, 0), TSR_F32, TSR_SHAPE(0));
  CHECK_FAILS(tsr_diff(x, -1, 0), TSR_ERR_INVALID_ARGUMENT, "diff: -1 times");
  CHECK_FAILS(tsr_diff(tsr_zeros(dev, TSR_F32, TSR_SHAPE(200)), 65, 0), TSR_ERR_INVALID_ARGUMENT,
              "0 to 64 are possible");
  finish();
}
