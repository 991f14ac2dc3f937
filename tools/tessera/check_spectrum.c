// SPDX-License-Identifier: MIT
// Eigenvalues, singular values and what is made of them: cases.
#include <math.h>

#include "check_matrix.h"

static int64_t columns_of(tsr_shape shape) { return shape.dims[shape.rank - 1]; }
static int64_t rows_of(tsr_shape shape) { return shape.dims[shape.rank - 2]; }
static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

static tsr_shape with_sizes(tsr_shape shape, int64_t rows, int64_t columns) {
  shape.dims[shape.rank - 2] = rows;
  shape.dims[shape.rank - 1] = columns;
  return shape;
}

static tsr_shape vectors_of(tsr_shape shape, int64_t size) {
  shape.dims[--shape.rank - 1] = size;
  return shape;
}

// Multiplies column j of each matrix by number j of a row.
static tsr_tensor *scaled(tsr_tensor *columns, tsr_tensor *numbers) {
  return tsr_mul(check_wide(columns), tsr_unsqueeze(check_wide(numbers), -2));
}

// By how much neighbouring numbers are in the wrong order: max(0, difference), so 0 everywhere for a sorted list.
static tsr_tensor *disorder(tsr_tensor *numbers, int64_t count, bool is_descending) {
  tsr_tensor *first = tsr_slice(check_wide(numbers), -1, 0, count - 1, 1),
             *next = tsr_slice(check_wide(numbers), -1, 1, count, 1);
  return tsr_relu(is_descending ? tsr_sub(next, first) : tsr_sub(first, next));
}

static void check_eigh_case(check_run *run, tsr_dtype dtype, const check_matrix_case *c) {
  check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_SYMMETRIC);
  tsr_tensor *values = NULL, *vectors = NULL;
  if (tsr_eigh(x->tensor, &values, &vectors) != TSR_OK) {
    check_call_failed(run, tsr_last_error_status());
    return;
  }
  int64_t n = columns_of(c->shape);
  double size = (double)n * check_matrix_size(x);
  tsr_shape pairs = vectors_of(c->shape, n - 1);
  check_part_result(run, disorder(values, n, false), check_expect_zeros(run, dtype, pairs, 0, 1));
  check_part_result(run, check_product(check_transposed(vectors), vectors),
                    check_expect_identity(run, dtype, c->shape, 1, n));
  // Checks vectors * values * vectors^T, not x * vectors - vectors * values: the signs of the vectors are not specified, and the latter's gradient would depend
  // on them.
  tsr_tensor *product = check_product(scaled(vectors, values), check_transposed(vectors));
  check_result(run, product, check_expect_same(run, dtype, x, size, n));
}

void check_eigh(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    if (check_matrix_wants(c, dtype) && check_begin(run, c->weight, "%s", c->name)) check_eigh_case(run, dtype, c);
  }
}

static void check_svd_case(check_run *run, tsr_dtype dtype, const check_matrix_case *c, bool full) {
  check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_ANY);
  tsr_tensor *u = NULL, *s = NULL, *vt = NULL;
  if (tsr_svd(x->tensor, full, &u, &s, &vt) != TSR_OK) {
    check_call_failed(run, tsr_last_error_status());
    return;
  }
  int64_t m = rows_of(c->shape), n = columns_of(c->shape), count = lesser(m, n), left = full ? m : count,
          right = full ? n : count;
  double size = sqrt((double)(m * n)) * check_matrix_size(x);
  check_part_result(run, disorder(s, count, true),
                    check_expect_zeros(run, dtype, vectors_of(c->shape, count - 1), 0, 1));
  check_part_result(run, check_product(check_transposed(u), u),
                    check_expect_identity(run, dtype, with_sizes(c->shape, left, left), 1, m + n));
  check_part_result(run, check_product(vt, check_transposed(vt)),
                    check_expect_identity(run, dtype, with_sizes(c->shape, right, right), 1, m + n));
  tsr_tensor *product = check_product(scaled(tsr_slice(u, -1, 0, count, 1), s), tsr_slice(vt, -2, 0, count, 1));
  check_result(run, product, check_expect_same(run, dtype, x, size, m + n));
}

void check_svd(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    for (int full = 0; full < 2; full++) {
      if (check_matrix_wants(c, dtype) && check_begin(run, c->weight, "%s%s", c->name, full ? "-full" : ""))
        check_svd_case(run, dtype, c, full);
    }
  }
}

// The case "square" of numbers from -1 to 1 may be near to singular; these are not.
static check_tensor *regular_input(check_run *run, tsr_dtype dtype, const check_matrix_case *c) {
  return check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_POSITIVE);
}

// x * pinv(x) * x is x.
void check_pinv(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = regular_input(run, dtype, c);
    int64_t m = rows_of(c->shape), n = columns_of(c->shape);
    tsr_tensor *product = check_product(check_product(x->tensor, tsr_pinv(x->tensor, 0)), x->tensor);
    check_result(run, product,
                 check_expect_same(run, dtype, x, 4 * sqrt((double)(m * n)) * check_matrix_size(x), m + n));
  }
}

