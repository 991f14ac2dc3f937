// SPDX-License-Identifier: MIT
#include "ops_testing.h"

TEST(pinv_of_a_singular_matrix_inverts_what_can_be) {
  begin();
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(2, 2), 1, 2, 2, 4);
  CHECK_VALUES(tsr_pinv(x, 0), TSR_F64, TSR_SHAPE(2, 2), 1e-15, 0.04, 0.08, 0.08, 0.16);
  CHECK_VALUES(tsr_pinv(list(TSR_F64, TSR_SHAPE(1, 2), 3, 4), 0), TSR_F64, TSR_SHAPE(2, 1), 1e-15, 0.12, 0.16);
  CHECK_VALUES(tsr_pinv(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 1)), 0), TSR_F32, TSR_SHAPE(1, 2), 0, 0, 0);
  CHECK_EMPTY(tsr_pinv(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), 0), TSR_F32, TSR_SHAPE(0, 2));
  finish();
}

TEST(tolerance_decides_which_singular_values_count) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 0, 0, 0.001);
  CHECK_VALUES(tsr_matrix_rank(x, 0), TSR_I32, TSR_SCALAR, 0, 2);
  CHECK_VALUES(tsr_matrix_rank(x, 0.01), TSR_I32, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_pinv(x, 0.01), TSR_F32, TSR_SHAPE(2, 2), 1e-6, 1, 0, 0, 0);
  CHECK_VALUES(tsr_matrix_rank(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3, 3)), 0), TSR_I32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_VALUES(tsr_matrix_rank(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3)), 0), TSR_I32, TSR_SCALAR, 0, 0);
  CHECK_FAILS(tsr_pinv(x, -1), TSR_ERR_INVALID_ARGUMENT, "pinv: tolerance is -1");
  finish();
}

TEST(norms_and_condition_numbers_of_a_matrix) {
  begin();
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(2, 2), 1, -7, -2, -3);
  CHECK_VALUES(tsr_matrix_norm(x, 1), TSR_F64, TSR_SCALAR, 1e-14, 10);
  CHECK_VALUES(tsr_matrix_norm(x, -1), TSR_F64, TSR_SCALAR, 1e-14, 3);
  CHECK_VALUES(tsr_matrix_norm(x, INFINITY), TSR_F64, TSR_SCALAR, 1e-14, 8);
  CHECK_VALUES(tsr_matrix_norm(x, -INFINITY), TSR_F64, TSR_SCALAR, 1e-14, 5);
  CHECK_VALUES(tsr_matrix_norm(x, 2), TSR_F64, TSR_SCALAR, 1e-12, 7.6170113044653);
  CHECK_VALUES(tsr_matrix_norm(x, -2), TSR_F64, TSR_SCALAR, 1e-12, 2.2318464973308);
  CHECK_VALUES(tsr_cond(x, 1), TSR_F64, TSR_SCALAR, 1e-13, 80.0 / 17);
  CHECK_VALUES(tsr_cond(x, 2), TSR_F64, TSR_SCALAR, 1e-12, 3.4128741889619);
  CHECK_VALUES(tsr_cond(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 2)), 2), TSR_F32, TSR_SCALAR, 0, NAN);
  CHECK_FAILS(tsr_matrix_norm(x, 3), TSR_ERR_INVALID_ARGUMENT, "matrix_norm: p is 3");
  CHECK_FAILS(tsr_matrix_norm(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), 1), TSR_ERR_SHAPE, "have no elements");
  CHECK_FAILS(tsr_cond(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3)), 1), TSR_ERR_SHAPE,
              "cond: takes square matrices, not 2x3");
  finish();
}
