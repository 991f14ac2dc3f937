// SPDX-License-Identifier: MIT
#include "ops_testing.h"

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(x), NULL, 0, false), &value));
  return value;
}

// Q * R is x, Q has orthonormal columns, R is upper triangular.
static void check_factors(tsr_tensor *x, bool complete, double bound) {
  tsr_tensor *q = NULL, *r = NULL;
  CHECK_OK(tsr_qr(x, complete, &q, &r));
  int64_t count = tsr_tensor_shape(q).dims[tsr_tensor_shape(q).rank - 1];
  tsr_tensor *one = tsr_eye(dev, tsr_tensor_dtype(x), count, count, 0);
  CHECK(largest(tsr_sub(tsr_matmul(tsr_transpose(q, -2, -1), q), one)) < bound);
  CHECK(largest(tsr_sub(tsr_matmul(q, r), x)) <= bound * largest(x));
  CHECK(largest(tsr_tril(r, -1)) == 0);
}

TEST(qr_multiplies_back_for_tall_wide_and_square_matrices) {
  begin();
  static const int64_t sizes[][2] = {{1, 1}, {90, 40}, {40, 90}, {64, 64}, {65, 33}, {300, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(sizes[i][0], sizes[i][1]), i);
    check_factors(x, false, 1e-13);
    check_factors(x, true, 1e-13);
  }
  finish();
}

TEST(qr_of_dependent_columns_still_has_an_orthonormal_q) {
  begin();
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(4, 3), 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0);
  check_factors(x, false, 1e-15 * 8);
  check_factors(tsr_zeros(dev, TSR_F64, TSR_SHAPE(3, 3)), true, 1e-15);
  finish();
}

// Squares of these would overflow, or vanish.
TEST(qr_of_very_large_and_very_small_numbers) {
  begin();
  check_factors(tsr_mul_scalar(tsr_randn(dev, TSR_F32, TSR_SHAPE(20, 10), 1), 1e30), false, 1e-5);
  tsr_tensor *q = NULL, *r = NULL;
  CHECK_OK(tsr_qr(list(TSR_F32, TSR_SHAPE(2, 1), 3e-30, 4e-30), false, &q, &r));
  CHECK_VALUES(q, TSR_F32, TSR_SHAPE(2, 1), 1e-6, -0.6, -0.8);
  CHECK_VALUES(r, TSR_F32, TSR_SHAPE(1, 1), 1e-35, -5e-30);
  finish();
}

TEST(qr_of_nothing) {
  begin();
  tsr_tensor *q = NULL, *r = NULL;
  CHECK_OK(tsr_qr(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), true, &q, &r));
  CHECK_VALUES(q, TSR_F32, TSR_SHAPE(2, 2), 0, 1, 0, 0, 1);
  CHECK_EMPTY(r, TSR_F32, TSR_SHAPE(2, 0));
  CHECK_OK(tsr_qr(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3, 2)), false, &q, NULL));
  CHECK_EMPTY(q, TSR_F32, TSR_SHAPE(0, 3, 2));
  finish();
}

TEST(lstsq_fits_a_line) {
  begin();
  tsr_tensor *a = list(TSR_F64, TSR_SHAPE(4, 2), 1, 0, 1, 1, 1, 2, 1, 3), *b = list(TSR_F64, TSR_SHAPE(4), 1, 3, 4, 8);
  CHECK_VALUES(tsr_lstsq(a, b), TSR_F64, TSR_SHAPE(2), 1e-14, 0.7, 2.2);
  finish();
}

TEST(lstsq_of_a_wide_matrix_is_the_shortest_solution) {
  begin();
  tsr_tensor *a = list(TSR_F64, TSR_SHAPE(1, 2), 3, 4);
  CHECK_VALUES(tsr_lstsq(a, list(TSR_F64, TSR_SHAPE(1, 1), 25)), TSR_F64, TSR_SHAPE(2, 1), 1e-14, 3, 4);
  finish();
}

TEST(lstsq_broadcasts_batches_and_refuses_other_rows) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(2, 2), 2, 0, 0, 4), *b = list(TSR_F32, TSR_SHAPE(2, 2, 1), 2, 4, 6, 8);
  CHECK_VALUES(tsr_lstsq(a, b), TSR_F32, TSR_SHAPE(2, 2, 1), 1e-6, 1, 1, 3, 2);
  CHECK_FAILS(tsr_lstsq(a, list(TSR_F32, TSR_SHAPE(3), 1, 2, 3)), TSR_ERR_SHAPE,
              "lstsq: b is [3]; it must be a vector or a matrix with as many rows as a, 2x2");
  finish();
}
