// SPDX-License-Identifier: MIT
// Factors of matrices that are large enough for native operators, by property: with LAPACK, with a fake of it, or on the backend of TSR_TEST_BACKEND.
#include <stdlib.h>

#include "backends/cpu/lapack/lapack.h"
#include "ops_testing.h"

// Rows of the square matrices: enough for the device's native operators.
static int64_t size;

static bool is_cpu(void) { return strcmp(tsr_device_backend(dev), "cpu") == 0; }

// Opens the device to test. On the CPU: with the fake library if `path` is not NULL.
static void begin_with(const char *path) {
  const char *backend = getenv("TSR_TEST_BACKEND");
  static const char *names[2];
  names[0] = path;
  if (path) tsri_lapack_names = names;
  tsri_lapack_forget();
  dev = test_open(backend ? backend : "cpu");
  test_scope = tsr_scope_begin(dev);
  size = is_cpu() ? 70 : 300;
}

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(x), NULL, 0, false), &value));
  return value;
}

static tsr_tensor *transposed(tsr_tensor *x) { return tsr_transpose(x, -2, -1); }

// What a result of `dtype` may be away from what it should be, relative to the largest element.
static double bound_of(tsr_dtype dtype) { return dtype == TSR_F64 ? 1e-12 : 1e-4; }

static void check_close(tsr_tensor *is, tsr_tensor *wanted) {
  double bound = bound_of(tsr_tensor_dtype(is)) * (1 + largest(wanted)), away = largest(tsr_sub(is, wanted));
  CHECK(away <= bound);  // false for NaN
}

static void check_orthonormal(tsr_tensor *columns) {
  int64_t n = tsr_tensor_shape(columns).dims[tsr_tensor_shape(columns).rank - 1];
  check_close(tsr_matmul(transposed(columns), columns), tsr_eye(dev, tsr_tensor_dtype(columns), n, n, 0));
}

static tsr_tensor *random_matrix(tsr_dtype dtype, int64_t m, int64_t n) {
  return tsr_randn(dev, dtype, TSR_SHAPE(m, n), (uint64_t)(m * 7 + n));
}

static tsr_tensor *positive(tsr_dtype dtype, int64_t n) {
  tsr_tensor *x = random_matrix(dtype, n, n);
  return tsr_add(tsr_mul_scalar(tsr_matmul(x, transposed(x)), 1.0 / (double)n), tsr_eye(dev, dtype, n, n, 0));
}

// --- Properties ----------------------------------------------------------------------------------------------------------

static void check_cholesky(tsr_dtype dtype) {
  tsr_tensor *x = positive(dtype, size), *lower = tsr_cholesky(x, false), *upper = tsr_cholesky(transposed(x), true);
  check_close(tsr_matmul(lower, transposed(lower)), x);
  check_close(transposed(upper), lower);
  CHECK(largest(tsr_triu(lower, 1)) == 0);
}

static void check_lu(tsr_dtype dtype, int64_t m, int64_t n) {
  tsr_tensor *x = random_matrix(dtype, m, n), *factors = NULL, *rows = NULL;
  CHECK_OK(tsr_lu(x, &factors, &rows));
  int64_t k = m < n ? m : n;
  tsr_tensor *lower = tsr_add(tsr_tril(tsr_slice(factors, 1, 0, k, 1), -1), tsr_eye(dev, dtype, m, k, 0));
  check_close(tsr_matmul(lower, tsr_triu(tsr_slice(factors, 0, 0, k, 1), 0)), tsr_index_select(x, 0, rows));
  CHECK(largest(lower) <= 1);
}

static void check_solving(tsr_dtype dtype) {
  tsr_tensor *x = tsr_add(random_matrix(dtype, size, size), tsr_mul_scalar(tsr_eye(dev, dtype, size, size, 0), 50));
  tsr_tensor *b = random_matrix(dtype, size, 5), *ones = tsr_eye(dev, dtype, size, size, 0);
  check_close(tsr_matmul(x, tsr_solve(x, b)), b);
  check_close(tsr_matmul(tsr_inverse(x), x), ones);
  for (int i = 0; i < 8; i++) {
    bool is_upper = i & 1, is_turned = (i & 2) != 0, is_unit = (i & 4) != 0;
    tsr_tensor *l = is_upper ? tsr_triu(x, is_unit) : tsr_tril(x, is_unit ? -1 : 0), *a = l;
    if (is_unit) a = l = tsr_add(tsr_mul_scalar(l, 0.01), ones);
    if (is_turned) a = transposed(a);
    check_close(tsr_matmul(a, tsr_triangular_solve(l, b, is_upper, is_turned, is_unit)), b);
    check_close(tsr_matmul(a, tsr_triangular_solve(transposed(l), b, !is_upper, !is_turned, is_unit)), b);
  }
}

