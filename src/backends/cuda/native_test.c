// SPDX-License-Identifier: MIT
// Matrix products by cuBLASLt: which layouts are accepted, and whether the results are right. Runs with the fake
// library, and on a GPU with every dtype.
#include <math.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"
#include "ops/product.h"
#include "runtime/native_op.h"

// --- Products against plain loops -----------------------------------------------------------------------------------------

// An operand: its buffer and its elements on the host, as doubles and in the stored dtype.
typedef struct matrix {
  tsri_layout layout;
  tsr_dtype dtype;
  tsri_buffer *buffer;
  size_t count;
  double *values;
} matrix;

static double random_value(void) { return (double)(rand() % 17 - 8) / 4; }

// Makes a tensor of `shape` with the given strides inside a buffer of `count` elements.
static matrix make(const fixture *f, tsr_dtype dtype, tsr_shape shape, const int64_t *strides, size_t first,
                   size_t count) {
  matrix mat = {.count = count, .values = malloc(count * sizeof(double)), .dtype = dtype};
  void *stored = malloc(count * tsr_dtype_bytes(dtype));
  for (size_t i = 0; i < count; i++) mat.values[i] = random_value();
  CHECK_OK(tsr_convert(dtype, stored, TSR_F64, mat.values, count));
  CHECK_OK(tsr_convert(TSR_F64, mat.values, dtype, stored, count));  // the values after rounding to the dtype
  mat.layout = (tsri_layout){.shape = shape, .offset = (int64_t)first};
  for (int i = 0; i < shape.rank; i++) mat.layout.strides[i] = strides[i];
  mat.buffer = fixture_buffer(f, count * tsr_dtype_bytes(dtype), NULL);
  fixture_write(f, mat.buffer, 0, stored, count * tsr_dtype_bytes(dtype));
  free(stored);
  return mat;
}

static void discard(const fixture *f, matrix *mat) {
  if (mat->buffer) f->backend->buffer_destroy(f->device, mat->buffer);
  free(mat->values);
}

static double value_at(const matrix *mat, int64_t batch, int64_t row, int64_t col) {
  const tsri_layout *x = &mat->layout;
  int rank = x->shape.rank;
  int64_t at = x->offset + row * x->strides[rank - 2] + col * x->strides[rank - 1];
  if (rank > 2 && x->shape.dims[0] > 1) at += batch * x->strides[0];
  return mat->values[at];
}

static double activated(tsri_activation activation, double x) {
  if (activation == TSRI_ACTIVATION_RELU) return x > 0 ? x : 0;
  if (activation == TSRI_ACTIVATION_GELU_TANH)
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

static double bound_for(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_I32:
      return 0;
    case TSR_F64:
      return 1e-13;
    case TSR_F32:
      return 1e-5;
    case TSR_F16:
      return 2e-3;
    default:
      return 2e-2;
  }
}

static bool takes(const fixture *f, const tsri_native_op *op) {
  tsr_device device = {.backend = f->backend, .handle = f->device};
  return tsri_device_takes(&device, op);
}

// Optional parts of the product; zero: none.
typedef struct extras {
  const matrix *c, *bias, *residual;
  double alpha, beta;
  tsri_activation activation;
  bool is_widened;  // f16 with a result of f32
} extras;

static tsri_native_op op_of(const matrix *a, const matrix *b, const extras *with, int64_t batch, int64_t m, int64_t n) {
  const tsri_layout *layouts[3] = {&a->layout, &b->layout, with->c ? &with->c->layout : NULL};
  double alpha = with->alpha != 0 ? with->alpha : 1;
  tsri_native_op op;
  CHECK(tsri_product_describe(a->dtype, TSR_SHAPE(batch, m, n), layouts, with->c ? 3 : 2, alpha, with->beta, &op));
  tsri_product_op *p = &op.is.product;
  p->a.at.buffer = a->buffer;
  p->b.at.buffer = b->buffer;
  if (with->c) p->c.at.buffer = with->c->buffer;
  if (with->bias) {
    op.parts |= TSRI_PRODUCT_BIAS;
    p->bias.buffer = with->bias->buffer;
  }
  if (with->residual) {
    op.parts |= TSRI_PRODUCT_RESIDUAL;
    p->residual.buffer = with->residual->buffer;
  }
  p->activation = with->activation;
  if (p->activation == TSRI_ACTIVATION_RELU) op.parts |= TSRI_PRODUCT_RELU;
  if (p->activation == TSRI_ACTIVATION_GELU_TANH) op.parts |= TSRI_PRODUCT_GELU_TANH;
  if (a->dtype == TSR_I8) op.result = TSR_I32;
  if (with->is_widened) op.result = TSR_F32;
  return op;
}

