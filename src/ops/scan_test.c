// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(cumsum_runs_along_its_axis) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3));
  CHECK_VALUES(tsr_cumsum(x, 1), TSR_F32, TSR_SHAPE(2, 3), 0, 0, 1, 3, 3, 7, 12);
  CHECK_VALUES(tsr_cumsum(x, -2), TSR_F32, TSR_SHAPE(2, 3), 0, 0, 1, 2, 3, 5, 7);
  CHECK_VALUES(tsr_cumsum(tsr_flip(x, 1), 1), TSR_F32, TSR_SHAPE(2, 3), 0, 2, 3, 3, 5, 9, 12);
  CHECK_VALUES(tsr_cumsum(list(TSR_U8, TSR_SHAPE(2), 200, 100), 0), TSR_I32, TSR_SHAPE(2), 0, 200, 300);
  CHECK_VALUES(tsr_cumsum(list(TSR_BOOL, TSR_SHAPE(3), 1, 0, 1), 0), TSR_I32, TSR_SHAPE(3), 0, 1, 1, 2);
  CHECK_EMPTY(tsr_cumsum(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3)), 0), TSR_F32, TSR_SHAPE(0, 3));
  CHECK_FAILS(tsr_cumsum(x, 2), TSR_ERR_SHAPE, "cumsum: axis 2 is out of range, -2 to 1");
  CHECK_FAILS(tsr_cumsum(tsr_zeros(dev, TSR_F32, TSR_SCALAR), 0), TSR_ERR_SHAPE, "a scalar has no axes");
  finish();
}

// 1 + 2 + … + n in every line, in shapes that take each path through scan.c.
static void check_long(int64_t outer, int64_t n, int64_t inner) {
  tsr_tensor *ones = tsr_ones(dev, TSR_I32, TSR_SHAPE(outer, n, inner)), *ramp = tsr_cumsum(ones, 1);
  tsr_tensor *wanted = tsr_expand(tsr_reshape(tsr_arange(dev, TSR_I32, 1, (double)n + 1, 1), TSR_SHAPE(1, n, 1)),
                                  TSR_SHAPE(outer, n, inner));
  bool is_equal = false;
  CHECK_OK(tsr_equal(ramp, wanted, &is_equal));
  CHECK(is_equal);
}

TEST(long_lines_are_summed_in_blocks) {
  begin();
  check_long(1, 1024, 1);
  check_long(1, 1025, 1);
  check_long(3, 5000, 1);
  check_long(2, 5000, 2);
  check_long(4096, 1100, 1);
  check_long(1, 3000000, 1);
  finish();
}

TEST(cumprod_runs_along_its_axis) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 3), 1, 2, 3, -1, 0.5, 4);
  CHECK_VALUES(tsr_cumprod(x, 1), TSR_F32, TSR_SHAPE(2, 3), 0, 1, 2, 6, -1, -0.5, -2);
  CHECK_VALUES(tsr_cumprod(x, 0), TSR_F32, TSR_SHAPE(2, 3), 0, 1, 2, 3, -1, 1, 12);
  CHECK_VALUES(tsr_cumprod(list(TSR_U8, TSR_SHAPE(3), 200, 2, 3), 0), TSR_I32, TSR_SHAPE(3), 0, 200, 400, 1200);
  CHECK_EMPTY(tsr_cumprod(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3)), 0), TSR_F32, TSR_SHAPE(0, 3));
  CHECK_FAILS(tsr_cumprod(x, 2), TSR_ERR_SHAPE, "cumprod: axis 2 is out of range, -2 to 1");
  finish();
}

// A product of odd numbers never becomes 0 when it wraps, so each element shows whether a factor was lost.
TEST(long_lines_are_multiplied_in_blocks) {
  begin();
  enum { COUNT = 300007 };
  static uint32_t factors[COUNT], wanted[COUNT], is[COUNT];
  uint32_t product = 1;
  for (uint32_t i = 0; i < COUNT; i++) {
    factors[i] = i * 2654435761u | 1;
    wanted[i] = product *= factors[i];
  }
  tsr_tensor *x = tsr_from_data(dev, TSR_U32, TSR_SHAPE(COUNT), factors, sizeof factors);
  CHECK_OK(tsr_read(tsr_cumprod(x, 0), is, sizeof is));
  CHECK_BYTES(is, wanted, sizeof wanted);
  CHECK_OK(tsr_read(tsr_slice(tsr_cumprod(tsr_expand(tsr_unsqueeze(x, 1), TSR_SHAPE(-1, 3)), 0), 1, 2, 3, 1), is,
                    sizeof is));
  CHECK_BYTES(is, wanted, sizeof wanted);
  finish();
}
