// SPDX-License-Identifier: MIT
#include "ops_testing.h"
#include "runtime/native_op.h"

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(x), NULL, 0, false), &value));
  return value;
}

static tsr_tensor *transposed(tsr_tensor *x) { return tsr_transpose(x, -2, -1); }

// A positive definite matrix.
static tsr_tensor *positive(tsr_dtype dtype, int64_t n) {
  tsr_tensor *x = tsr_randn(dev, dtype, TSR_SHAPE(n, n), 3);
  return tsr_add(tsr_matmul(x, transposed(x)), tsr_eye(dev, dtype, n, n, 0));
}

TEST(cholesky_of_a_known_matrix) {
  begin();
  tsr_tensor *x =
      list(TSR_F32, TSR_SHAPE(3, 3), 4, 99, 99, 12, 37, 99, -16, -43, 98);  // above the diagonal is not read
  CHECK_VALUES(tsr_cholesky(x, false), TSR_F32, TSR_SHAPE(3, 3), 0, 2, 0, 0, 6, 1, 0, -8, 5, 3);
  CHECK_VALUES(tsr_cholesky(x, true), TSR_F32, TSR_SHAPE(3, 3), 0, 2, 6, -8, 0, 1, 5, 0, 0, 3);
  CHECK_VALUES(tsr_cholesky(list(TSR_I32, TSR_SHAPE(1, 1), 9), false), TSR_F32, TSR_SHAPE(1, 1), 0, 3);
  finish();
}

TEST(cholesky_of_many_rows_multiplies_back) {
  begin();
  tsr_tensor *x = positive(TSR_F64, 200), *l = tsr_cholesky(x, false);
  CHECK(largest(tsr_sub(tsr_matmul(l, transposed(l)), x)) < 1e-12 * largest(x));
  finish();
}

TEST(cholesky_of_what_is_not_positive_definite_is_nan_from_there_on) {
  begin();
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(2, 2, 2), 4, 2, 2, 1, 4, 2, 2, 2);  // the first is singular
  CHECK_VALUES(tsr_cholesky(x, false), TSR_F64, TSR_SHAPE(2, 2, 2), 0, 2, 0, 1, NAN, 2, 0, 1, 1);
  CHECK_VALUES(tsr_cholesky(list(TSR_F32, TSR_SHAPE(2, 2), -1, 0, 0, 1), false), TSR_F32, TSR_SHAPE(2, 2), 0, NAN, 0,
               NAN, NAN);
  finish();
}

TEST(lu_exchanges_rows_so_that_pivots_are_largest) {
  begin();
  tsr_tensor *factors = NULL, *rows = NULL;
  CHECK_OK(tsr_lu(list(TSR_F32, TSR_SHAPE(3, 2), 1, 2, 4, 0, 2, 6), &factors, &rows));
  CHECK_VALUES(factors, TSR_F32, TSR_SHAPE(3, 2), 1e-6, 4, 0, 0.5, 6, 0.25, 1.0 / 3);
  CHECK_VALUES(rows, TSR_I32, TSR_SHAPE(3), 0, 1, 2, 0);
  CHECK_OK(tsr_lu(list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4), NULL, NULL));  // nobody has to want a result
  finish();
}

TEST(lu_of_a_singular_matrix_has_a_zero_on_the_diagonal) {
  begin();
  tsr_tensor *factors = NULL, *zeros = NULL;
  CHECK_OK(tsr_lu(list(TSR_F64, TSR_SHAPE(2, 2), 1, 2, 2, 4), &factors, NULL));
  CHECK_VALUES(factors, TSR_F64, TSR_SHAPE(2, 2), 0, 2, 4, 0.5, 0);
  CHECK_OK(tsr_lu(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 2)), &zeros, NULL));
  CHECK_VALUES(zeros, TSR_F32, TSR_SHAPE(2, 2), 0, 0, 0, 0, 0);
  finish();
}