// Runs the operator and compares every element of the result, which is batch x m x n.
static void compare(const fixture *f, const matrix *a, const matrix *b, const extras *with, int64_t batch, int64_t m,
                    int64_t n, int64_t k) {
  size_t count = (size_t)(batch * m * n);
  tsri_native_op op = op_of(a, b, with, batch, m, n);
  tsr_dtype dtype = op.result;
  op.is.product.y.buffer = fixture_buffer(f, count * tsr_dtype_bytes(dtype), NULL);
  CHECK(takes(f, &op));
  CHECK_OK(f->backend->run_op(f->queue, &op));
  void *stored = malloc(count * tsr_dtype_bytes(dtype));
  double *got = malloc(count * sizeof *got);
  fixture_read(f, op.is.product.y.buffer, 0, stored, count * tsr_dtype_bytes(dtype));
  CHECK_OK(tsr_convert(TSR_F64, got, dtype, stored, count));
  for (int64_t i = 0; i < batch * m * n; i++) {
    int64_t at = i / (m * n), row = i / n % m, col = i % n;
    double sum = 0, size = 1;
    for (int64_t l = 0; l < k; l++) sum += value_at(a, at, row, l) * value_at(b, at, l, col);
    if (with->alpha != 0) sum *= with->alpha;
    if (with->c) sum += with->beta * value_at(with->c, at, row, col);
    if (with->bias) sum += with->bias->values[col];
    if (with->residual) sum += value_at(with->residual, at, row, col);
    size += fabs(sum);
    CHECK_NEAR(got[i], activated(with->activation, sum), bound_for(dtype) * size);
  }
  free(stored);
  free(got);
  f->backend->buffer_destroy(f->device, op.is.product.y.buffer);
}

enum { M = 72, N = 56, K = 80 };

// Combines plain, transposed and padded layouts of a and b.
static void check_layouts(const fixture *f, tsr_dtype dtype) {
  const int64_t a_strides[3][2] = {{K, 1}, {1, M}, {K + 8, 1}}, b_strides[3][2] = {{N, 1}, {1, K}, {N + 16, 1}};
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      matrix a = make(f, dtype, TSR_SHAPE(M, K), a_strides[i], (size_t)i * 8, M * (K + 8) + 16);
      matrix b = make(f, dtype, TSR_SHAPE(K, N), b_strides[j], (size_t)j * 8, K * (N + 16) + 16);
      compare(f, &a, &b, &(extras){0}, 1, M, N, K);
      discard(f, &a);
      discard(f, &b);
    }
  }
}

// i8 is accepted only if a and b are both contiguous along k.
static void check_batches(const fixture *f, tsr_dtype dtype) {
  enum { BATCH = 3 };
  const int64_t int64[3] = {M * K, K, 1}, turned[3] = {K * N, 1, K}, across[2] = {N, 1};
  const int64_t *shared = dtype == TSR_I8 ? turned + 1 : across;
  matrix a = make(f, dtype, TSR_SHAPE(BATCH, M, K), int64, 0, BATCH * M * K);
  matrix b = make(f, dtype, TSR_SHAPE(BATCH, K, N), turned, 0, BATCH * K * N);
  matrix one = make(f, dtype, TSR_SHAPE(K, N), shared, 0, K * N);
  compare(f, &a, &b, &(extras){0}, BATCH, M, N, K);
  compare(f, &a, &one, &(extras){0}, BATCH, M, N, K);
  if (dtype != TSR_I8 && dtype != TSR_F64) {
    const int64_t plain[3] = {M * N, N, 1};
    matrix residual = make(f, dtype, TSR_SHAPE(BATCH, M, N), plain, 0, BATCH * M * N);
    compare(f, &a, &b, &(extras){.residual = &residual}, BATCH, M, N, K);
    compare(f, &a, &one, &(extras){.residual = &residual}, BATCH, M, N, K);
    discard(f, &residual);
  }
  discard(f, &a);
  discard(f, &b);
  discard(f, &one);
}