static void check_qr(tsr_dtype dtype, int64_t m, int64_t n, bool is_complete) {
  tsr_tensor *x = random_matrix(dtype, m, n), *q = NULL, *r = NULL;
  CHECK_OK(tsr_qr(x, is_complete, &q, &r));
  check_orthonormal(q);
  check_close(tsr_matmul(q, r), x);
  CHECK(largest(tsr_tril(r, -1)) == 0);
  int64_t k = is_complete || m < n ? m : n;
  CHECK(tsr_tensor_shape(q).dims[1] == k && tsr_tensor_shape(r).dims[0] == k);
}

static void check_spectra(tsr_dtype dtype) {
  tsr_tensor *x = random_matrix(dtype, size, size), *u = NULL, *s = NULL, *vt = NULL, *values = NULL, *vectors = NULL;
  tsr_tensor *half = tsr_slice(x, 1, 0, size / 2, 1), *sum = tsr_add(x, transposed(x));
  tsr_tensor *const matrices[3] = {x, half, transposed(half)};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(tsr_svd(matrices[i], false, &u, &s, &vt));
    check_close(tsr_matmul(tsr_mul(u, s), vt), matrices[i]);
    check_orthonormal(u);
    check_orthonormal(transposed(vt));
    CHECK(largest(tsr_sub(s, tsr_sort(s, 0, true))) == 0);
  }
  CHECK_OK(tsr_eigh(sum, &values, &vectors));
  check_close(tsr_matmul(sum, vectors), tsr_mul(vectors, values));
  check_orthonormal(vectors);
  CHECK(largest(tsr_sub(values, tsr_sort(values, 0, false))) == 0);
}

static void check_all(void) {
  const tsr_dtype dtypes[] = {TSR_F32, TSR_F64};
  for (int i = 0; i < 2; i++) {
    check_cholesky(dtypes[i]);
    check_lu(dtypes[i], size, size);
    check_lu(dtypes[i], size + 9, size);
    check_lu(dtypes[i], size, size + 9);
    check_solving(dtypes[i]);
    check_qr(dtypes[i], size, size, false);
    check_qr(dtypes[i], 2 * size, size, false);
    check_qr(dtypes[i], 2 * size, size, true);
    check_qr(dtypes[i], size, 2 * size, false);
    check_spectra(dtypes[i]);
  }
}

TEST(factors_of_large_matrices_multiply_back) {
  begin_with(NULL);
  check_all();
  finish();
}

// --- What is no number, and what has no factor -----------------------------------------------------------------------------

// Sets the element in row i and column j.
static tsr_tensor *with_element(tsr_tensor *x, int64_t i, int64_t j, double value) {
  tsr_tensor *place = tsr_slice(tsr_slice(x, -2, i, i + 1, 1), -1, j, j + 1, 1);
  CHECK_OK(tsr_assign(place, tsr_full(dev, tsr_tensor_dtype(x), tsr_tensor_shape(place), value)));
  return x;
}

static bool is_all_nan(tsr_tensor *x) {
  double count = 0;
  CHECK_OK(tsr_item(tsr_sum(tsr_isnan(x), NULL, 0, false), &count));
  return count == (double)tsr_tensor_count(x);
}

// One column is the first that fails; the other matrix of the batch is not affected.
static void check_not_positive(void) {
  int64_t bad_at = size - 20;
  tsr_tensor *good = positive(TSR_F64, size), *bad = tsr_mul_scalar(good, 1);
  with_element(bad, bad_at, bad_at, -1);
  tsr_tensor *both = tsr_stack((tsr_tensor *[]){bad, good}, 2, 0), *wanted = tsr_cholesky(good, false);
  for (int is_turned = 0; is_turned < 2; is_turned++) {
    tsr_tensor *l = tsr_cholesky(is_turned ? tsr_contiguous(both) : tsr_transpose(both, 1, 2), false);
    check_close(tsr_squeeze(tsr_slice(l, 0, 1, 2, 1), 0), wanted);
    tsr_tensor *first = tsr_squeeze(tsr_slice(l, 0, 0, 1, 1), 0);
    check_close(tsr_slice(first, 1, 0, bad_at, 1), tsr_slice(wanted, 1, 0, bad_at, 1));
    CHECK(is_all_nan(tsr_slice(tsr_slice(first, 0, size - 1, size, 1), 1, bad_at, size, 1)));
    CHECK(is_all_nan(tsr_diagonal(tsr_slice(tsr_slice(first, 0, bad_at, size, 1), 1, bad_at, size, 1), 0, 0, 1)));
  }
}

static void check_singular(void) {
  tsr_tensor *half = random_matrix(TSR_F64, size, size / 2), *s = NULL, *u = NULL;
  tsr_tensor *x = tsr_concat((tsr_tensor *[]){half, tsr_zeros(dev, TSR_F64, TSR_SHAPE(size, size / 2))}, 2, 1);
  double det = 1;
  CHECK_OK(tsr_item(tsr_det(x), &det));
  CHECK(det == 0);
  CHECK_OK(tsr_svd(x, false, &u, &s, NULL));
  CHECK(largest(tsr_slice(s, 0, size / 2, size, 1)) < 1e-10);
  check_orthonormal(u);
}