TEST(solve_takes_vectors_and_columns_and_broadcasts_batches) {
  begin();
  tsr_tensor *a = list(TSR_F64, TSR_SHAPE(2, 2), 0, 2, 4, 1);  // the first pivot is 0 without an exchange
  CHECK_VALUES(tsr_solve(a, list(TSR_F64, TSR_SHAPE(2), 6, 11)), TSR_F64, TSR_SHAPE(2), 1e-15, 2, 3);
  tsr_tensor *two = list(TSR_F64, TSR_SHAPE(2, 2, 1), 6, 11, 2, 5);
  CHECK_VALUES(tsr_solve(a, two), TSR_F64, TSR_SHAPE(2, 2, 1), 1e-15, 2, 3, 1, 1);
  tsr_tensor *matrices = tsr_stack((tsr_tensor *[]){a, tsr_eye(dev, TSR_F64, 2, 2, 0)}, 2, 0);
  CHECK_VALUES(tsr_solve(matrices, list(TSR_F64, TSR_SHAPE(2, 1), 6, 11)), TSR_F64, TSR_SHAPE(2, 2, 1), 1e-15, 2, 3, 6,
               11);
  CHECK_VALUES(tsr_solve(list(TSR_I32, TSR_SHAPE(1, 1), 4), list(TSR_F16, TSR_SHAPE(1), 2)), TSR_F16, TSR_SHAPE(1), 0,
               0.5);
  finish();
}

TEST(solve_of_many_equations_leaves_a_small_residual) {
  begin();
  tsr_tensor *a = tsr_randn(dev, TSR_F32, TSR_SHAPE(150, 150), 5), *b = tsr_randn(dev, TSR_F32, TSR_SHAPE(150, 4), 6);
  tsr_tensor *x = tsr_solve(a, b);
  CHECK(largest(tsr_sub(tsr_matmul(a, x), b)) < 2e-4 * largest(x));
  CHECK(largest(tsr_sub(tsr_matmul(a, tsr_inverse(a)), tsr_eye(dev, TSR_F32, 150, 150, 0))) < 2e-3);
  finish();
}

// Rows of very different size: pivots are chosen by size, and the solution is as exact as the rows allow.
TEST(solve_of_badly_scaled_rows) {
  begin();
  tsr_tensor *a = list(TSR_F64, TSR_SHAPE(2, 2), 1e-100, 1e-100, 1e100, -1e100);
  CHECK_VALUES(tsr_solve(a, list(TSR_F64, TSR_SHAPE(2), 3e-100, 1e100)), TSR_F64, TSR_SHAPE(2), 1e-14, 2, 1);
  finish();
}

TEST(solving_with_a_singular_matrix_gives_no_number_and_spares_the_others) {
  begin();
  tsr_tensor *a = list(TSR_F64, TSR_SHAPE(2, 2, 2), 1, 2, 2, 4, 2, 0, 0, 4);
  tsr_tensor *x = tsr_solve(a, list(TSR_F64, TSR_SHAPE(2, 1), 2, 3));
  tsr_tensor *good = tsr_slice(x, 0, 1, 2, 1), *bad = tsr_slice(x, 0, 0, 1, 1);
  CHECK_VALUES(good, TSR_F64, TSR_SHAPE(1, 2, 1), 0, 1, 0.75);
  CHECK_VALUES(tsr_any(tsr_isfinite(bad), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
  finish();
}

TEST(triangular_solve_reads_one_triangle) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(2, 2), 2, 5, 3, 4), *b = list(TSR_F32, TSR_SHAPE(2), 4, 14);
  CHECK_VALUES(tsr_triangular_solve(a, b, false, false, false), TSR_F32, TSR_SHAPE(2), 0, 2, 2);
  CHECK_VALUES(tsr_triangular_solve(a, b, false, true, false), TSR_F32, TSR_SHAPE(2), 0, -3.25, 3.5);
  CHECK_VALUES(tsr_triangular_solve(a, b, true, false, false), TSR_F32, TSR_SHAPE(2), 0, -6.75, 3.5);
  CHECK_VALUES(tsr_triangular_solve(a, b, false, false, true), TSR_F32, TSR_SHAPE(2), 0, 4, 2);
  finish();
}

// `count` triangular matrices of n rows, as a view that begins at an element and has its axes exchanged if is_turned, multiplied by what was solved.
static void check_triangle(tsr_dtype dtype, int64_t count, int64_t n, int64_t columns, bool is_turned, double bound) {
  tsr_tensor *numbers = tsr_randn(dev, dtype, TSR_SHAPE(count + 1, n, n), (uint64_t)n);
  tsr_tensor *some = tsr_slice(numbers, 0, 1, INT64_MAX, 1), *view = is_turned ? transposed(some) : some;
  tsr_tensor *a = tsr_add(tsr_div_scalar(view, (double)n), tsr_eye(dev, dtype, n, n, 0));
  if (is_turned) a = transposed(tsr_contiguous(transposed(a)));
  tsr_tensor *b = tsr_randn(dev, dtype, TSR_SHAPE(count, n, columns), 7);
  for (int kind = 0; kind < 4; kind++) {
    bool is_upper = kind & 1, is_unit = (kind & 2) != 0;
    tsr_tensor *x = tsr_triangular_solve(a, b, is_upper, false, is_unit);
    tsr_tensor *strict = is_upper ? tsr_triu(a, 1) : tsr_tril(a, -1), *one = tsr_eye(dev, dtype, n, n, 0);
    tsr_tensor *diagonal = is_unit ? one : tsr_mul(a, one), *whole = tsr_add(strict, diagonal);
    CHECK(largest(tsr_sub(tsr_matmul(whole, x), b)) < bound);
  }
}