// As products of f8 come.
static void check_widened(const fixture *f) {
  const int64_t a_strides[2] = {1, M}, b_strides[2] = {N, 1};
  matrix a = make(f, TSR_F16, TSR_SHAPE(M, K), a_strides, 0, M * K);
  matrix b = make(f, TSR_F16, TSR_SHAPE(K, N), b_strides, 0, K * N);
  compare(f, &a, &b, &(extras){.is_widened = true}, 1, M, N, K);
  discard(f, &a);
  discard(f, &b);
}

static void check_extras(const fixture *f, tsr_dtype dtype) {
  const int64_t a_strides[2] = {K, 1}, b_strides[2] = {N, 1}, c_strides[2] = {N, 1}, bias_strides[1] = {1};
  matrix a = make(f, dtype, TSR_SHAPE(M, K), a_strides, 0, M * K);
  matrix b = make(f, dtype, TSR_SHAPE(K, N), b_strides, 0, K * N);
  matrix c = make(f, dtype, TSR_SHAPE(M, N), c_strides, 0, M * N);
  matrix bias = make(f, dtype, TSR_SHAPE(N), bias_strides, 0, N);
  compare(f, &a, &b, &(extras){.c = &c, .alpha = 0.5, .beta = -2}, 1, M, N, K);
  compare(f, &a, &b, &(extras){.alpha = 0.5}, 1, M, N, K);
  static const tsri_activation activations[] = {TSRI_ACTIVATION_NONE, TSRI_ACTIVATION_RELU, TSRI_ACTIVATION_GELU_TANH};
  for (int i = 0; i < 3 && dtype != TSR_F64; i++) {  // cuBLASLt has no epilogues for f64
    compare(f, &a, &b, &(extras){.bias = &bias, .activation = activations[i]}, 1, M, N, K);
  }
  if (dtype != TSR_F64) {
    compare(f, &a, &b, &(extras){.bias = &bias, .residual = &c}, 1, M, N, K);
    compare(f, &a, &b, &(extras){.residual = &c}, 1, M, N, K);
  }
  discard(f, &a);
  discard(f, &b);
  discard(f, &c);
  discard(f, &bias);
}

TEST(products_are_right_in_every_layout) {
  fixture f = fixture_open();
  check_layouts(&f, TSR_F32);
  check_layouts(&f, TSR_F64);
  check_batches(&f, TSR_F32);
  check_extras(&f, TSR_F32);
  check_batches(&f, TSR_I8);
  check_widened(&f);
  CHECK(fixture_fake->products > 0);
  fixture_close(&f);
}

TEST(products_on_a_gpu_are_right_in_every_layout_and_dtype) {
  static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16};
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    check_layouts(&f, dtypes[i]);
    check_batches(&f, dtypes[i]);
    check_extras(&f, dtypes[i]);
  }
  check_batches(&f, TSR_I8);
  check_widened(&f);
  fixture_close(&f);
}

// --- What is not taken ---------------------------------------------------------------------------------------------------------

// A product of row-major matrices without buffers; a has the layout of given_a unless that is NULL.
static tsri_native_op plain_op(tsr_dtype dtype, const matrix *given_a, int64_t m, int64_t n) {
  matrix a = {.dtype = dtype, .layout = {.shape = TSR_SHAPE(m, K), .strides = {K, 1}}};
  matrix b = {.dtype = dtype, .layout = {.shape = TSR_SHAPE(K, n), .strides = {n, 1}}};
  return op_of(given_a ? given_a : &a, &b, &(extras){0}, 1, m, n);
}

TEST(what_cublaslt_cannot_read_in_place_is_left_to_the_kernels) {
  fixture f = fixture_open();
  tsri_native_op op = plain_op(TSR_F32, NULL, M, N);
  CHECK(takes(&f, &op));
  op.is.product.a.column = 2;
  op.is.product.a.row = 2 * K;
  CHECK(!takes(&f, &op));  // every other element
  op = plain_op(TSR_F32, NULL, M, N);
  op.is.product.b.row = 0;
  CHECK(!takes(&f, &op));  // every row is the same memory
  op = plain_op(TSR_F32, NULL, M, N);
  op.is.product.a.row = -K;
  CHECK(!takes(&f, &op));  // a negative stride
  op = plain_op(TSR_I8, NULL, M, N);
  CHECK(takes(&f, &op));
  op.parts = TSRI_PRODUCT_SCALED;
  CHECK(!takes(&f, &op));
  op.parts = 0;
  op.result = TSR_I8;
  CHECK(!takes(&f, &op));  // products of i8 have i32 results
  op = plain_op(TSR_F64, NULL, M, N);
  CHECK(takes(&f, &op));
  op.parts = TSRI_PRODUCT_BIAS;
  CHECK(!takes(&f, &op));  // no epilogues in f64
  op = plain_op(TSR_F32, NULL, M, N);
  op.parts = TSRI_PRODUCT_RESIDUAL;
  CHECK(takes(&f, &op));
  op.parts |= TSRI_PRODUCT_RELU;
  op.is.product.activation = TSRI_ACTIVATION_RELU;
  CHECK(!takes(&f, &op));  // cuBLASLt would add the residual before the activation
  op.parts = 0;
  op.kind = TSRI_NATIVE_SUM;
  CHECK(!takes(&f, &op));
  fixture_close(&f);
}

