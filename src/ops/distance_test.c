// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(cdist_is_the_distance_of_each_pair_of_rows) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(2, 2), 0, 0, 3, 4), *b = list(TSR_I32, TSR_SHAPE(3, 2), 0, 0, 3, 4, 6, 8);
  CHECK_VALUES(tsr_cdist(a, b), TSR_F32, TSR_SHAPE(2, 3), 0, 0, 5, 10, 5, 0, 5);
  CHECK_VALUES(tsr_cdist(b, b), TSR_F32, TSR_SHAPE(3, 3), 0, 0, 5, 10, 5, 0, 5, 10, 5, 0);
  finish();
}

// Rows of 20 elements are long enough for tiles on GPUs. Differences are squared as they are, so the distance of rows that are nearly equal is exact.
TEST(cdist_of_nearly_equal_long_rows_is_exact) {
  begin();
  tsr_tensor *a = tsr_full(dev, TSR_F32, TSR_SHAPE(40, 20), 4096), *b = tsr_full(dev, TSR_F32, TSR_SHAPE(33, 20), 4097);
  tsr_tensor *squares = tsr_square(tsr_cdist(a, b)), *low = tsr_min(squares, NULL, 0, false);
  CHECK_VALUES(low, TSR_F32, TSR_SCALAR, 1e-5, 20);
  CHECK_VALUES(tsr_max(squares, NULL, 0, false), TSR_F32, TSR_SCALAR, 1e-5, 20);
  CHECK_VALUES(tsr_max(tsr_cdist(a, a), NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 0);
  finish();
}

TEST(cdist_broadcasts_batches) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(2, 1, 1), 1, 5), *b = list(TSR_F32, TSR_SHAPE(2, 1), 1, 3);
  CHECK_VALUES(tsr_cdist(a, b), TSR_F32, TSR_SHAPE(2, 1, 2), 0, 0, 2, 4, 2);
  finish();
}

TEST(cdist_of_rows_without_elements_is_zero) {
  begin();
  tsr_tensor *a = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), *b = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 0));
  CHECK_VALUES(tsr_cdist(a, b), TSR_F32, TSR_SHAPE(2, 1), 0, 0, 0);
  finish();
}

TEST(cdist_of_equal_rows_has_a_gradient_of_zero) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(1, 2), 3, 4), *b = list(TSR_F32, TSR_SHAPE(2, 2), 3, 4, 0, 0), *da = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(a));
  CHECK_OK(tsr_grad(tsr_sum(tsr_cdist(a, b), NULL, 0, false), NULL, &a, 1, &da));
  CHECK_VALUES(da, TSR_F32, TSR_SHAPE(1, 2), 1e-6, 0.6, 0.8);
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(cdist_names_shapes_that_do_not_fit) {
  begin();
  tsr_tensor *a = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3)), *b = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 4));
  CHECK_FAILS(tsr_cdist(a, b), TSR_ERR_SHAPE, "cdist: takes matrices whose rows have one length, not 2x3 and 2x4");
  CHECK_FAILS(tsr_cdist(a, tsr_zeros(dev, TSR_F32, TSR_SHAPE(3))), TSR_ERR_SHAPE, "cdist: takes matrices");
  finish();
}