// By the kernels that GPUs take: fewer rows than a work-group takes, one block, several with a rest; all columns in one work-group, or in several.
TEST(kernels_solve_with_triangles_of_any_size) {
  static const int64_t sizes[][3] = {{3, 1, 2},  {2, 15, 3}, {2, 16, 1},  {3, 31, 5}, {1, 32, 8},
                                     {2, 33, 9}, {1, 64, 2}, {2, 97, 17}, {1, 257, 4}};
  begin();
  tsri_native_allow(false);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const int64_t *s = sizes[i];
    check_triangle(i % 2 ? TSR_F64 : TSR_F32, s[0], s[1], s[2], i % 3 == 1, i % 2 ? 1e-13 : 3e-5);
  }
  tsri_native_allow(true);
  finish();
}

TEST(triangular_solve_is_one_launch) {
  begin();
  tsri_native_allow(false);
  tsr_tensor *a = tsr_eye(dev, TSR_F32, 100, 100, 0), *b = tsr_randn(dev, TSR_F32, TSR_SHAPE(100, 3), 1);
  CHECK_OK(tsr_evaluate(a));
  CHECK_OK(tsr_evaluate(b));
  CHECK_OK(tsr_profile_begin(NULL));
  CHECK_OK(tsr_evaluate(tsr_triangular_solve(a, b, true, false, false)));
  CHECK_EQ_INT(end_counting("solve_whole"), 1);
  tsri_native_allow(true);
  finish();
}

// The factors of a matrix multiply back to its rows in the order of the permutation.
static void check_lu(tsr_dtype dtype, int64_t batch, int64_t m, int64_t n, double bound) {
  tsr_tensor *x = tsr_randn(dev, dtype, TSR_SHAPE(batch, m, n), (uint64_t)(m + n)), *factors = NULL, *rows = NULL;
  CHECK_OK(tsr_lu(x, &factors, &rows));
  int64_t count = m < n ? m : n;
  tsr_tensor *left = tsr_slice(tsr_tril(factors, -1), -1, 0, count, 1),
             *upper = tsr_slice(tsr_triu(factors, 0), -2, 0, count, 1);
  tsr_tensor *lower = tsr_add(left, tsr_eye(dev, dtype, m, count, 0));
  tsr_tensor *indices = tsr_expand(tsr_unsqueeze(rows, -1), TSR_SHAPE(batch, m, n));
  CHECK(largest(tsr_sub(tsr_matmul(lower, upper), tsr_gather(x, -2, indices))) < bound);
  CHECK(largest(lower) <= 1);
}

// By the kernels that GPUs take: matrices that one launch factors, square, wide and tall, and larger ones, block by block.
TEST(kernels_factor_matrices_of_any_size) {
  static const int64_t sizes[][3] = {{3, 1, 1},  {2, 5, 9},    {2, 9, 5},     {3, 32, 32},   {1, 33, 33},
                                     {2, 64, 7}, {2, 31, 100}, {1, 100, 100}, {1, 129, 140}, {1, 260, 70}};
  begin();
  tsri_native_allow(false);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    check_lu(i % 2 ? TSR_F64 : TSR_F32, sizes[i][0], sizes[i][1], sizes[i][2], i % 2 ? 1e-12 : 1e-4);
  }
  tsri_native_allow(true);
  finish();
}

TEST(lu_of_a_small_matrix_is_one_launch) {
  begin();
  tsri_native_allow(false);
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(2, 100, 100), 1), *factors = NULL;
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_profile_begin(NULL));
  CHECK_OK(tsr_lu(x, &factors, NULL));
  CHECK_OK(tsr_evaluate(factors));
  CHECK_EQ_INT(end_counting("lu_whole"), 1);
  tsri_native_allow(true);
  finish();
}