TEST(small_products_are_left_to_the_kernels) {
  fixture f = fixture_open();
  tsri_native_op op = plain_op(TSR_F32, NULL, 4, N);
  CHECK(!takes(&f, &op));
  fixture_close(&f);
}

TEST(a_matrix_times_a_vector_is_left_to_the_kernels) {
  fixture f = fixture_open();
  enum { ROWS = 4096 };
  for (int i = 0; i < 2; i++) {
    tsr_dtype dtype = i == 0 ? TSR_F32 : TSR_BF16;
    tsri_native_op op = plain_op(dtype, NULL, ROWS, 1);
    CHECK(!takes(&f, &op));
    matrix across = {.dtype = dtype, .layout = {.shape = TSR_SHAPE(ROWS, K), .strides = {1, ROWS}}};
    op = plain_op(dtype, &across, ROWS, 1);
    CHECK(takes(&f, &op));
  }
  fixture_close(&f);
}

TEST(a_batch_of_rows_with_one_matrix_for_all_is_one_product) {
  fixture f = fixture_open();
  enum { BATCH = 64 };
  const int64_t a_strides[3] = {K, K, 1}, b_strides[2] = {N, 1};
  matrix a = make(&f, TSR_F32, TSR_SHAPE(BATCH, 1, K), a_strides, 0, BATCH * K);
  matrix b = make(&f, TSR_F32, TSR_SHAPE(K, N), b_strides, 0, K * N);
  int before = fixture_fake->products;
  compare(&f, &a, &b, &(extras){0}, BATCH, 1, N, K);
  CHECK_EQ_INT(fixture_fake->products - before, 1);
  discard(&f, &a);
  discard(&f, &b);
  fixture_close(&f);
}

TEST(the_setting_native_keeps_cublaslt_out) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "none", .timeout_ns = UINT64_MAX});
  tsri_native_op op = plain_op(TSR_F32, NULL, M, N);
  CHECK(!takes(&f, &op));
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "-cublaslt", .timeout_ns = UINT64_MAX});
  CHECK(!takes(&f, &op));
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.native = "cublaslt", .timeout_ns = UINT64_MAX});
  CHECK(takes(&f, &op));
  fixture_close(&f);
}

static void run_plain(const fixture *f, tsr_dtype dtype, tsr_status wanted) {
  tsri_native_op op = plain_op(dtype, NULL, M, N);
  tsri_buffer *buffers[3];
  tsri_place *places[3] = {&op.is.product.a.at, &op.is.product.b.at, &op.is.product.y};
  for (int i = 0; i < 3; i++) places[i]->buffer = buffers[i] = fixture_buffer(f, 256 << 10, NULL);
  CHECK_STATUS(f->backend->run_op(f->queue, &op), wanted);
  fixture_wait(f);
  for (int i = 0; i < 3; i++) f->backend->buffer_destroy(f->device, buffers[i]);
}

TEST(what_cublaslt_has_nothing_for_is_unsupported_and_its_absence_too) {
  fixture f = fixture_open();
  run_plain(&f, TSR_F16, TSR_ERR_UNSUPPORTED);  // the fake library does not support f16
  run_plain(&f, TSR_F16, TSR_ERR_UNSUPPORTED);
  run_plain(&f, TSR_F32, TSR_OK);
  fixture_close(&f);
  static const char *const nowhere[] = {"libNoSuchCublasLt.so.13", NULL};
  f = fixture_open();
  tsri_cublaslt_names = nowhere;
  run_plain(&f, TSR_F32, TSR_ERR_UNSUPPORTED);
  tsri_native_op op = plain_op(TSR_F32, NULL, M, N);
  CHECK(!takes(&f, &op));  // after a failure cuBLASLt is not tried again
  fixture_close(&f);
}

// --- Through the graph ------------------------------------------------------------------------------------------------

