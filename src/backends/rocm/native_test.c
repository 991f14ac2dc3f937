// SPDX-License-Identifier: MIT
// Matrix products by hipBLASLt and by rocBLAS: which of them computes what, and the results. Both are stand-ins
// (tests/standins/hip), which refuse what the real libraries do not support.
#include <tessera/tessera.h>

#include "backends/rocm/fixture.h"
#include "runtime/native_op.h"

enum { M = 70, N = 66, K = 65 };

static const char *const nowhere[] = {"libNoSuchBlas.so.1", NULL};

// Whether the device takes x w with these parts.
static bool takes(const fixture *f, tsr_dtype dtype, uint32_t parts) {
  tsr_device device = {.backend = f->backend, .handle = f->device};
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = dtype, .result = dtype, .parts = parts};
  op.is.product = (tsri_product_op){.m = M, .n = N, .k = K, .alpha = 1};
  op.is.product.a = (tsri_matrix){{NULL, 0}, K, 1, {0}};
  op.is.product.b = (tsri_matrix){{NULL, 0}, N, 1, {0}};
  if (parts & TSRI_PRODUCT_RELU) op.is.product.activation = TSRI_ACTIVATION_RELU;
  return tsri_device_takes(&device, &op);
}

// --- Which library ---------------------------------------------------------------------------------------------------

TEST(a_bias_or_an_activation_is_for_hipblaslt_and_f64_for_rocblas) {
  fixture f = fixture_open();
  CHECK(takes(&f, TSR_F32, TSRI_PRODUCT_BIAS | TSRI_PRODUCT_RELU));
  CHECK(takes(&f, TSR_BF16, TSRI_PRODUCT_BIAS));
  CHECK(takes(&f, TSR_F64, 0));
  CHECK(!takes(&f, TSR_F64, TSRI_PRODUCT_BIAS));
  fixture_close(&f);
}

TEST(the_setting_native_keeps_each_library_out) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-hipblaslt", .timeout_ns = UINT64_MAX});
  CHECK(takes(&f, TSR_F32, 0));
  CHECK(!takes(&f, TSR_F32, TSRI_PRODUCT_BIAS));
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "hipblaslt", .timeout_ns = UINT64_MAX});
  CHECK(takes(&f, TSR_F32, TSRI_PRODUCT_BIAS));
  CHECK(!takes(&f, TSR_F64, 0));
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "none", .timeout_ns = UINT64_MAX});
  CHECK(!takes(&f, TSR_F32, 0));
  fixture_close(&f);
}

TEST(hipblaslt_is_asked_only_on_gpus_that_it_has_kernels_for) {
  fixture f = fixture_open_as("gfx=gfx1030");
  CHECK(!takes(&f, TSR_F32, TSRI_PRODUCT_BIAS));
  CHECK(takes(&f, TSR_F32, 0));
  fixture_close(&f);
  f = fixture_open_as("gfx=gfx942");
  CHECK(takes(&f, TSR_F32, TSRI_PRODUCT_BIAS));
  fixture_close(&f);
}

TEST(without_hipblaslt_a_product_with_a_bias_is_declined_and_one_without_is_not) {
  fixture f = fixture_open();
  tsri_hipblaslt_names = nowhere;
  CHECK(!takes(&f, TSR_F32, TSRI_PRODUCT_BIAS));
  CHECK(takes(&f, TSR_F32, 0));
  fixture_close(&f);
}

// --- Results ---------------------------------------------------------------------------------------------------------

typedef struct linear {
  tsr_device *device;
  tsr_tensor *x, *w, *bias, *residual;
} linear;

// What follows x w + bias.
typedef enum ending { RELU, GELU, RESIDUAL, ENDINGS } ending;

// Small numbers, which all dtypes have exactly, as a tensor of `dtype`.
static tsr_tensor *upload(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int step) {
  static float values[M * K + K * N];  // more than any of the matrices
  int64_t count = shape.dims[0] * (shape.rank > 1 ? shape.dims[1] : 1);
  for (int64_t i = 0; i < count; i++) values[i] = (float)(i * step % 11 - 5) / 8;
  tsr_tensor *wide = tsr_from_data(device, TSR_F32, shape, values, (size_t)count * sizeof(float));
  tsr_tensor *x = tsr_cast(wide, dtype);
  CHECK_OK(tsr_evaluate(x));
  tsr_release(wide);
  return x;
}

