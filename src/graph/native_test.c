// SPDX-License-Identifier: MIT
// What the planner recognises as one native operator, and what it leaves to a kernel after it. Tested on the CPU, whose
// native products have all parts.
#include <math.h>

#include <tessera/tessera.h>

#include "support/devices.h"
#include "support/test.h"

enum { M = 5, N = 7, K = 9 };

typedef struct operands {
  tsr_device *device;
  tsr_scope *scope;
  tsr_tensor *x, *w, *bias, *residual;
  float x_values[M * K], w_values[K * N], bias_values[N], residual_values[M * N];
} operands;

static tsr_tensor *filled(tsr_device *device, tsr_shape shape, float *values, int count) {
  for (int i = 0; i < count; i++) values[i] = (float)(i * 7 % 11 - 5) / 4;
  return tsr_from_data(device, TSR_F32, shape, values, (size_t)count * sizeof *values);
}

static void open_operands(operands *o) {
  o->device = test_open("cpu");
  o->scope = tsr_scope_begin(o->device);
  o->x = filled(o->device, TSR_SHAPE(M, K), o->x_values, M * K);
  o->w = filled(o->device, TSR_SHAPE(K, N), o->w_values, K * N);
  o->bias = filled(o->device, TSR_SHAPE(N), o->bias_values, N);
  o->residual = filled(o->device, TSR_SHAPE(M, N), o->residual_values, M * N);
}

static void close_operands(operands *o) {
  CHECK_OK(tsr_scope_end(o->scope));
  tsr_device_release(o->device);
}

static uint64_t launches(tsr_device *device) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  return counters.launches;
}

static double none(double x) { return x; }
static double relu(double x) { return x > 0 ? x : 0; }
static double gelu(double x) { return x * (1 + erf(x / sqrt(2))) / 2; }

// Checks y = activation(x w + bias) + residual, computed in `wanted` launches.
static void check(const operands *o, tsr_tensor *y, bool has_bias, double (*activation)(double), bool has_residual,
                  uint64_t wanted) {
  float got[M * N];
  uint64_t before = launches(o->device);
  CHECK_OK(tsr_read(y, got, sizeof got));
  CHECK_EQ_UINT(launches(o->device) - before, wanted);
  for (int i = 0; i < M * N; i++) {
    double sum = has_bias ? (double)o->bias_values[i % N] : 0;
    for (int k = 0; k < K; k++) sum += (double)o->x_values[i / N * K + k] * (double)o->w_values[k * N + i % N];
    CHECK_NEAR(got[i], activation(sum) + (has_residual ? (double)o->residual_values[i] : 0), 1e-5);
  }
}

TEST(a_product_with_bias_activation_and_residual_is_one_native_operator) {
  operands o;
  open_operands(&o);
  tsr_tensor *x = o.x, *w = o.w, *r = o.residual, *b = o.bias;
  check(&o, tsr_matmul(x, w), false, none, false, 1);
  check(&o, tsr_add(tsr_matmul(x, w), b), true, none, false, 1);
  check(&o, tsr_add(b, tsr_matmul(x, w)), true, none, false, 1);
  check(&o, tsr_add(r, tsr_matmul(x, w)), false, none, true, 1);
  check(&o, tsr_gelu(tsr_add(tsr_matmul(x, w), b)), true, gelu, false, 1);
  check(&o, tsr_tanh(tsr_add(tsr_matmul(x, w), b)), true, tanh, false, 1);
  check(&o, tsr_add(tsr_add(tsr_matmul(x, w), b), r), true, none, true, 1);
  check(&o, tsr_add(tsr_relu(tsr_add(tsr_matmul(x, w), b)), r), true, relu, true, 1);
  check(&o, tsr_add(r, tsr_gelu(tsr_matmul(x, w))), false, gelu, true, 1);
  check(&o, tsr_gemm(1, x, w, 1, r), false, none, true, 1);
  check(&o, tsr_relu(tsr_gemm(2, x, tsr_mul_scalar(w, 0.5), 0, NULL)), false, relu, false, 2);  // w / 2 is a kernel
  close_operands(&o);
}

TEST(a_convolution_with_bias_and_activation_is_one_native_operator) {
  operands o;
  open_operands(&o);
  // M images of K channels and one position: the same product.
  tsr_tensor *x = tsr_reshape(o.x, TSR_SHAPE(M, K, 1)),
             *w = tsr_reshape(tsr_contiguous(tsr_transpose(o.w, 0, 1)), TSR_SHAPE(N, K, 1));
  CHECK_OK(tsr_evaluate(w));
  tsr_tensor *y = tsr_conv(x, w, o.bias, NULL), *r = tsr_reshape(o.residual, TSR_SHAPE(M, N, 1));
  check(&o, tsr_relu(y), true, relu, false, 1);
  check(&o, tsr_gelu(tsr_conv(x, w, NULL, NULL)), false, gelu, false, 1);
  check(&o, tsr_tanh(tsr_conv(x, w, NULL, NULL)), false, tanh, false, 1);
  check(&o, tsr_add(tsr_relu(tsr_conv(x, w, o.bias, NULL)), r), true, relu, true, 2);  // the addition is a kernel
  close_operands(&o);
}

