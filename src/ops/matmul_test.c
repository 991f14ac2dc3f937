// SPDX-License-Identifier: MIT
#include <string.h>

#include "ops/ops_testing.h"

TEST(matrices_and_vectors_multiply) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(3, 2)),
             *v = list(TSR_F32, TSR_SHAPE(3), 1, 2, 3);
  CHECK_VALUES(tsr_matmul(a, b), TSR_F32, TSR_SHAPE(2, 2), 0, 10, 13, 28, 40);
  CHECK_VALUES(tsr_matmul(tsr_transpose(b, 0, 1), tsr_transpose(a, 0, 1)), TSR_F32, TSR_SHAPE(2, 2), 0, 10, 28, 13, 40);
  CHECK_VALUES(tsr_matmul(a, v), TSR_F32, TSR_SHAPE(2), 0, 8, 26);
  CHECK_VALUES(tsr_matmul(v, b), TSR_F32, TSR_SHAPE(2), 0, 16, 22);
  CHECK_VALUES(tsr_matmul(v, v), TSR_F32, TSR_SCALAR, 0, 14);
  CHECK_VALUES(tsr_gemv(a, v), TSR_F32, TSR_SHAPE(2), 0, 8, 26);
  CHECK_VALUES(tsr_dot(v, v), TSR_F32, TSR_SCALAR, 0, 14);
  CHECK_VALUES(tsr_outer(v, list(TSR_I8, TSR_SHAPE(2), 1, 10)), TSR_F32, TSR_SHAPE(3, 2), 0, 1, 10, 2, 20, 3, 30);
  finish();
}

TEST(batches_are_broadcast) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 1, 1, 2)), *b = count_up(TSR_F32, TSR_SHAPE(3, 2, 1));
  CHECK_VALUES(tsr_matmul(a, b), TSR_F32, TSR_SHAPE(2, 3, 1, 1), 0, 1, 3, 5, 3, 13, 23);
  CHECK_VALUES(tsr_matmul(tsr_expand(a, TSR_SHAPE(2, 3, 1, 2)), b), TSR_F32, TSR_SHAPE(2, 3, 1, 1), 0, 1, 3, 5, 3, 13,
               23);
  CHECK_EMPTY(tsr_matmul(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2, 3)), tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 4))),
              TSR_F32, TSR_SHAPE(0, 2, 4));
  CHECK_VALUES(tsr_matmul(tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 0)), tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2))), TSR_F32,
               TSR_SHAPE(1, 2), 0, 0, 0);
  finish();
}

TEST(dtypes_are_promoted_and_halves_sum_in_f32) {
  begin();
  tsr_tensor *wholes = list(TSR_I8, TSR_SHAPE(1, 2), 100, 100), *column = list(TSR_I8, TSR_SHAPE(2, 1), 2, 1);
  CHECK_VALUES(tsr_matmul(wholes, column), TSR_I8, TSR_SHAPE(1, 1), 0, 44);
  CHECK_VALUES(tsr_matmul(wholes, tsr_cast(column, TSR_I32)), TSR_I32, TSR_SHAPE(1, 1), 0, 300);
  CHECK_VALUES(tsr_matmul(wholes, tsr_cast(column, TSR_F64)), TSR_F64, TSR_SHAPE(1, 1), 0, 300);
  // 2048 + 1 rounds to 2048 in f16.
  tsr_tensor *ones = tsr_ones(dev, TSR_F16, TSR_SHAPE(1, 4096));
  CHECK_VALUES(tsr_matmul(ones, tsr_reshape(ones, TSR_SHAPE(4096, 1))), TSR_F16, TSR_SHAPE(1, 1), 0, 4096);
  CHECK_VALUES(tsr_dot(tsr_ones(dev, TSR_BF16, TSR_SHAPE(1000)), tsr_ones(dev, TSR_BF16, TSR_SHAPE(1000))), TSR_BF16,
               TSR_SCALAR, 0, 1000);
  tsr_tensor *truths = list(TSR_BOOL, TSR_SHAPE(1, 1), 1);
  CHECK_FAILS(tsr_matmul(truths, truths), TSR_ERR_DTYPE, "matmul: takes numbers, not bool");
  finish();
}