static void check_nan(double what) {
  tsr_tensor *x = with_element(positive(TSR_F32, size), size - 10, 10, what);
  tsr_tensor *values = NULL, *vectors = NULL, *s = NULL, *factors = NULL;
  CHECK_OK(tsr_svd(x, false, NULL, &s, NULL));
  CHECK(is_all_nan(s));
  CHECK_OK(tsr_eigh(x, &values, &vectors));
  CHECK(is_all_nan(values) && is_all_nan(vectors));
  CHECK_OK(tsr_lu(x, &factors, NULL));  // any numbers, but it comes back
  CHECK_OK(tsr_evaluate(factors));
  tsr_tensor *l = tsr_cholesky(x, false);
  double corner = 0;
  CHECK_OK(tsr_item(tsr_slice(tsr_slice(l, 0, size - 1, size, 1), 1, size - 1, size, 1), &corner));
  CHECK(corner != corner);
}

TEST(large_matrices_that_have_no_factor_give_what_small_ones_do) {
  begin_with(NULL);
  check_not_positive();
  check_singular();
  check_nan(NAN);
  check_nan(INFINITY);
  finish();
}

// --- Which path runs -------------------------------------------------------------------------------------------------------

static uint64_t launches_of_cholesky(void) {
  tsr_device_counters before, after;
  tsr_tensor *x = positive(TSR_F32, size);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_device_get_counters(dev, &before));
  CHECK_OK(tsr_evaluate(tsr_cholesky(x, false)));
  CHECK_OK(tsr_device_get_counters(dev, &after));
  return after.launches - before.launches;
}

// A copy, the native operator, the kernel that factors again what failed, and the lower triangle, for which the numbers of rows and columns are packed first; our own
// kernels need two launches for each block of 32 columns.
enum { NATIVE_LAUNCHES = 6 };

static const char *fake_path(void) {
  static char path[1024];
  const char *folder = getenv("TSR_TEST_FAKE_DIR");
  snprintf(path, sizeof path, "%s/fake_lapack.so", folder ? folder : "tests/fakes");
  return path;
}

TEST(a_fake_lapack_factors_large_matrices) {
  begin_with(fake_path());
  if (!is_cpu()) SKIP("LAPACK is for the CPU");
  CHECK_EQ_INT(launches_of_cholesky(), NATIVE_LAUNCHES);
  check_all();
  check_not_positive();
  check_singular();
  check_nan(NAN);
  finish();
}

TEST(without_lapack_or_where_the_setting_forbids_it_kernels_factor) {
  begin_with("libNoSuchLapack.so.3");
  if (!is_cpu()) SKIP("LAPACK is for the CPU");
  CHECK(launches_of_cholesky() > NATIVE_LAUNCHES);
  finish();
  CHECK_OK(tsr_config_set("native", "-lapack"));
  begin_with(fake_path());
  CHECK(launches_of_cholesky() > NATIVE_LAUNCHES);
  finish();
}

TEST(small_matrices_are_left_to_kernels_and_batches_of_them_are_not) {
  begin_with(fake_path());
  if (!is_cpu()) SKIP("LAPACK is for the CPU");
  tsr_device_counters before, after;
  tsr_tensor *x = tsr_add(tsr_zeros(dev, TSR_F64, TSR_SHAPE(200, 8, 8)), positive(TSR_F64, 8));
  check_close(tsr_matmul(tsr_inverse(x), x),
              tsr_add(tsr_zeros(dev, TSR_F64, TSR_SHAPE(200, 8, 8)), tsr_eye(dev, TSR_F64, 8, 8, 0)));
  tsr_tensor *small = positive(TSR_F64, 8);
  CHECK_OK(tsr_evaluate(small));
  CHECK_OK(tsr_device_get_counters(dev, &before));
  CHECK_OK(tsr_evaluate(tsr_cholesky(small, false)));
  CHECK_OK(tsr_device_get_counters(dev, &after));
  CHECK(after.launches - before.launches < NATIVE_LAUNCHES);
  finish();
}

TEST(captured_factors_follow_their_input) {
  begin_with(NULL);
  tsr_tensor *x = tsr_contiguous(positive(TSR_F64, size)), *q = NULL, *r = NULL, *values = NULL;
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_capture_begin(dev));
  tsr_tensor *l = tsr_cholesky(x, false), *inverse = tsr_inverse(x);
  CHECK_OK(tsr_qr(x, false, &q, &r));
  CHECK_OK(tsr_eigh(x, &values, NULL));
  CHECK_OK(tsr_capture_end((tsr_tensor *[]){l, inverse, q, r, values}, 5, &capture));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_assign(x, tsr_mul_scalar(x, 4)));
    CHECK_OK(tsr_capture_run(capture));
    check_close(tsr_matmul(l, transposed(l)), x);
    check_close(tsr_matmul(inverse, x), tsr_eye(dev, TSR_F64, size, size, 0));
    check_close(tsr_matmul(q, r), x);
    check_close(tsr_sum(values, NULL, 0, false), tsr_sum(tsr_diagonal(x, 0, 0, 1), NULL, 0, false));
  }
  tsr_capture_release(capture);
  finish();
}