// The matrices lie one after the other, but the batch axis next to them, of one element, has a stride of its own.
TEST(triangular_solve_takes_batches_whose_axes_were_exchanged) {
  begin();
  tsr_tensor *a = tsr_transpose(list(TSR_F32, TSR_SHAPE(1, 2, 2, 2), 2, 0, 3, 4, 1, 0, 5, 2), 0, 1);
  tsr_tensor *b = list(TSR_F32, TSR_SHAPE(2, 1, 2, 1), 4, 14, 3, 19);
  CHECK_VALUES(tsr_triangular_solve(a, b, false, false, false), TSR_F32, TSR_SHAPE(2, 1, 2, 1), 0, 2, 2, 3, 2);
  CHECK_VALUES(tsr_triangular_solve(a, b, false, true, false), TSR_F32, TSR_SHAPE(2, 1, 2, 1), 0, -3.25, 3.5, -44.5,
               9.5);
  finish();
}

TEST(det_and_slogdet_know_the_sign_of_exchanges) {
  begin();
  tsr_tensor *sign = NULL, *log = NULL;
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(3, 2, 2), 0, 2, 3, 0, 5, 0, 0, 2, 1, 2, 2, 4);
  CHECK_VALUES(tsr_det(x), TSR_F64, TSR_SHAPE(3), 0, -6, 10, 0);
  CHECK_OK(tsr_slogdet(x, &sign, &log));
  CHECK_VALUES(sign, TSR_F64, TSR_SHAPE(3), 0, -1, 1, 0);
  CHECK_VALUES(log, TSR_F64, TSR_SHAPE(3), 1e-15, 1.791759469228055, 2.302585092994046, -INFINITY);
  finish();
}

TEST(det_of_matrices_without_elements_is_one) {
  begin();
  tsr_tensor *sign = NULL, *log = NULL, *nothing = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0, 0));
  CHECK_VALUES(tsr_det(nothing), TSR_F32, TSR_SHAPE(2), 0, 1, 1);
  CHECK_OK(tsr_slogdet(nothing, &sign, &log));
  CHECK_VALUES(log, TSR_F32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_VALUES(sign, TSR_F32, TSR_SHAPE(2), 0, 1, 1);
  finish();
}

TEST(matrices_without_elements_and_empty_batches_give_empty_results) {
  begin();
  tsr_tensor *none = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3, 3)), *rows = NULL,
             *flat = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3, 0));
  CHECK_EMPTY(tsr_cholesky(none, false), TSR_F32, TSR_SHAPE(0, 3, 3));
  CHECK_EMPTY(tsr_inverse(none), TSR_F32, TSR_SHAPE(0, 3, 3));
  CHECK_EMPTY(tsr_det(none), TSR_F32, TSR_SHAPE(0));
  CHECK_EMPTY(tsr_solve(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 0)), tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2))), TSR_F32,
              TSR_SHAPE(0, 2));
  CHECK_OK(tsr_lu(flat, NULL, &rows));
  CHECK_VALUES(rows, TSR_I32, TSR_SHAPE(2, 3), 0, 0, 1, 2, 0, 1, 2);
  finish();
}

TEST(matrix_power_multiplies_and_inverts) {
  begin();
  tsr_tensor *x = list(TSR_F64, TSR_SHAPE(2, 2), 1, 1, 1, 0);
  CHECK_VALUES(tsr_matrix_power(x, 10), TSR_F64, TSR_SHAPE(2, 2), 0, 89, 55, 55, 34);
  CHECK_VALUES(tsr_matrix_power(x, -3), TSR_F64, TSR_SHAPE(2, 2), 1e-15, -1, 2, 2, -3);
  CHECK_VALUES(tsr_matrix_power(x, 0), TSR_F64, TSR_SHAPE(2, 2), 0, 1, 0, 0, 1);
  finish();
}

TEST(operators_on_matrices_refuse_other_shapes) {
  begin();
  tsr_tensor *wide = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 4)), *row = tsr_zeros(dev, TSR_F32, TSR_SHAPE(5)),
             *out = NULL;
  CHECK_FAILS(tsr_cholesky(wide, false), TSR_ERR_SHAPE, "cholesky: takes square matrices, not 3x4");
  CHECK_FAILS(tsr_inverse(row), TSR_ERR_SHAPE, "inverse: takes matrices, which have 2 axes or more, not [5]");
  CHECK_FAILS(tsr_solve(tsr_eye(dev, TSR_F32, 3, 3, 0), wide = tsr_zeros(dev, TSR_F32, TSR_SHAPE(4, 3))), TSR_ERR_SHAPE,
              "solve: b is 4x3");
  CHECK_STATUS(tsr_lu(row, &out, NULL), TSR_ERR_SHAPE);
  CHECK(out == NULL);
  CHECK_STATUS(tsr_slogdet(NULL, &out, NULL), TSR_ERR_INVALID_ARGUMENT);
  finish();
}