TEST(operands_of_a_native_product_are_read_through_views) {
  operands o;
  open_operands(&o);
  tsr_tensor *wide = tsr_concat((tsr_tensor *[]){o.bias, o.bias}, 2, 0), *b = tsr_slice(wide, 0, N, 2 * N, 1);
  tsr_tensor *high = tsr_concat((tsr_tensor *[]){o.residual, o.residual}, 2, 0), *r = tsr_slice(high, 0, M, 2 * M, 1);
  tsr_tensor *across = tsr_contiguous(tsr_transpose(o.x, 0, 1)), *turned = tsr_transpose(across, 0, 1);
  float drop[2 * M * N];
  CHECK_OK(tsr_read(wide, drop, 2 * N * sizeof(float)));
  CHECK_OK(tsr_read(high, drop, sizeof drop));
  CHECK_OK(tsr_read(across, drop, M * K * sizeof(float)));
  check(&o, tsr_add(tsr_relu(tsr_add(tsr_matmul(turned, o.w), b)), r), true, relu, true, 1);
  close_operands(&o);
}

TEST(what_no_native_operator_has_is_a_kernel_after_it) {
  operands o;
  open_operands(&o);
  tsr_tensor *x = o.x, *w = o.w, *r = o.residual, *b = o.bias;
  tsr_tensor *column = tsr_zeros(o.device, TSR_F32, TSR_SHAPE(M, 1));
  float drop[M];
  CHECK_OK(tsr_read(column, drop, sizeof drop));
  check(&o, tsr_add(tsr_add(tsr_matmul(x, w), r), b), true, none, true, 2);  // a residual must come last
  check(&o, tsr_add(tsr_matmul(x, w), column), false, none, false, 2);       // one number per row is not a bias
  check(&o, tsr_abs(tsr_relu(tsr_matmul(x, w))), false, relu, false, 2);     // abs is no activation of native products
  check(&o, tsr_mul_scalar(tsr_matmul(x, w), 1), false, none, false, 2);     // nor is scaling part of them
  close_operands(&o);
}

TEST(a_product_that_somebody_reads_is_kept_apart_from_what_comes_after_it) {
  operands o;
  open_operands(&o);
  tsr_tensor *product = tsr_matmul(o.x, o.w), *sum = tsr_add(product, product);
  float got[M * N], twice[M * N];
  CHECK_OK(tsr_read(sum, twice, sizeof twice));
  CHECK_OK(tsr_read(product, got, sizeof got));
  for (int i = 0; i < M * N; i++) CHECK_NEAR(twice[i], 2 * got[i], 1e-6);
  close_operands(&o);
}

TEST(the_largest_of_one_element_is_a_copy_and_its_index_0) {
  enum { COUNT = 5000 };
  static float values[2 * COUNT], got[COUNT];
  static int32_t indices[COUNT];
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = filled(device, TSR_SHAPE(COUNT, 2), values, 2 * COUNT);
  for (int column = 0; column < 2; column++) {
    tsr_tensor *one = tsr_slice(x, 1, column, column + 1, 1);
    CHECK_OK(tsr_read(tsr_max(one, (const int[]){1}, 1, false), got, sizeof got));
    CHECK_OK(tsr_read(tsr_argmin(one, (const int[]){1}, 1, true), indices, sizeof indices));
    for (int i = 0; i < COUNT; i++) {
      CHECK_NEAR(got[i], values[2 * i + column], 0);
      CHECK_EQ_INT(indices[i], 0);
    }
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_sum_of_gathered_rows_has_the_bits_of_contiguous_ones) {
  static const struct {
    int64_t rows, columns, step;
  } cases[] = {{3, 64, 2}, {5, 33, 3}, {2, 300, 2}, {300, 257, 2}, {1, 200001, 2}, {40, 70000, 3}};
  static float got[2][300];
  tsr_device *device = test_open("cpu");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    int64_t rows = cases[i].rows, width = cases[i].columns * cases[i].step;
    tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(rows, width), 1);
    tsr_tensor *view = tsr_slice(x, 1, 0, width, cases[i].step), *packed = tsr_contiguous(view);
    CHECK_OK(tsr_evaluate(packed));
    CHECK_OK(tsr_read(tsr_sum(view, (const int[]){1}, 1, false), got[0], (size_t)rows * sizeof(float)));
    CHECK_OK(tsr_read(tsr_sum(packed, (const int[]){1}, 1, false), got[1], (size_t)rows * sizeof(float)));
    CHECK_BYTES(got[0], got[1], (size_t)rows * sizeof(float));
    CHECK_OK(tsr_scope_end(scope));
  }
  tsr_device_release(device);
}
