// SPDX-License-Identifier: MIT
// Cholesky, LU and what is made of them: cases.
#include <math.h>

#include "check_matrix.h"

static int64_t columns_of(tsr_shape shape) { return shape.dims[shape.rank - 1]; }
static int64_t rows_of(tsr_shape shape) { return shape.dims[shape.rank - 2]; }

// The result has the dtype that it should; checked beside the products, which are computed in f32 or f64.
static bool has_dtype(check_run *run, const tsr_tensor *result, tsr_dtype dtype) {
  if (check_takes_gradients(run)) return true;  // their references are f64
  if (tsr_error(result) != TSR_OK || tsr_tensor_dtype(result) == check_float(dtype)) return true;
  check_fail(run, "the result is %s, not %s", tsr_dtype_name(tsr_tensor_dtype(result)),
             tsr_dtype_name(check_float(dtype)));
  return false;
}

// A case that must be refused: matrices that are not square.
static check_tensor *begin_not_square(check_run *run, tsr_dtype dtype) {
  if (!check_begin(run, CHECK_OFTEN, "not-square")) return NULL;
  return check_matrices(run, dtype, TSR_SHAPE(2, 3, 4), CHECK_PLAIN, CHECK_MATRIX_ANY);
}

void check_cholesky(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    for (int upper = 0; upper < 2; upper++) {
      if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s%s", c->name, upper ? "-upper" : ""))
        continue;
      check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_POSITIVE);
      tsr_tensor *l = tsr_cholesky(x->tensor, upper);
      if (!has_dtype(run, l, dtype)) continue;
      tsr_tensor *beyond = upper ? tsr_tril(check_wide(l), -1) : tsr_triu(check_wide(l), 1);
      check_part_result(run, beyond, check_expect_zeros(run, dtype, c->shape, 0, 1));
      tsr_tensor *product = upper ? check_product(check_transposed(l), l) : check_product(l, check_transposed(l));
      check_result(run, product, check_expect_same(run, dtype, x, check_matrix_size(x), columns_of(c->shape)));
    }
  }
  check_tensor *x = begin_not_square(run, dtype);
  if (x) check_refused(run, tsr_cholesky(x->tensor, false), TSR_ERR_SHAPE);
}

// The expected result of sorting the row order of each matrix: 0 to m - 1.
static check_expected *expect_order(check_run *run, tsr_shape shape) {
  check_expected *wanted = check_expect(run, TSR_I32, shape);
  for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].whole = i % columns_of(shape);
  return wanted;
}

static void check_lu_case(check_run *run, tsr_dtype dtype, const check_matrix_case *c) {
  int64_t m = rows_of(c->shape), n = columns_of(c->shape), least = m < n ? m : n;
  check_tensor *x = check_matrices(run, dtype, c->shape, c->view, m == n ? CHECK_MATRIX_REGULAR : CHECK_MATRIX_ANY);
  tsr_tensor *factors = NULL, *rows = NULL;
  if (tsr_lu(x->tensor, &factors, &rows) != TSR_OK) {
    check_call_failed(run, tsr_last_error_status());
    return;
  }
  if (!has_dtype(run, factors, dtype)) return;
  tsr_shape order = c->shape;
  order.rank--;
  tsr_tensor *wide = check_wide(factors), *one = tsr_eye(check_device(run), tsr_tensor_dtype(wide), m, least, 0);
  tsr_tensor *l = tsr_add(tsr_tril(tsr_slice(wide, -1, 0, least, 1), -1), one);
  tsr_tensor *u = tsr_triu(tsr_slice(wide, -2, 0, least, 1), 0);
  tsr_tensor *moved = tsr_gather(check_wide(x->tensor), -2, tsr_expand(tsr_unsqueeze(rows, -1), c->shape));
  double size = (double)n * check_matrix_size(x);
  check_part_result(run, tsr_sort(rows, -1, false), expect_order(run, order));
  // Multipliers have a magnitude of at most 1: relu(|l| - 1) must be 0.
  tsr_tensor *above = tsr_relu(tsr_sub_scalar(tsr_abs(l), 1));
  tsr_shape l_shape = c->shape;
  l_shape.dims[l_shape.rank - 1] = least;
  check_part_result(run, above, check_expect_zeros(run, dtype, l_shape, 0, 1));
  check_result(run, tsr_sub(tsr_matmul(l, u), moved), check_expect_zeros(run, dtype, c->shape, size, least));
}