typedef struct operands {
  tsr_device *device;
  tsr_tensor *x, *w, *bias;
  float x_values[M * K], w_values[K * N], bias_values[N];
} operands;

static void open_operands(operands *inputs) {
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &inputs->device));
  for (int i = 0; i < M * K; i++) inputs->x_values[i] = (float)random_value();
  for (int i = 0; i < K * N; i++) inputs->w_values[i] = (float)random_value();
  for (int i = 0; i < N; i++) inputs->bias_values[i] = (float)random_value();
  inputs->x = tsr_from_data(inputs->device, TSR_F32, TSR_SHAPE(M, K), inputs->x_values, sizeof inputs->x_values);
  inputs->w = tsr_from_data(inputs->device, TSR_F32, TSR_SHAPE(K, N), inputs->w_values, sizeof inputs->w_values);
  inputs->bias = tsr_from_data(inputs->device, TSR_F32, TSR_SHAPE(N), inputs->bias_values, sizeof inputs->bias_values);
}

static void close_operands(operands *inputs) {
  tsr_release(inputs->x);
  tsr_release(inputs->w);
  tsr_release(inputs->bias);
  tsr_device_release(inputs->device);
}

// Reads and releases `y` and compares it with activation(x w + bias).
static void check_linear(const operands *inputs, tsr_tensor *y, bool has_bias, tsri_activation activation) {
  float *got = malloc(sizeof(float) * M * N);
  CHECK_OK(tsr_read(y, got, sizeof(float) * M * N));
  for (int i = 0; i < M * N; i++) {
    double sum = 0;
    for (int l = 0; l < K; l++)
      sum += (double)inputs->x_values[i / N * K + l] * (double)inputs->w_values[l * N + i % N];
    if (has_bias) sum += (double)inputs->bias_values[i % N];
    CHECK_NEAR(got[i], activated(activation, sum), 1e-4);
  }
  free(got);
  tsr_release(y);
}

static tsr_tensor *after(tsr_tensor *(*op)(tsr_tensor *), tsr_tensor *x) {
  tsr_tensor *y = op(x);
  tsr_release(x);
  return y;
}

static tsr_tensor *with_bias(tsr_tensor *x, tsr_tensor *bias) {
  tsr_tensor *y = tsr_add(x, bias);
  tsr_release(x);
  return y;
}

TEST(a_product_with_bias_and_activation_is_one_native_operator) {
  fake_cuda *fake = fixture_use_fake();
  operands *inputs = malloc(sizeof *inputs);
  tsr_device_counters counters;
  open_operands(inputs);
  check_linear(inputs, tsr_matmul(inputs->x, inputs->w), false, TSRI_ACTIVATION_NONE);
  check_linear(inputs, with_bias(tsr_matmul(inputs->x, inputs->w), inputs->bias), true, TSRI_ACTIVATION_NONE);
  check_linear(inputs, after(tsr_relu, with_bias(tsr_matmul(inputs->x, inputs->w), inputs->bias)), true,
               TSRI_ACTIVATION_RELU);
  check_linear(inputs, after(tsr_gelu_tanh, with_bias(tsr_matmul(inputs->x, inputs->w), inputs->bias)), true,
               TSRI_ACTIVATION_GELU_TANH);
  check_linear(inputs, after(tsr_relu, tsr_matmul(inputs->x, inputs->w)), false, TSRI_ACTIVATION_RELU);
  CHECK_EQ_INT(fake->products, 5);
  CHECK_EQ_INT(fake->compilations, 0);
  CHECK_OK(tsr_device_get_counters(inputs->device, &counters));
  CHECK_EQ_UINT(counters.launches, 5);
  close_operands(inputs);
  CHECK_EQ_INT(fake->live_plans, 0);
  free(inputs);
}

TEST(what_is_no_bias_or_activation_is_a_kernel_after_the_native_product) {
  fake_cuda *fake = fixture_use_fake();
  operands *inputs = malloc(sizeof *inputs);
  float *values = malloc(sizeof(float) * M * N);
  open_operands(inputs);
  tsr_tensor *y = after(tsr_exp, tsr_matmul(inputs->x, inputs->w));
  int before = fake->launches;
  CHECK_OK(tsr_read(y, values, sizeof(float) * M * N));
  CHECK_EQ_INT(fake->products, 1);
  CHECK_EQ_INT(fake->launches - before, 1);
  free(values);
  tsr_release(y);
  close_operands(inputs);
  free(inputs);
}
