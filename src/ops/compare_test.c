// SPDX-License-Identifier: MIT
// tsr_equal.
#include "ops/ops_testing.h"

// The 2^40 elements would not fit into memory.
TEST(broadcast_tensors_are_compared_without_their_repeats) {
  begin();
  tsr_shape large = TSR_SHAPE(INT64_C(1) << 20, 3, INT64_C(1) << 20);
  tsr_tensor *a = tsr_expand(list(TSR_F64, TSR_SHAPE(3, 1), 1, 2, 3), large);
  tsr_tensor *b = tsr_expand(list(TSR_F64, TSR_SHAPE(3, 1), 1, 2, 3), large);
  tsr_tensor *c = tsr_expand(list(TSR_F64, TSR_SHAPE(3, 1), 1, 2, 4), large);
  bool is_equal = false;
  CHECK_OK(tsr_equal(a, b, &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_equal(a, c, &is_equal));
  CHECK(!is_equal);
  finish();
}

TEST(a_broadcast_tensor_equals_a_whole_one) {
  begin();
  tsr_tensor *a = tsr_expand(list(TSR_F32, TSR_SHAPE(1, 2), 1, 2), TSR_SHAPE(3, 2));
  bool is_equal = false;
  CHECK_OK(tsr_equal(a, list(TSR_F32, TSR_SHAPE(3, 2), 1, 2, 1, 2, 1, 2), &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_equal(list(TSR_F32, TSR_SHAPE(3, 2), 1, 2, 1, 2, 1, 3), a, &is_equal));
  CHECK(!is_equal);
  CHECK_OK(tsr_equal(a, tsr_transpose(a, 0, 1), &is_equal));
  CHECK(!is_equal);
  finish();
}