// The input: matrices in which all rows but the first `rank` are copies of the first one.
void check_matrix_rank(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = regular_input(run, dtype, c);
    int64_t m = rows_of(c->shape), n = columns_of(c->shape), rank = (lesser(m, n) + 1) / 2;
    tsr_tensor *rows = tsr_slice(x->tensor, -2, 0, rank, 1), *first = tsr_slice(x->tensor, -2, 0, 1, 1);
    tsr_tensor *parts[2] = {rows, tsr_expand(first, with_sizes(c->shape, m - rank, n))};
    tsr_shape batch = c->shape;
    batch.rank -= 2;
    check_expected *wanted = check_expect(run, TSR_I32, batch);
    for (int64_t i = 0; i < wanted->count; i++) wanted->values[i].whole = rank;
    check_result(run, tsr_matrix_rank(tsr_concat(parts, 2, -2), 0), wanted);
  }
}

// --- Norms -----------------------------------------------------------------------------------------------------------

// The largest (or smallest) sum of magnitudes of the columns (p 1) or rows of matrix `number` of x.
static double norm_of(const check_tensor *x, int64_t number, double p) {
  int64_t m = rows_of(x->shape), n = columns_of(x->shape);
  bool is_rows = isinf(p);
  double best = p < 0 ? INFINITY : 0;
  for (int64_t i = 0; i < (is_rows ? m : n); i++) {
    double sum = 0;
    for (int64_t k = 0; k < (is_rows ? n : m); k++) {
      sum += fabs(check_number(x, number * m * n + (is_rows ? i * n + k : k * n + i)));
    }
    best = p < 0 ? fmin(best, sum) : fmax(best, sum);
  }
  return best;
}

static check_expected *expect_numbers(check_run *run, tsr_dtype dtype, tsr_shape shape, int64_t steps) {
  shape.rank -= 2;
  check_expected *wanted = check_expect(run, check_float(dtype), shape);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = steps;
  return wanted;
}

// Diagonal matrices, whose singular values are known: 1, 2, …
static check_tensor *diagonal_input(check_run *run, tsr_dtype dtype, const check_matrix_case *c) {
  int64_t m = rows_of(c->shape), n = columns_of(c->shape);
  check_value *values = check_alloc(run, (size_t)check_count(c->shape), sizeof *values);
  for (int64_t i = 0; i < check_count(c->shape); i++) {
    int64_t number = i / n % m == i % n ? (dtype == TSR_BOOL ? 1 : i % n + 1) : 0;
    if (check_is_float(dtype)) values[i].real = (double)number;
    else values[i].whole = number;
  }
  return check_input_of(run, dtype, c->shape, c->view, values);
}

static const double orders[] = {1, -1, 2, -2, INFINITY, -INFINITY};

void check_matrix_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    for (int k = 0; k < 6; k++) {
      double p = orders[k];
      if (!check_matrix_wants(c, dtype) || !check_begin(run, k ? CHECK_OFTEN : c->weight, "%s-%g", c->name, p))
        continue;
      bool is_spectral = fabs(p) == 2;
      check_tensor *x = is_spectral ? diagonal_input(run, dtype, c) : regular_input(run, dtype, c);
      int64_t m = rows_of(c->shape), n = columns_of(c->shape);
      check_expected *wanted = expect_numbers(run, dtype, c->shape, m + n);
      double largest = dtype == TSR_BOOL ? 1 : (double)lesser(m, n);
      for (int64_t i = 0; i < wanted->count; i++) {
        wanted->values[i].real = !is_spectral ? norm_of(x, i, p) : p < 0 ? 1 : largest;
        wanted->magnitudes[i] = is_spectral ? largest : norm_of(x, i, fabs(p));
      }
      check_result(run, tsr_matrix_norm(x->tensor, p), wanted);
    }
  }
}

void check_cond(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_square_cases; c->name; c++) {
    for (int k = 0; k < 6; k++) {
      double p = orders[k];
      if (!check_matrix_wants(c, dtype) || !check_begin(run, k ? CHECK_OFTEN : c->weight, "%s-%g", c->name, p))
        continue;
      check_tensor *x = diagonal_input(run, dtype, c);
      int64_t n = columns_of(c->shape);
      check_expected *wanted = expect_numbers(run, dtype, c->shape, 2 * n);
      double largest = dtype == TSR_BOOL ? 1 : (double)n;
      for (int64_t i = 0; i < wanted->count; i++) {
        wanted->values[i].real = p < 0 ? 1 / largest : largest;
        wanted->magnitudes[i] = largest;
      }
      check_result(run, tsr_cond(x->tensor, p), wanted);
    }
  }
}