TEST(shapes_that_do_not_fit_are_named) {
  begin();
  tsr_tensor *a = tsr_ones(dev, TSR_F32, TSR_SHAPE(4, 3)), *b = tsr_ones(dev, TSR_F32, TSR_SHAPE(5, 2)),
             *v = tsr_ones(dev, TSR_F32, TSR_SHAPE(4));
  CHECK_FAILS(tsr_matmul(a, b), TSR_ERR_SHAPE, "matmul: inner sizes differ, a is 4x3, b is 5x2");
  CHECK_FAILS(tsr_matmul(a, v), TSR_ERR_SHAPE, "matmul: inner sizes differ, a is 4x3, b is [4]");
  CHECK_FAILS(tsr_matmul(v, b), TSR_ERR_SHAPE, "a is [4], b is 5x2");
  CHECK_FAILS(tsr_matmul(a, tsr_ones(dev, TSR_F32, TSR_SCALAR)), TSR_ERR_SHAPE, "matmul: a scalar is no matrix");
  CHECK_FAILS(tsr_matmul(tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 3, 3)), tsr_ones(dev, TSR_F32, TSR_SHAPE(4, 3, 3))),
              TSR_ERR_SHAPE, "2 and 4");
  CHECK_FAILS(tsr_gemv(v, a), TSR_ERR_SHAPE, "gemv: takes a matrix and a vector, these are [4] and 4x3");
  CHECK_FAILS(tsr_dot(v, tsr_ones(dev, TSR_F32, TSR_SHAPE(3))), TSR_ERR_SHAPE, "dot: sizes differ, a has 4, b has 3");
  finish();
}

TEST(gemm_scales_and_adds) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(3, 2)),
             *c = list(TSR_F32, TSR_SHAPE(2), 1, 2);
  CHECK_VALUES(tsr_gemm(2, a, b, 0, NULL), TSR_F32, TSR_SHAPE(2, 2), 0, 20, 26, 56, 80);
  CHECK_VALUES(tsr_gemm(1, a, b, -1, c), TSR_F32, TSR_SHAPE(2, 2), 0, 9, 11, 27, 38);
  CHECK_VALUES(tsr_gemm(1, a, b, 0, list(TSR_F32, TSR_SHAPE(1), NAN)), TSR_F32, TSR_SHAPE(2, 2), 0, 10, 13, 28, 40);
  CHECK_VALUES(tsr_gemm(1, tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2)), 3, c),
               TSR_F32, TSR_SHAPE(2, 2), 0, 3, 6, 3, 6);
  CHECK_FAILS(tsr_gemm(1, a, b, 1, tsr_ones(dev, TSR_F32, TSR_SHAPE(3, 2, 2))), TSR_ERR_SHAPE, "gemm: c is 3x2x2");
  CHECK_FAILS(tsr_gemm(0.5, tsr_cast(a, TSR_I32), tsr_cast(b, TSR_I32), 0, NULL), TSR_ERR_DTYPE, "gemm: alpha is 0.5");
  CHECK_FAILS(tsr_gemm(1, c, b, 0, NULL), TSR_ERR_SHAPE, "gemm: takes matrices, a is [2], b is 3x2");
  finish();
}

// a times the identity is a, with each of the kernels and every memory order of the matrices.
static void check_identity(int64_t m, int64_t n, bool turns_a, bool turns_b) {
  tsr_tensor *a = tsr_randn(dev, TSR_F32, turns_a ? TSR_SHAPE(n, m) : TSR_SHAPE(m, n), 3),
             *eye = tsr_eye(dev, TSR_F32, n, n, 0);
  tsr_tensor *left = turns_a ? tsr_transpose(a, 0, 1) : a, *right = turns_b ? tsr_transpose(eye, 0, 1) : eye;
  bool is_equal = false;
  CHECK_OK(tsr_equal(tsr_matmul(left, right), tsr_contiguous(left), &is_equal));
  CHECK(is_equal);
}

TEST(a_matrix_times_the_identity_is_itself) {
  begin();
  static const int64_t sizes[][2] = {{1, 1}, {5, 7}, {1, 600}, {17, 17}, {64, 64}, {65, 130}, {200, 20}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int turns = 0; turns < 4; turns++) check_identity(sizes[i][0], sizes[i][1], turns & 1, turns & 2);
  }
  finish();
}

