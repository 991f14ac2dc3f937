// SPDX-License-Identifier: MIT
// The CPU's own matrix products against a plain loop in f64: every SIMD level, dtype and layout, sizes around tiles and blocks.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/product/product.h"
#include "support/test.h"

enum { MOST = 1 << 19 };  // elements of a buffer

typedef struct rig {
  tsri_device *device;
  tsri_queue *queue;
  tsri_buffer *buffers[4];  // a, b, bias, c
  double *values[4];        // the same as f64, rounded to the dtype
  tsr_dtype dtype;
} rig;

static void rig_open(rig *r, tsr_dtype dtype, const char *simd, int threads) {
  tsri_limits limits;
  tsri_open_options options = {.threads = threads, .native = "all", .simd = simd};
  *r = (rig){.dtype = dtype};
  CHECK_OK(tsri_cpu_device_open(0, &options, &limits, &r->device));
  CHECK_OK(tsri_cpu_queue_create(r->device, &r->queue));
  uint32_t state = 12345;
  for (int i = 0; i < 4; i++) {
    CHECK_OK(tsri_cpu_buffer_create(r->device, MOST * sizeof(double), &r->buffers[i]));
    r->values[i] = malloc(MOST * sizeof(double));
    CHECK(r->values[i] != NULL);
    for (int k = 0; k < MOST; k++) {
      state = state * 1664525u + 1013904223u;
      r->values[i][k] = (double)(state >> 16) / 32768 - 1;
    }
    void *memory = tsri_cpu_buffer_host(NULL, r->buffers[i]);
    CHECK_OK(tsr_convert(dtype, memory, TSR_F64, r->values[i], MOST));
    CHECK_OK(tsr_convert(TSR_F64, r->values[i], dtype, memory, MOST));
  }
}

static void rig_close(rig *r) {
  for (int i = 0; i < 4; i++) {
    tsri_cpu_buffer_destroy(r->device, r->buffers[i]);
    free(r->values[i]);
  }
  tsri_cpu_queue_destroy(r->queue);
  tsri_cpu_device_close(r->device);
}

typedef struct trial {
  int64_t batch, m, n, k;
  bool is_a_turned, is_b_turned, is_b_shared;  // shared: one b for the whole batch
  int64_t gap;                                 // more elements from row to row than there are
  bool has_bias;
  tsri_activation activation;
} trial;

static tsri_operand operand(const rig *r, int which, int64_t batch, int64_t rows, int64_t columns, bool is_turned,
                            int64_t gap) {
  int64_t step = (is_turned ? rows : columns) + gap;
  tsri_operand o = {.buffer = r->buffers[which], .dtype = r->dtype, .shape = TSR_SHAPE(batch, rows, columns)};
  o.strides[0] = batch == 1 ? 0 : step * (is_turned ? columns : rows);
  o.strides[1] = is_turned ? 1 : step;
  o.strides[2] = is_turned ? step : 1;
  return o;
}

static double element(const rig *r, int which, const tsri_operand *o, int64_t batch, int64_t row, int64_t column) {
  return r->values[which]
                  [(o->shape.dims[0] == 1 ? 0 : batch * o->strides[0]) + row * o->strides[1] + column * o->strides[2]];
}