void check_lu(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    if (check_matrix_wants(c, dtype) && check_begin(run, c->weight, "square-%s", c->name)) check_lu_case(run, dtype, c);
  }
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    if (check_matrix_wants(c, dtype) && check_begin(run, c->weight, "%s", c->name)) check_lu_case(run, dtype, c);
  }
}

// --- Equations -------------------------------------------------------------------------------------------------------

static tsr_shape right_side(tsr_shape shape, int64_t columns) {
  shape.dims[shape.rank - 1] = columns;
  return shape;
}

// The part of `a` that triangular_solve reads, as a matrix of f32 or f64 (transposed if asked).
static tsr_tensor *triangle(check_run *run, const check_tensor *a, bool upper, bool transposed, bool unit) {
  tsr_tensor *wide = check_wide(a->tensor);
  tsr_tensor *part = upper ? tsr_triu(wide, unit ? 1 : 0) : tsr_tril(wide, unit ? -1 : 0);
  int64_t n = columns_of(a->shape);
  if (unit) part = tsr_add(part, tsr_eye(check_device(run), tsr_tensor_dtype(wide), n, n, 0));
  return transposed ? check_transposed(part) : part;
}

void check_triangular_solve(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    for (int way = 0; way < 8; way++) {
      bool upper = way & 1, transposed = way & 2, unit = way & 4;
      if (!check_matrix_wants(c, dtype) ||
          !check_begin(run, way ? CHECK_OFTEN : c->weight, "%s%s%s%s", c->name, upper ? "-upper" : "",
                       transposed ? "-transposed" : "", unit ? "-unit" : ""))
        continue;
      check_tensor *a = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_TRIANGLES);
      check_tensor *b = check_matrices(run, dtype, right_side(c->shape, way + 1), c->view, CHECK_MATRIX_ANY);
      tsr_tensor *x = tsr_triangular_solve(a->tensor, b->tensor, upper, transposed, unit);
      if (!has_dtype(run, x, dtype)) continue;
      int64_t n = columns_of(c->shape);
      check_result(run, check_product(triangle(run, a, upper, transposed, unit), x),
                   check_expect_same(run, dtype, b, (double)n, n));
    }
  }
  check_tensor *x = begin_not_square(run, dtype);
  if (x) check_refused(run, tsr_triangular_solve(x->tensor, x->tensor, false, false, false), TSR_ERR_SHAPE);
}

void check_solve(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *a = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_REGULAR);
    check_tensor *b = check_matrices(run, dtype, right_side(c->shape, 3), c->view, CHECK_MATRIX_ANY);
    tsr_tensor *x = tsr_solve(a->tensor, b->tensor);
    if (!has_dtype(run, x, dtype)) continue;
    check_result(run, check_product(a->tensor, x), check_expect_same(run, dtype, b, 4, columns_of(c->shape)));
  }
  check_tensor *x = begin_not_square(run, dtype);
  if (x) check_refused(run, tsr_solve(x->tensor, x->tensor), TSR_ERR_SHAPE);
}

void check_inverse(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_REGULAR);
    tsr_tensor *y = tsr_inverse(x->tensor);
    if (!has_dtype(run, y, dtype)) continue;
    check_result(run, check_product(x->tensor, y),
                 check_expect_identity(run, dtype, c->shape, 4, columns_of(c->shape)));
  }
  check_tensor *x = begin_not_square(run, dtype);
  if (x) check_refused(run, tsr_inverse(x->tensor), TSR_ERR_SHAPE);
}

// --- Determinants ----------------------------------------------------------------------------------------------------

