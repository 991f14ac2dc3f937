// SPDX-License-Identifier: MIT
// Factors of matrices by cuSOLVER, with the fake library: which matrices are taken, and whether the calls are right.
#include <math.h>
#include <stdlib.h>

#include "backends/cuda/fixture.h"
#include "runtime/native_op.h"

enum { N = 256, MATRIX = N * N, BYTES = MATRIX * sizeof(double) };

static bool takes(const fixture *f, const tsri_native_op *op) {
  tsr_device device = {.backend = f->backend, .handle = f->device};
  return tsri_device_takes(&device, op);
}

static tsri_native_op factor_op(tsri_factor_kind kind, int64_t batch, int64_t m, int64_t n) {
  tsri_native_op op = {.kind = TSRI_NATIVE_FACTOR, .dtype = TSR_F64, .result = TSR_F64};
  op.is.factor = (tsri_factor_op){.kind = kind, .batch = batch, .m = m, .n = n, .columns = m < n ? m : n};
  return op;
}

// A symmetric, positive definite matrix.
static double *positive(void) {
  double *x = malloc(BYTES);
  CHECK(x != NULL);
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) x[i + j * N] = i == j ? N : (double)((i * j + i + j) % 7) / 7;
  }
  return x;
}

static tsri_buffer *upload(const fixture *f, const double *values) {
  tsri_buffer *buffer = fixture_buffer(f, BYTES, NULL);
  if (values) fixture_write(f, buffer, 0, values, BYTES);
  return buffer;
}

static double *download(const fixture *f, tsri_buffer *buffer) {
  double *values = malloc(BYTES);
  CHECK(values != NULL);
  fixture_read(f, buffer, 0, values, BYTES);
  f->backend->buffer_destroy(f->device, buffer);
  return values;
}

// (a b)[i, j] of column-major matrices; is_turned: a is transposed.
static double product_at(const double *a, bool is_turned, const double *b, int i, int j) {
  double sum = 0;
  for (int l = 0; l < N; l++) sum += (is_turned ? a[l + i * N] : a[i + l * N]) * b[l + j * N];
  return sum;
}

TEST(cholesky_factors_the_upper_triangle_and_tells_what_fails) {
  fixture f = fixture_open();
  double *x = positive();
  tsri_native_op op = factor_op(TSRI_FACTOR_CHOLESKY, 1, N, N);
  tsri_buffer *a = upload(&f, x), *info = fixture_buffer(&f, 256, NULL);
  op.is.factor.a.buffer = a;
  op.is.factor.info.buffer = info;
  CHECK(takes(&f, &op));
  CHECK_OK(f.backend->run_op(f.queue, &op));
  int32_t failed = -1;
  fixture_read(&f, info, 0, &failed, sizeof failed);
  CHECK_EQ_INT(failed, 0);
  double *u = download(&f, a);
  for (int j = 0; j < N; j++) {
    for (int i = j + 1; i < N; i++) u[i + j * N] = 0;
  }
  for (int i = 0; i < N; i += 37) CHECK_NEAR(product_at(u, true, u, i, N - 1), x[i + (N - 1) * N], 1e-9);
  x[5 + 5 * N] = -1;
  op.is.factor.a.buffer = upload(&f, x);
  CHECK_OK(f.backend->run_op(f.queue, &op));
  fixture_read(&f, info, 0, &failed, sizeof failed);
  CHECK_EQ_INT(failed, 6);
  f.backend->buffer_destroy(f.device, op.is.factor.a.buffer);
  f.backend->buffer_destroy(f.device, info);
  CHECK_EQ_INT(fixture_fake->factors, 2);
  free(u);
  free(x);
  fixture_close(&f);
}

TEST(q_and_r_multiply_back) {
  fixture f = fixture_open();
  double *x = positive();
  tsri_native_op op = factor_op(TSRI_FACTOR_QR, 1, N, N);
  op.is.factor.a.buffer = upload(&f, x);
  op.is.factor.q.buffer = upload(&f, NULL);
  CHECK(takes(&f, &op));
  CHECK_OK(f.backend->run_op(f.queue, &op));
  double *r = download(&f, op.is.factor.a.buffer), *q = download(&f, op.is.factor.q.buffer);
  for (int j = 0; j < N; j++) {
    for (int i = j + 1; i < N; i++) r[i + j * N] = 0;
  }
  for (int i = 0; i < N; i += 37) {
    CHECK_NEAR(product_at(q, false, r, i, N - 1 - i), x[i + (N - 1 - i) * N], 1e-9);
    CHECK_NEAR(product_at(q, true, q, i, i), 1, 1e-12);
  }
  free(q);
  free(r);
  free(x);
  fixture_close(&f);
}