static double activate(double x, tsri_activation activation) {
  if (activation == TSRI_ACTIVATION_RELU) return x > 0 ? x : 0;
  if (activation == TSRI_ACTIVATION_NONE) return x;
  return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static tsri_native_op op_of(const rig *r, const trial *t) {
  bool is_linear = t->has_bias || t->activation != TSRI_ACTIVATION_NONE;
  tsri_native_op op = {.name = is_linear ? "linear" : "matmul", .input_count = t->has_bias ? 3 : 2};
  op.inputs[0] = operand(r, 0, t->batch, t->m, t->k, t->is_a_turned, t->gap);
  op.inputs[1] = operand(r, 1, t->is_b_shared ? 1 : t->batch, t->k, t->n, t->is_b_turned, t->gap);
  op.inputs[2] = (tsri_operand){.buffer = r->buffers[2], .dtype = r->dtype, .shape = TSR_SHAPE(t->n), .strides = {1}};
  op.output = operand(r, 3, t->batch, t->m, t->n, false, 0);
  op.activation = t->activation;
  return op;
}

// Sums of k products of numbers below 1 in size, and one rounding to the dtype.
static double bound(const rig *r, const trial *t, double wanted) {
  double sums = r->dtype == TSR_F64 ? 0x1p-53 : 0x1p-24, end = sums;
  if (r->dtype == TSR_F16) end = 0x1p-11;
  if (r->dtype == TSR_BF16) end = 0x1p-8;
  return 2 * sums * (double)(t->k + 8) + 2 * end * fabs(wanted) + 1e-7 * (r->dtype != TSR_F64);
}

static void check_trial(const rig *r, const trial *t) {
  tsri_native_op op = op_of(r, t);
  CHECK(tsri_cpu_has_op(r->device, &op));
  CHECK_OK(tsri_cpu_run_op(r->queue, &op));
  double *got = r->values[3];
  CHECK_OK(
      tsr_convert(TSR_F64, got, r->dtype, tsri_cpu_buffer_host(NULL, r->buffers[3]), (size_t)(t->batch * t->m * t->n)));
  for (int64_t i = 0; i < t->batch * t->m * t->n; i++) {
    int64_t batch = i / (t->m * t->n), row = i / t->n % t->m, column = i % t->n;
    double sum = t->has_bias ? r->values[2][column] : 0;
    for (int64_t k = 0; k < t->k; k++) {
      sum += element(r, 0, &op.inputs[0], batch, row, k) * element(r, 1, &op.inputs[1], batch, k, column);
    }
    double wanted = activate(sum, t->activation);
    if (fabs(got[i] - wanted) <= bound(r, t, wanted)) continue;
    printf("%s %s, batch %d, %d x %d x %d: element %d is %.9g, not %.9g\n", tsr_dtype_name(r->dtype), op.name,
           (int)t->batch, (int)t->m, (int)t->k, (int)t->n, (int)i, got[i], wanted);
    FAIL("a product is wrong");
  }
}

static const trial trials[] = {
    {.batch = 1, .m = 1, .n = 1, .k = 1},
    {.batch = 1, .m = 13, .n = 31, .k = 7},
    {.batch = 1, .m = 14, .n = 32, .k = 256},
    {.batch = 1, .m = 15, .n = 33, .k = 257},
    {.batch = 1, .m = 43, .n = 70, .k = 513, .gap = 3},
    {.batch = 1, .m = 61, .n = 530, .k = 40, .is_a_turned = true},
    {.batch = 1, .m = 60, .n = 65, .k = 90, .is_b_turned = true, .gap = 1},
    {.batch = 1, .m = 37, .n = 41, .k = 300, .is_a_turned = true, .is_b_turned = true},
    {.batch = 5, .m = 9, .n = 34, .k = 20},
    {.batch = 7, .m = 17, .n = 16, .k = 33, .is_b_shared = true},
    {.batch = 1, .m = 1, .n = 1100, .k = 70},
    {.batch = 1, .m = 1, .n = 90, .k = 1500, .is_b_turned = true},
    {.batch = 1, .m = 90, .n = 1, .k = 1500},
    {.batch = 3, .m = 300, .n = 1, .k = 37, .is_a_turned = true},
    {.batch = 1, .m = 30, .n = 600, .k = 65, .has_bias = true, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 2, .m = 20, .n = 77, .k = 270, .has_bias = true, .activation = TSRI_ACTIVATION_GELU_TANH},
    {.batch = 1, .m = 70, .n = 1, .k = 33, .has_bias = true, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 1, .m = 1, .n = 70, .k = 33, .has_bias = true},
    {.batch = 1, .m = 16, .n = 50, .k = 12, .activation = TSRI_ACTIVATION_RELU},
};

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};

TEST(products_are_right_at_every_level_in_every_dtype_and_layout) {
  static const char *const levels[] = {"baseline", "avx2", "avx512"};
  for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      rig r;
      rig_open(&r, dtypes[d], levels[level], 2);
      for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) check_trial(&r, &trials[i]);
      rig_close(&r);
    }
  }
}

static void product_bits(tsr_dtype dtype, int threads, const trial *t, void *out, size_t bytes) {
  rig r;
  rig_open(&r, dtype, NULL, threads);
  tsri_native_op op = op_of(&r, t);
  CHECK_OK(tsri_cpu_run_op(r.queue, &op));
  memcpy(out, tsri_cpu_buffer_host(NULL, r.buffers[3]), bytes);
  rig_close(&r);
}

TEST(products_have_the_same_bits_on_any_number_of_threads) {
  static const trial large[] = {{.batch = 1, .m = 203, .n = 701, .k = 600},
                                {.batch = 1, .m = 17, .n = 1000, .k = 500},
                                {.batch = 9, .m = 100, .n = 101, .k = 150},
                                {.batch = 1, .m = 1, .n = 900, .k = 550},
                                {.batch = 1, .m = 500, .n = 1, .k = 1000}};
  static char alone[MOST * sizeof(double)], together[MOST * sizeof(double)];
  for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
    size_t bytes = (size_t)(large[i].batch * large[i].m * large[i].n) * sizeof(float);
    product_bits(TSR_F32, 1, &large[i], alone, bytes);
    for (int threads = 2; threads <= 5; threads++) {
      product_bits(TSR_F32, threads, &large[i], together, bytes);
      CHECK_BYTES(together, alone, bytes);
    }
  }
}

TEST(products_of_whole_numbers_are_left_to_the_portable_kernel) {
  rig r;
  rig_open(&r, TSR_I32, NULL, 1);
  tsri_native_op op = op_of(&r, &trials[1]);
  CHECK(!tsri_cpu_has_op(r.device, &op));
  rig_close(&r);
}
