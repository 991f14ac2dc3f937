// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(masked_fill_keeps_the_dtype) {
  begin();
  tsr_tensor *x = count_up(TSR_F16, TSR_SHAPE(2, 3)), *mask = list(TSR_BOOL, TSR_SHAPE(3), 0, 1, 0);
  CHECK_VALUES(tsr_masked_fill(x, mask, -INFINITY), TSR_F16, TSR_SHAPE(2, 3), 0, 0, -INFINITY, 2, 3, -INFINITY, 5);
  CHECK_VALUES(tsr_masked_fill(mask, list(TSR_F32, TSR_SHAPE(3), 0.5, 0, NAN), 1), TSR_BOOL, TSR_SHAPE(3), 0, 1, 1, 1);
  finish();
}

TEST(masked_fill_refuses_numbers_and_masks_that_do_not_fit) {
  begin();
  tsr_tensor *x = count_up(TSR_U8, TSR_SHAPE(3));
  CHECK_FAILS(tsr_masked_fill(x, x, 256), TSR_ERR_DTYPE, "masked_fill: 256 does not fit u8");
  CHECK_FAILS(tsr_masked_fill(x, x, 0.5), TSR_ERR_DTYPE, "masked_fill: 0.5 is no whole number");
  CHECK_FAILS(tsr_masked_fill(x, count_up(TSR_U8, TSR_SHAPE(2, 3)), 0), TSR_ERR_SHAPE,
              "the mask is 2x3, which is not broadcast to [3]");
  CHECK_FAILS(tsr_masked_fill(x, count_up(TSR_U8, TSR_SHAPE(2)), 0), TSR_ERR_SHAPE, "masked_fill");
  finish();
}