// The determinant of an n x n matrix by elimination with partial pivoting, and the logarithm of its magnitude. Overwrites `a`.
static double reference_det(double *a, int64_t n, double *out_log) {
  double product = 1;
  *out_log = 0;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++) pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
    for (int64_t j = 0; j < n && pivot != k; j++) {
      double other = a[pivot * n + j];
      a[pivot * n + j] = a[k * n + j];
      a[k * n + j] = other;
    }
    double corner = a[k * n + k];
    product *= pivot != k ? -corner : corner;
    *out_log += log(fabs(corner));
    for (int64_t i = k + 1; i < n; i++) {
      double factor = a[i * n + k] / corner;
      for (int64_t j = k; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

// Copies matrix `number` of x, and computes its determinant with reference_det.
static double det_of(check_run *run, const check_tensor *x, int64_t number, double *out_log) {
  int64_t n = columns_of(x->shape);
  double *a = check_alloc(run, (size_t)(n * n), sizeof *a);
  for (int64_t i = 0; i < n * n; i++) a[i] = check_number(x, number * n * n + i);
  return reference_det(a, n, out_log);
}

static tsr_shape batch_of(tsr_shape shape) {
  shape.rank -= 2;
  return shape;
}

void check_det(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_REGULAR);
    check_expected *wanted = check_expect(run, check_float(dtype), batch_of(c->shape));
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    wanted->terms = columns_of(c->shape);
    for (int64_t i = 0; i < wanted->count; i++) {
      double log = 0;
      wanted->values[i].real = det_of(run, x, i, &log);
      wanted->magnitudes[i] = fabs(wanted->values[i].real);
    }
    check_result(run, tsr_det(x->tensor), wanted);
  }
  check_tensor *x = begin_not_square(run, dtype);
  if (x) check_refused(run, tsr_det(x->tensor), TSR_ERR_SHAPE);
}

void check_slogdet(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_REGULAR);
    check_expected *signs = check_expect(run, check_float(dtype), batch_of(c->shape));
    check_expected *logs = check_expect(run, check_float(dtype), batch_of(c->shape));
    logs->magnitudes = check_alloc(run, (size_t)logs->count, sizeof(double));
    logs->terms = columns_of(c->shape);
    for (int64_t i = 0; i < signs->count; i++) {
      signs->values[i].real = det_of(run, x, i, &logs->values[i].real) < 0 ? -1 : 1;
      logs->magnitudes[i] = 1 + fabs(logs->values[i].real);
    }
    tsr_tensor *sign = NULL, *log = NULL;
    if (tsr_slogdet(x->tensor, &sign, &log) != TSR_OK) {
      check_call_failed(run, tsr_last_error_status());
      continue;
    }
    check_part_result(run, sign, signs);
    check_result(run, log, logs);
  }
}

// --- Powers ----------------------------------------------------------------------------------------------------------

// c = a * b, for matrices of n x n.
static void multiply(int64_t n, const double *a, const double *b, double *out_c) {
  for (int64_t i = 0; i < n * n; i++) {
    out_c[i] = 0;
    for (int64_t k = 0; k < n; k++) out_c[i] += a[i / n * n + k] * b[k * n + i % n];
  }
}

void check_matrix_power(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int power = 0; power < 6; power++) {
    if (!check_begin(run, power == 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%d", power)) continue;
    enum { N = 5 };
    check_tensor *x = check_matrices(run, dtype, TSR_SHAPE(3, N, N), (check_view)power, CHECK_MATRIX_ANY);
    check_expected *wanted = check_expect(run, check_float(dtype), x->shape);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    wanted->terms = N * power;
    for (int64_t at = 0; at < wanted->count; at += N * N) {
      double a[N * N], sizes[N * N], result[N * N] = {0}, bound[N * N] = {0}, next[N * N];
      for (int i = 0; i < N * N; i++) {
        a[i] = check_number(x, at + i);
        sizes[i] = fabs(a[i]);
        result[i] = bound[i] = i / N == i % N;
      }
      for (int p = 0; p < power; p++) {
        multiply(N, result, a, next);
        for (int i = 0; i < N * N; i++) result[i] = next[i];
        multiply(N, bound, sizes, next);
        for (int i = 0; i < N * N; i++) bound[i] = next[i];
      }
      for (int i = 0; i < N * N; i++) {
        wanted->values[at + i].real = result[i];
        wanted->magnitudes[at + i] = bound[i];
      }
    }
    check_result(run, tsr_matrix_power(x->tensor, power), wanted);
  }
  if (check_begin(run, CHECK_OFTEN, "negative")) {
    check_tensor *x = check_matrices(run, dtype, TSR_SHAPE(2, 4, 4), CHECK_PLAIN, CHECK_MATRIX_REGULAR);
    tsr_tensor *power = tsr_matrix_power(x->tensor, -2);
    tsr_tensor *product = check_product(x->tensor, check_product(x->tensor, power));
    check_result(run, product, check_expect_identity(run, dtype, x->shape, 16, 4));
  }
  check_tensor *x = begin_not_square(run, dtype);
  if (x) check_refused(run, tsr_matrix_power(x->tensor, 2), TSR_ERR_SHAPE);
}
