// SPDX-License-Identifier: MIT
// Products of f32 beside those of f64.
#include "ops/ops_testing.h"

// Around tiles of 14 rows and 32 columns, and blocks of 256 along k.
static const int64_t sizes[][3] = {{64, 64, 32},  {65, 70, 33},   {100, 64, 300},
                                   {64, 97, 257}, {130, 131, 64}, {520, 530, 288}};

static tsr_tensor *turned(tsr_tensor *x, bool is_turned) {
  return is_turned ? tsr_transpose(tsr_contiguous(tsr_transpose(x, 0, 1)), 0, 1) : x;
}

// The largest error of a b, in units of 2^-24 of the sum of magnitudes.
static double error_of(tsr_tensor *a, tsr_tensor *b) {
  double error = 0;
  tsr_tensor *wide_a = tsr_cast(a, TSR_F64), *wide_b = tsr_cast(b, TSR_F64);
  tsr_tensor *apart = tsr_sub(tsr_cast(tsr_matmul(a, b), TSR_F64), tsr_matmul(wide_a, wide_b));
  tsr_tensor *size = tsr_matmul(tsr_abs(wide_a), tsr_abs(wide_b));
  CHECK_OK(tsr_item(tsr_max(tsr_div(tsr_abs(apart), size), NULL, 0, false), &error));
  return error * 0x1p24;
}

TEST(products_of_f32_are_as_good_as_sums_in_f32) {
  begin();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int turns = 0; turns < 4; turns++) {
      tsr_tensor *a = tsr_randn(dev, TSR_F32, TSR_SHAPE(sizes[i][0], sizes[i][2]), 1);
      tsr_tensor *b = tsr_randn(dev, TSR_F32, TSR_SHAPE(sizes[i][2], sizes[i][1]), 2);
      CHECK(error_of(turned(a, turns & 1), turned(b, turns & 2)) < 8);
    }
  }
  finish();
}

// Factors of all magnitudes: products below 2^-126 must be there where nothing larger is, and parts of small factors must not be lost.
TEST(products_of_small_f32_keep_their_precision) {
  static const double scales[][2] = {{0x1p-100, 1}, {0x1p-120, 0x1p20}, {0x1p-60, 0x1p-60}, {0x1p-130, 0x1p40}};
  begin();
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    tsr_tensor *a = tsr_mul_scalar(tsr_randn(dev, TSR_F32, TSR_SHAPE(70, 90), 1), scales[i][0]);
    tsr_tensor *b = tsr_mul_scalar(tsr_randn(dev, TSR_F32, TSR_SHAPE(90, 80), 2), scales[i][1]);
    CHECK(error_of(a, b) < 8);
    // Large factors in other rows and columns do not hide them.
    tsr_tensor *big_a = tsr_concat((tsr_tensor *[]){a, tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 90), 3)}, 2, 0);
    tsr_tensor *big_b = tsr_concat((tsr_tensor *[]){b, tsr_randn(dev, TSR_F32, TSR_SHAPE(90, 3), 4)}, 2, 1);
    CHECK(error_of(big_a, big_b) < 8);
  }
  finish();
}

// Row i of a is e_i times a number: each result is one product, with infinities and NaN where they belong.
TEST(infinite_factors_and_nan_stay_in_their_rows_and_columns) {
  enum { N = 80 };
  static float a[N * N], b[N * N], y[N * N];
  begin();
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      a[i * N + j] = i == 3 && j == 3 ? INFINITY : i == 5 && j == 5 ? NAN : i == j ? 3.4e38f : 0;
      b[i * N + j] = (i == 3 || i == 5) ? 1.1f : 0.3f;
    }
  }
  tsr_tensor *x = tsr_from_data(dev, TSR_F32, TSR_SHAPE(N, N), a, sizeof a);
  CHECK_OK(tsr_read(tsr_matmul(x, tsr_from_data(dev, TSR_F32, TSR_SHAPE(N, N), b, sizeof b)), y, sizeof y));
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      float is = y[i * N + j];
      if (i == 3) CHECK(is == INFINITY);
      else if (i == 5) CHECK(isnan(is));
      else CHECK(fabsf(is - 3.4e38f * 0.3f) < 1e32f);
    }
  }
  finish();
}

// A batch that shares b is one product.
TEST(a_batch_times_one_matrix_is_that_of_each_of_them) {
  begin();
  tsr_tensor *a = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 5, 7, 40), 1),
             *b = tsr_randn(dev, TSR_F32, TSR_SHAPE(40, 33), 2);
  tsr_tensor *turned_a = tsr_transpose(a, 1, 2), *c = tsr_randn(dev, TSR_F32, TSR_SHAPE(7, 33), 3);
  tsr_tensor *cases[][2] = {{a, tsr_matmul(a, b)},
                            {turned_a, tsr_matmul(turned_a, b)},
                            {tsr_slice(a, 2, 2, 3, 1), tsr_matmul(tsr_slice(a, 2, 2, 3, 1), b)}};
  for (int i = 0; i < 3; i++) {
    double error = 0;
    tsr_tensor *wide = tsr_matmul(tsr_cast(cases[i][0], TSR_F64), tsr_cast(b, TSR_F64));
    CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_sub(tsr_cast(cases[i][1], TSR_F64), wide)), NULL, 0, false), &error));
    CHECK(error < 1e-4);
  }
  tsr_tensor *sum = tsr_gemm(2, a, b, 3, c),
             *apart = tsr_add(tsr_mul_scalar(tsr_matmul(a, b), 2), tsr_mul_scalar(c, 3));
  double error = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_sub(sum, apart)), NULL, 0, false), &error));
  CHECK(error < 1e-4);
  finish();
}