// l x = b for every kind of triangle, row-major and column-major; x has one column.
TEST(triangular_systems_are_solved_in_both_layouts) {
  fixture f = fixture_open();
  double *x = positive(), b[N], solved[N];
  for (int i = 0; i < N; i++) b[i] = i % 5 - 2;
  tsri_buffer *l = upload(&f, x), *right = fixture_buffer(&f, sizeof b, NULL);
  for (int i = 0; i < 8; i++) {
    bool is_upper = i & 1, is_unit = (i & 2) != 0, is_column_major = (i & 4) != 0;
    tsri_native_op op = {.kind = TSRI_NATIVE_SOLVE, .dtype = TSR_F64, .result = TSR_F64};
    op.is.solve = (tsri_solve_op){.batch = 1, .m = N, .n = 1, .is_upper = is_upper, .is_unit = is_unit};
    op.is.solve.row = is_column_major ? 1 : N;
    op.is.solve.column = is_column_major ? N : 1;
    op.is.solve.l.buffer = l;
    op.is.solve.x.buffer = right;
    fixture_write(&f, right, 0, b, sizeof b);
    CHECK_OK(f.backend->run_op(f.queue, &op));
    fixture_read(&f, right, 0, solved, sizeof solved);
    for (int row = 0; row < N; row++) {  // the matrix is symmetric, so that its layout does not matter here
      double sum = is_unit ? solved[row] : x[row + row * N] * solved[row], size = 1;
      for (int j = 0; j < N; j++) {
        if (is_upper ? j > row : j < row) sum += x[row + j * N] * solved[j];
        size = fmax(size, fabs(solved[j]));
      }
      CHECK_NEAR(sum, b[row], 1e-11 * size * N);
    }
  }
  f.backend->buffer_destroy(f.device, l);
  f.backend->buffer_destroy(f.device, right);
  free(x);
  fixture_close(&f);
}

TEST(small_matrices_and_large_batches_are_left_to_the_kernels) {
  fixture f = fixture_open();
  tsri_native_op op = factor_op(TSRI_FACTOR_CHOLESKY, 1, 32, 32);
  CHECK(!takes(&f, &op));
  op = factor_op(TSRI_FACTOR_CHOLESKY, 1000, N, N);
  CHECK(!takes(&f, &op));
  op = factor_op(TSRI_FACTOR_LU, 1, 4096, 20);
  CHECK(!takes(&f, &op));
  op = factor_op(TSRI_FACTOR_LU, 1, N, N);
  CHECK(takes(&f, &op));
  op.parts = TSRI_FACTOR_ORDERED;
  CHECK(!takes(&f, &op));  // the order of the rows is left to a kernel
  op = factor_op(TSRI_FACTOR_EIGH, 1, 64, 64);
  CHECK(!takes(&f, &op));
  op = factor_op(TSRI_FACTOR_EIGH, 1, 65, 65);
  CHECK(takes(&f, &op));
  op = (tsri_native_op){.kind = TSRI_NATIVE_SOLVE, .dtype = TSR_F64, .result = TSR_F64};
  op.is.solve = (tsri_solve_op){.batch = 1, .m = 1024, .n = 5, .row = 1024, .column = 1};
  CHECK(!takes(&f, &op));
  op.is.solve.m = op.is.solve.row = 1025;
  CHECK(takes(&f, &op));
  fixture_close(&f);
}

TEST(the_setting_native_and_a_missing_library_keep_cusolver_out) {
  tsri_native_op op = factor_op(TSRI_FACTOR_LU, 1, N, N);
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cusolver", .timeout_ns = UINT64_MAX});
  CHECK(!takes(&f, &op));
  fixture_close(&f);
  static const char *const nowhere[] = {"libNoSuchCusolver.so.12", NULL};
  f = fixture_open();
  tsri_cusolver_names = nowhere;
  CHECK(!takes(&f, &op));
  CHECK(!takes(&f, &op));
  fixture_close(&f);
}

TEST(a_graph_does_not_record_cusolver) {
  fixture f = fixture_open();
  tsri_native_op op = factor_op(TSRI_FACTOR_CHOLESKY, 1, N, N);
  tsri_graph *graph = NULL;
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_STATUS(f.backend->run_op(f.queue, &op), TSR_ERR_UNSUPPORTED);
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  f.backend->graph_destroy(f.device, graph);
  fixture_close(&f);
}

TEST(a_call_that_fails_gives_a_status_with_its_code) {
  fixture f = fixture_open();
  tsri_native_op op = factor_op(TSRI_FACTOR_LU, 1, N, N);
  tsri_buffer *a = upload(&f, NULL), *rows = upload(&f, NULL);
  op.is.factor.a.buffer = a;
  op.is.factor.rows.buffer = rows;
  CHECK(takes(&f, &op));
  CHECK_OK(f.backend->run_op(f.queue, &op));  // makes the work space
  fixture_fake->sticky_code = 700;
  CHECK_STATUS(f.backend->run_op(f.queue, &op), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("cuSOLVER");
  fixture_fake->sticky_code = 0;
  f.backend->buffer_destroy(f.device, a);
  f.backend->buffer_destroy(f.device, rows);
  fixture_close(&f);
}