TEST(bias_and_relu_run_in_the_store_of_the_product) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(3, 2)),
             *bias = list(TSR_F32, TSR_SHAPE(2), -20, 1);
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_synchronize(dev));
  tsr_tensor *y = tsr_relu(tsr_add(tsr_matmul(a, b), bias));
  float values[4];
  CHECK_OK(tsr_device_get_counters(dev, &before));
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_OK(tsr_device_get_counters(dev, &after));
  CHECK_EQ_UINT(after.launches - before.launches, 1);
  CHECK_VALUES(y, TSR_F32, TSR_SHAPE(2, 2), 0, 0, 14, 8, 41);
  finish();
}

// Sums are accumulated in i32; operators fused into the same kernel must see them wrapped to i8.
TEST(what_is_added_to_a_reshaped_product_is_no_bias_of_the_product) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(2, 1), 2, 3), *b = list(TSR_F32, TSR_SHAPE(1, 1), 5);
  tsr_tensor *row = list(TSR_F32, TSR_SHAPE(1, 2), 11, 13);
  CHECK_VALUES(tsr_add(tsr_reshape(tsr_matmul(a, b), TSR_SHAPE(1, 2)), row), TSR_F32, TSR_SHAPE(1, 2), 0, 21, 28);
  tsr_tensor *c = tsr_matmul(a, list(TSR_F32, TSR_SHAPE(1, 2), 1, 10));  // 2 20; 3 30
  tsr_tensor *bias = list(TSR_F32, TSR_SHAPE(4), 1, 2, 3, 4);
  CHECK_VALUES(tsr_add(tsr_reshape(c, TSR_SHAPE(1, 4)), bias), TSR_F32, TSR_SHAPE(1, 4), 0, 3, 22, 6, 34);
  finish();
}

TEST(products_of_small_integers_wrap_before_what_runs_in_their_kernel) {
  begin();
  tsr_tensor *a = list(TSR_I16, TSR_SHAPE(1, 2), 300, 300), *b = list(TSR_I16, TSR_SHAPE(2, 1), 300, 300);
  const double wrapped = 180000 - 3 * 65536;
  CHECK_VALUES(tsr_maximum_scalar(tsr_matmul(a, b), 2), TSR_I16, TSR_SHAPE(1, 1), 0, 2);
  CHECK_VALUES(tsr_cast(tsr_matmul(a, b), TSR_I32), TSR_I32, TSR_SHAPE(1, 1), 0, wrapped);
  CHECK_VALUES(tsr_cast(tsr_gemm(1, a, b, 0, NULL), TSR_F32), TSR_F32, TSR_SHAPE(1, 1), 0, wrapped);
  tsr_tensor *row = tsr_reshape(a, TSR_SHAPE(2)), *column = tsr_reshape(b, TSR_SHAPE(2));
  CHECK_VALUES(tsr_cast(tsr_dot(row, column), TSR_I32), TSR_I32, TSR_SCALAR, 0, wrapped);
  CHECK_VALUES(tsr_minimum_scalar(tsr_dot(row, column), 2), TSR_I16, TSR_SCALAR, 0, wrapped);
  tsr_tensor *bytes = list(TSR_U8, TSR_SHAPE(2), 16, 16);
  CHECK_VALUES(tsr_cast(tsr_dot(bytes, bytes), TSR_I32), TSR_I32, TSR_SCALAR, 0, 0);
  finish();
}

// --- Few and long sums ------------------------------------------------------------------------------------------------

// 65,536 products of 1 and -1 in turn with 0, 1, 2, 0, 1, 2 …, times the row's number.
static void check_long_sums(tsr_device *device) {
  if (!test_device_computes(device)) return;
  enum { LENGTH = 65536 + 6 };
  static float matrix[2 * LENGTH], vector[LENGTH];
  double sum = 0;
  for (int i = 0; i < LENGTH; i++) {
    vector[i] = i % 2 ? -1.0f : 1.0f;
    matrix[i] = (float)(i % 3);
    matrix[LENGTH + i] = (float)(2 * (i % 3));
    sum += vector[i] * matrix[i];
  }
  tsr_tensor *a = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, LENGTH), matrix, sizeof matrix);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(LENGTH), vector, sizeof vector);
  tsr_tensor *turned = tsr_transpose(a, 0, 1), *row = tsr_unsqueeze(x, 0);
  tsr_tensor *const found[3] = {tsr_matmul(a, x), tsr_matmul(x, turned), tsr_matmul(row, turned)};
  for (int i = 0; i < 3; i++) {
    float is[2];
    CHECK_OK(tsr_read(found[i], is, sizeof is));
    CHECK_NEAR(is[0], sum, 0.5);
    CHECK_NEAR(is[1], 2 * sum, 1.0);
    tsr_release(found[i]);
  }
  tsr_tensor *const made[] = {a, x, turned, row};
  for (int i = 0; i < 4; i++) tsr_release(made[i]);
}

