// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(isclose_of_nan_and_infinity) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(4), NAN, INFINITY, INFINITY, 1);
  tsr_tensor *b = list(TSR_F32, TSR_SHAPE(4), NAN, INFINITY, -INFINITY, INFINITY);
  CHECK_VALUES(tsr_isclose(a, b, 1e-5, 1e-8, false), TSR_BOOL, TSR_SHAPE(4), 0, 0, 1, 0, 0);
  CHECK_VALUES(tsr_isclose(a, b, 1e-5, 1e-8, true), TSR_BOOL, TSR_SHAPE(4), 0, 1, 1, 0, 0);
  CHECK_VALUES(tsr_allclose(a, a, 0, 0, true), TSR_BOOL, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_allclose(a, a, 0, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
  finish();
}

// f32 takes 16777216 and 16777217 for equal, and the distance of the extremes of i32 wraps.
TEST(isclose_tells_large_integers_apart) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(3), 16777216, 16777216, 2147483647);
  tsr_tensor *b = list(TSR_I32, TSR_SHAPE(3), 16777217, 16777218, -2147483648.0);
  CHECK_VALUES(tsr_isclose(a, b, 0, 0, false), TSR_BOOL, TSR_SHAPE(3), 0, 0, 0, 0);
  CHECK_VALUES(tsr_isclose(a, b, 0, 1, false), TSR_BOOL, TSR_SHAPE(3), 0, 1, 0, 0);
  CHECK_VALUES(tsr_isclose(a, b, 0, 5e9, false), TSR_BOOL, TSR_SHAPE(3), 0, 1, 1, 1);
  CHECK_VALUES(tsr_isclose(list(TSR_U8, TSR_SHAPE(1), 1), list(TSR_U8, TSR_SHAPE(1), 255), 0, 2, false), TSR_BOOL,
               TSR_SHAPE(1), 0, 0);
  finish();
}

TEST(isclose_refuses_negative_bounds) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1), 1);
  CHECK_FAILS(tsr_isclose(x, x, -1, 0, false), TSR_ERR_INVALID_ARGUMENT, "isclose: rtol is -1 and atol 0");
  CHECK_FAILS(tsr_allclose(x, x, 0, NAN, false), TSR_ERR_INVALID_ARGUMENT, "allclose: rtol is 0 and atol nan");
  finish();
}

TEST(nextafter_steps_by_the_dtype) {
  begin();
  tsr_tensor *zero = list(TSR_F16, TSR_SHAPE(4), 0, 1, 65504, INFINITY);
  tsr_tensor *up = list(TSR_F16, TSR_SHAPE(4), 1, 2, INFINITY, 0);
  CHECK_VALUES(tsr_nextafter(zero, up), TSR_F16, TSR_SHAPE(4), 0, 0x1p-24, 1 + 0x1p-10, INFINITY, 65504);
  CHECK_VALUES(tsr_nextafter(list(TSR_BF16, TSR_SHAPE(2), 1, -1), list(TSR_BF16, TSR_SHAPE(2), 0, -9)), TSR_BF16,
               TSR_SHAPE(2), 0, 1 - 0x1p-8, -1 - 0x1p-7);
  CHECK_VALUES(tsr_nextafter(list(TSR_F64, TSR_SHAPE(2), 1, 0), list(TSR_F64, TSR_SHAPE(2), 2, -1)), TSR_F64,
               TSR_SHAPE(2), 0, 1 + 0x1p-52, -0x1p-1074);
  CHECK_VALUES(tsr_nextafter(list(TSR_I32, TSR_SHAPE(1), 1), list(TSR_F32, TSR_SHAPE(1), 2)), TSR_F32, TSR_SHAPE(1), 0,
               1 + 0x1p-23);
  finish();
}
