// SPDX-License-Identifier: MIT
#include "ops_testing.h"
#include "runtime/native_op.h"

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(x), NULL, 0, false), &value));
  return value;
}

static tsr_tensor *transposed(tsr_tensor *x) { return tsr_transpose(x, -2, -1); }

static double distance_from_identity(tsr_tensor *x) {
  int64_t n = tsr_tensor_shape(x).dims[tsr_tensor_shape(x).rank - 1];
  return largest(tsr_sub(x, tsr_eye(dev, tsr_tensor_dtype(x), n, n, 0)));
}

static tsr_tensor *rebuilt(tsr_tensor *u, tsr_tensor *s, tsr_tensor *vt) {
  int64_t count = tsr_tensor_shape(s).dims[tsr_tensor_shape(s).rank - 1];
  tsr_tensor *left = tsr_mul(tsr_slice(u, -1, 0, count, 1), tsr_unsqueeze(s, -2));
  return tsr_matmul(left, tsr_slice(vt, -2, 0, count, 1));
}

// u * diag(s) * vt is x, and u and vt are orthonormal.
static void check_svd(tsr_tensor *x, bool full, double bound) {
  tsr_tensor *u = NULL, *s = NULL, *vt = NULL;
  CHECK_OK(tsr_svd(x, full, &u, &s, &vt));
  CHECK(distance_from_identity(tsr_matmul(transposed(u), u)) < bound);
  CHECK(distance_from_identity(tsr_matmul(vt, transposed(vt))) < bound);
  CHECK(largest(tsr_sub(rebuilt(u, s, vt), x)) <= bound * largest(x));
}

TEST(svd_of_a_known_matrix) {
  begin();
  tsr_tensor *s = NULL, *x = list(TSR_F64, TSR_SHAPE(2, 2), 3, 0, 4, 5);
  CHECK_OK(tsr_svd(x, false, NULL, &s, NULL));
  CHECK_VALUES(s, TSR_F64, TSR_SHAPE(2), 1e-14, 6.708203932499369, 2.23606797749979);
  finish();
}

TEST(svd_multiplies_back_for_tall_wide_and_square_matrices) {
  begin();
  static const int64_t sizes[][2] = {{1, 1}, {40, 17}, {17, 40}, {50, 50}, {1, 6}, {6, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(sizes[i][0], sizes[i][1]), i);
    check_svd(x, false, 1e-13);
    check_svd(x, true, 1e-13);
  }
  check_svd(tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 20, 12), 5), false, 1e-5);
  finish();
}

// More than 128 columns take several work-groups, and one launch for each step.
TEST(svd_of_many_columns) {
  begin();
  check_svd(tsr_randn(dev, TSR_F32, TSR_SHAPE(131, 131), 8), false, 5e-5);
  finish();
}

// By the kernels that GPUs take, at the ends of each way to share matrices among work-groups: several matrices in a group, one, and one in memory.
TEST(kernels_rotate_matrices_of_any_size) {
  static const int64_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 32, 33, 64, 65, 70};
  begin();
  tsri_native_allow(false);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    int64_t n = sizes[i], batch = n < 33 ? 5 : 1;
    tsr_tensor *x = tsr_randn(dev, i % 2 ? TSR_F64 : TSR_F32, TSR_SHAPE(batch, n, n), i);
    check_svd(x, false, i % 2 ? 1e-13 : 3e-5);
  }
  tsri_native_allow(true);
  finish();
}

// One launch rotates all pairs of all sweeps.
TEST(rotations_of_few_vectors_are_one_launch) {
  begin();
  tsri_native_allow(false);
  tsr_tensor *u = NULL, *s = NULL, *vt = NULL, *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 20, 20), 6);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_profile_begin(NULL));
  CHECK_OK(tsr_svd(x, false, &u, &s, &vt));
  CHECK_OK(tsr_evaluate(s));
  CHECK_EQ_INT(end_counting("jacobi_few"), 1);
  tsri_native_allow(true);
  finish();
}

TEST(svd_of_dependent_columns_has_orthonormal_vectors) {
  begin();
  check_svd(list(TSR_F64, TSR_SHAPE(4, 3), 1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12), false, 1e-14);
  check_svd(tsr_zeros(dev, TSR_F64, TSR_SHAPE(3, 2)), true, 1e-15);
  finish();
}