TEST(few_and_long_sums) { test_on_every_device(check_long_sums); }

// --- Sums in parts ----------------------------------------------------------------------------------------------------

typedef struct split_case {
  int batch, m, n, k;
  bool turns_b;
} split_case;

// Small whole numbers, so that sums are exact in f32 whatever their order.
static float left_at(int z, int i, int j) { return (float)((z + 2 * i + 3 * j) % 5 - 2); }
static float right_at(int z, int i, int j) { return (float)((z + i + 4 * j + i * j) % 3 - 1); }

static tsr_tensor *filled(tsr_device *device, int batch, int rows, int cols, float (*at)(int, int, int), bool turns) {
  static float values[1 << 17];
  for (int z = 0; z < batch; z++) {
    for (int e = 0; e < rows * cols; e++) {
      values[z * rows * cols + e] = turns ? at(z, e % rows, e / rows) : at(z, e / cols, e % cols);
    }
  }
  tsr_shape shape = turns ? TSR_SHAPE(batch, cols, rows) : TSR_SHAPE(batch, rows, cols);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, shape, values, (size_t)(batch * rows * cols) * sizeof *values);
  return turns ? tsr_transpose(x, 1, 2) : x;
}

static double sum_at(const split_case *c, int z, int row, int col) {
  double sum = 0;
  for (int j = 0; j < c->k; j++) sum += left_at(z, row, j) * right_at(z, j, col);
  return sum;
}

// relu(a b + 1), which runs in the launch that joins the parts.
static void check_case(tsr_device *device, const split_case *c, tsr_dtype dtype) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = tsr_cast(filled(device, c->batch, c->m, c->k, left_at, false), dtype);
  tsr_tensor *b = tsr_cast(filled(device, c->batch, c->k, c->n, right_at, c->turns_b), dtype);
  tsr_tensor *y = tsr_cast(tsr_relu(tsr_add_scalar(tsr_matmul(a, b), 1)), TSR_F32);
  static float is[4096];
  int count = c->batch * c->m * c->n;
  CHECK_OK(tsr_read(y, is, (size_t)count * sizeof *is));
  for (int i = 0; i < count; i++) {
    double wanted = fmax(sum_at(c, i / (c->m * c->n), i / c->n % c->m, i % c->n) + 1, 0);
    CHECK_NEAR(is[i], wanted, dtype == TSR_F32 ? 0 : fabs(wanted) / 128);
  }
  CHECK_OK(tsr_scope_end(scope));
}

static void check_sums_in_parts(tsr_device *device) {
  if (!test_device_computes(device)) return;
  static const split_case cases[] = {{1, 17, 20, 1024, false}, {1, 40, 7, 1030, false}, {1, 7, 40, 3100, false},
                                     {1, 8, 33, 1100, false},  {2, 20, 9, 777, true},   {1, 24, 24, 2049, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_case(device, &cases[i], i % 2 ? TSR_BF16 : TSR_F32);
  }
}

TEST(sums_in_parts) { test_on_every_device(check_sums_in_parts); }

// Interfaces to GPUs that have no library of products.
static bool has_own_products(tsr_device *device) {
  static const char *const names[] = {"vulkan", "opencl", "webgpu"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(tsr_device_backend(device), names[i]) == 0) return true;
  }
  return false;
}

// A product with long sums and few results is one launch for the sums of parts, and one that joins them.
static void check_launches(tsr_device *device) {
  if (!test_device_computes(device) || !has_own_products(device)) return;
  tsr_tensor *a = filled(device, 1, 20, 1024, left_at, false), *b = filled(device, 1, 1024, 20, right_at, false);
  tsr_device_counters before, after;
  CHECK_OK(tsr_evaluate(a));
  CHECK_OK(tsr_evaluate(b));
  CHECK_OK(tsr_device_get_counters(device, &before));
  tsr_tensor *y = tsr_matmul(a, b);
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_device_get_counters(device, &after));
  CHECK_EQ_UINT(after.launches - before.launches, 2);
  tsr_tensor *const made[] = {a, b, y};
  for (int i = 0; i < 3; i++) tsr_release(made[i]);
}

TEST(sums_in_parts_take_two_launches) { test_on_every_device(check_launches); }