// x is the transposed of a matrix in memory if `is_turned`.
static linear open_linear(const char *backend, tsr_dtype dtype, bool is_turned) {
  linear l = {.device = test_open(backend)};
  tsr_tensor *x = upload(l.device, dtype, is_turned ? TSR_SHAPE(K, M) : TSR_SHAPE(M, K), 7);
  l.x = is_turned ? tsr_transpose(x, 0, 1) : tsr_retain(x);
  l.w = upload(l.device, dtype, TSR_SHAPE(K, N), 5);
  l.bias = upload(l.device, dtype, TSR_SHAPE(N), 3);
  l.residual = upload(l.device, dtype, TSR_SHAPE(M, N), 9);
  tsr_release(x);
  return l;
}

// Reads relu(x w + bias), gelu by tanh of it, or its sum with the residual, as f32. Returns how many launches it took.
static uint64_t run_linear(const linear *l, ending how, float *out) {
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(l->device, &before));
  tsr_tensor *product = tsr_matmul(l->x, l->w), *sum = tsr_add(product, l->bias);
  tsr_tensor *y = how == RELU ? tsr_relu(sum) : how == GELU ? tsr_gelu_tanh(sum) : tsr_add(sum, l->residual);
  tsr_release(product);
  tsr_release(sum);
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_device_get_counters(l->device, &after));
  tsr_tensor *wide = tsr_cast(y, TSR_F32);
  CHECK_OK(tsr_read(wide, out, sizeof(float) * M * N));
  tsr_release(wide);
  tsr_release(y);
  return after.launches - before.launches;
}

static void close_linear(const linear *l) {
  tsr_release(l->x);
  tsr_release(l->w);
  tsr_release(l->bias);
  tsr_release(l->residual);
  tsr_device_release(l->device);
}

// Compares with the CPU's results, rounded to `dtype` once more. Returns the launches.
static uint64_t check_linear(tsr_dtype dtype, bool is_turned, ending how) {
  static float wanted[M * N], got[M * N];
  double unit = dtype == TSR_F32 ? 1e-6 : dtype == TSR_F16 ? 1e-3 : 8e-3;
  linear here = open_linear("cpu", TSR_F32, is_turned), there = open_linear("rocm", dtype, is_turned);
  (void)run_linear(&here, how, wanted);
  uint64_t launches = run_linear(&there, how, got);
  for (int i = 0; i < M * N; i++)
    CHECK_NEAR(got[i], wanted[i], unit * (1 + (double)(wanted[i] < 0 ? -wanted[i] : wanted[i])));
  close_linear(&here);
  close_linear(&there);
  return launches;
}

TEST(a_product_with_bias_and_activation_or_residual_is_one_launch_by_hipblaslt) {
  fixture_use_standin("");
  for (int i = 0; i < ENDINGS; i++) {
    CHECK_EQ_UINT(check_linear(TSR_F32, true, (ending)i), 1);
    CHECK_EQ_UINT(check_linear(TSR_F16, false, (ending)i), 1);
    CHECK_EQ_UINT(check_linear(TSR_BF16, i & 1, (ending)i), 1);
  }
}

TEST(without_hipblaslt_the_bias_is_a_kernel_after_rocblas) {
  fixture_use_standin("");
  tsri_hipblaslt_names = nowhere;
  CHECK_EQ_UINT(check_linear(TSR_F32, false, RELU), 2);
  CHECK_EQ_UINT(check_linear(TSR_BF16, true, GELU), 2);
}

TEST(without_both_libraries_everything_is_one_kernel_once_they_were_not_found) {
  static float y[M * N];
  fixture_use_standin("");
  tsri_hipblaslt_names = tsri_rocblas_names = nowhere;
  (void)check_linear(TSR_F32, false, RELU);
  linear l = open_linear("rocm", TSR_F32, false);
  (void)run_linear(&l, RELU, y);
  CHECK_EQ_UINT(run_linear(&l, RELU, y), 1);
  close_linear(&l);
}