// Rows and columns of very different size, and numbers whose squares overflow or vanish.
TEST(svd_of_badly_scaled_matrices) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(20, 20), 3);
  tsr_tensor *scales = tsr_exp(tsr_arange(dev, TSR_F32, -30, 30, 3));
  check_svd(tsr_mul(x, scales), false, 1e-4);
  check_svd(tsr_mul(x, tsr_unsqueeze(scales, 1)), false, 1e-4);
  check_svd(tsr_mul_scalar(x, 1e30), false, 1e-5);
  check_svd(tsr_mul_scalar(x, 1e-30), false, 1e-5);
  tsr_tensor *s = NULL, *graded = list(TSR_F64, TSR_SHAPE(2, 2), 1e150, 0, 0, 1e-150);
  CHECK_OK(tsr_svd(graded, false, NULL, &s, NULL));
  CHECK_VALUES(s, TSR_F64, TSR_SHAPE(2), 1e137, 1e150, 0);
  finish();
}

TEST(svd_of_what_is_no_number_is_nan) {
  begin();
  tsr_tensor *s = NULL;
  CHECK_OK(tsr_svd(list(TSR_F32, TSR_SHAPE(2, 2), NAN, 1, 2, 3), false, NULL, &s, NULL));
  CHECK_VALUES(s, TSR_F32, TSR_SHAPE(2), 0, NAN, NAN);
  CHECK_OK(tsr_svd(list(TSR_F32, TSR_SHAPE(2, 2), INFINITY, 1, 2, 3), false, NULL, &s, NULL));
  CHECK_VALUES(s, TSR_F32, TSR_SHAPE(2), 0, NAN, NAN);
  finish();
}

TEST(svd_of_nothing_has_no_values_and_any_vectors) {
  begin();
  tsr_tensor *u = NULL, *s = NULL, *vt = NULL;
  CHECK_OK(tsr_svd(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), true, &u, &s, &vt));
  CHECK_VALUES(u, TSR_F32, TSR_SHAPE(2, 2), 0, 1, 0, 0, 1);
  CHECK_EMPTY(s, TSR_F32, TSR_SHAPE(0));
  CHECK_EMPTY(vt, TSR_F32, TSR_SHAPE(0, 0));
  CHECK_OK(tsr_svd(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3, 2)), false, &u, &s, &vt));
  CHECK_EMPTY(u, TSR_F32, TSR_SHAPE(0, 3, 2));
  CHECK_EMPTY(vt, TSR_F32, TSR_SHAPE(0, 2, 2));
  finish();
}

// x * v is v * diag(values), and v is orthonormal.
static void check_eigh(tsr_tensor *x, double bound) {
  tsr_tensor *values = NULL, *vectors = NULL;
  CHECK_OK(tsr_eigh(x, &values, &vectors));
  CHECK(distance_from_identity(tsr_matmul(transposed(vectors), vectors)) < bound);
  tsr_tensor *left = tsr_sub(tsr_matmul(x, vectors), tsr_mul(vectors, tsr_unsqueeze(values, -2)));
  CHECK(largest(left) <= bound * largest(x));
}

TEST(eigh_of_known_matrices_gives_ascending_values) {
  begin();
  tsr_tensor *values = NULL, *vectors = NULL;
  CHECK_OK(tsr_eigh(list(TSR_F64, TSR_SHAPE(2, 2), 2, 99, 1, 2), &values, &vectors));  // above the diagonal is not read
  CHECK_VALUES(values, TSR_F64, TSR_SHAPE(2), 1e-15, 1, 3);
  double half = 0.7071067811865476;
  CHECK_VALUES(tsr_abs(vectors), TSR_F64, TSR_SHAPE(2, 2), 1e-15, half, half, half, half);
  CHECK_OK(tsr_eigh(list(TSR_F32, TSR_SHAPE(2, 2), 0, 1, 1, 0), &values, NULL));  // of one size and opposite sign
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(2), 1e-6, -1, 1);
  finish();
}

TEST(eigh_of_random_and_of_extreme_matrices) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F64, TSR_SHAPE(2, 40, 40), 4), *s = tsr_add(x, transposed(x));
  check_eigh(s, 1e-12);
  check_eigh(tsr_mul_scalar(s, 1e200), 1e-12);
  check_eigh(tsr_zeros(dev, TSR_F64, TSR_SHAPE(3, 3)), 1e-15);
  check_eigh(tsr_eye(dev, TSR_F64, 5, 5, 0), 1e-15);
  check_eigh(tsr_ones(dev, TSR_F64, TSR_SHAPE(9, 9)), 1e-13);
  check_eigh(list(TSR_F64, TSR_SHAPE(1, 1), -7), 1e-15);
  finish();
}

TEST(eigh_and_svd_refuse_other_shapes) {
  begin();
  tsr_tensor *out = NULL;
  CHECK_STATUS(tsr_eigh(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3)), &out, NULL), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("eigh: takes square matrices, not 2x3");
  CHECK_STATUS(tsr_svd(tsr_zeros(dev, TSR_F32, TSR_SHAPE(3)), true, &out, NULL, NULL), TSR_ERR_SHAPE);
  CHECK(out == NULL);
  finish();
}
