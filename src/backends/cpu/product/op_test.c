// SPDX-License-Identifier: MIT
// The CPU's own matrix products against a plain loop in f64: every SIMD level, dtype and layout, sizes around tiles and blocks.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/product/product.h"
#include "ops/product.h"
#include "support/test.h"

enum { MOST = 1 << 19 };  // elements of a buffer
enum {
  PERIOD = 50021
};  // of its random numbers, a prime: filling all of it takes longer under a sanitizer than the products
enum { A, B, C, BIAS, RESIDUAL, Y, OPERANDS };

typedef struct rig {
  tsri_device *device;
  tsri_queue *queue;
  tsri_buffer *buffers[OPERANDS];
  double *values[OPERANDS];  // the same as f64, rounded to the dtype
  tsr_dtype dtype;
} rig;

// Repeats the first PERIOD elements of a buffer up to its end.
static void repeat(void *memory, size_t element_bytes) {
  for (size_t at = PERIOD; at < MOST; at += PERIOD) {
    size_t count = at + PERIOD < MOST ? PERIOD : MOST - at;
    memcpy((char *)memory + at * element_bytes, memory, count * element_bytes);
  }
}

static void rig_open(rig *r, tsr_dtype dtype, const char *simd, int threads) {
  tsri_limits limits;
  tsri_open_options options = {.threads = threads, .native = "all", .simd = simd};
  *r = (rig){.dtype = dtype};
  CHECK_OK(tsri_cpu_device_open(0, &options, &limits, &r->device));
  CHECK_OK(tsri_cpu_queue_create(r->device, &r->queue));
  uint32_t state = 12345;
  for (int i = 0; i < OPERANDS; i++) {
    CHECK_OK(tsri_cpu_buffer_create(r->device, MOST * sizeof(double), &r->buffers[i]));
    r->values[i] = malloc(MOST * sizeof(double));
    CHECK(r->values[i] != NULL);
    for (int k = 0; k < PERIOD; k++) {
      state = state * 1664525u + 1013904223u;
      r->values[i][k] = (double)(state >> 16) / 32768 - 1;
    }
    void *memory = tsri_cpu_buffer_host(NULL, r->buffers[i]);
    CHECK_OK(tsr_convert(dtype, memory, TSR_F64, r->values[i], PERIOD));
    CHECK_OK(tsr_convert(TSR_F64, r->values[i], dtype, memory, PERIOD));
    repeat(memory, tsr_dtype_bytes(dtype));
    repeat(r->values[i], sizeof(double));
  }
}

static void rig_close(rig *r) {
  for (int i = 0; i < OPERANDS; i++) {
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
  int64_t skipped;                             // elements of memory between neighbours, of all matrices
  bool has_bias, has_residual;
  tsri_activation activation;
  double alpha, beta;  // both 0: the product is not scaled
  bool is_c_turned;
} trial;

static tsri_layout layout(const trial *t, int64_t batch, int64_t rows, int64_t columns, bool is_turned) {
  int64_t next = 1 + t->skipped, step = (is_turned ? rows : columns) * next + t->gap;
  tsri_layout l = {.shape = TSR_SHAPE(batch, rows, columns)};
  l.strides[0] = batch == 1 ? 0 : step * (is_turned ? columns : rows);
  l.strides[1] = is_turned ? next : step;
  l.strides[2] = is_turned ? step : next;
  return l;
}

static tsri_layout layout_of_a(const trial *t) { return layout(t, t->batch, t->m, t->k, t->is_a_turned); }
static tsri_layout layout_of_b(const trial *t) {
  return layout(t, t->is_b_shared ? 1 : t->batch, t->k, t->n, t->is_b_turned);
}

static tsri_layout layout_of_c(const trial *t) { return layout(t, t->batch, t->m, t->n, t->is_c_turned); }

static double element(const double *values, const tsri_layout *l, int64_t batch, int64_t row, int64_t column) {
  return values[(l->shape.dims[0] == 1 ? 0 : batch * l->strides[0]) + row * l->strides[1] + column * l->strides[2]];
}

static double activate(double x, tsri_activation activation) {
  if (activation == TSRI_ACTIVATION_RELU) return x > 0 ? x : 0;
  if (activation == TSRI_ACTIVATION_NONE) return x;
  if (activation == TSRI_ACTIVATION_TANH) return tanh(x);
  if (activation == TSRI_ACTIVATION_GELU) return 0.5 * x * (1 + erf(x / sqrt(2)));
  return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static bool is_scaled(const trial *t) { return t->alpha != 0 || t->beta != 0; }

static tsri_native_op op_of(const rig *r, const trial *t) {
  tsri_layout a = layout_of_a(t), b = layout_of_b(t), c = layout_of_c(t);
  const tsri_layout *layouts[] = {&a, &b, &c};
  tsri_native_op op;
  CHECK(tsri_product_describe(r->dtype, TSR_SHAPE(t->batch, t->m, t->n), layouts, t->beta != 0 ? 3 : 2,
                              is_scaled(t) ? t->alpha : 1, t->beta, &op));
  tsri_product_op *p = &op.is.product;
  tsri_place *places[OPERANDS] = {&p->a.at, &p->b.at, &p->c.at, &p->bias, &p->residual, &p->y};
  for (int i = 0; i < OPERANDS; i++) places[i]->buffer = r->buffers[i];
  p->activation = t->activation;
  if (t->has_bias) op.parts |= TSRI_PRODUCT_BIAS;
  if (t->has_residual) op.parts |= TSRI_PRODUCT_RESIDUAL;
  return op;
}

// Sums of k products of numbers below 1 in size, and one rounding to the dtype.
static double bound(const rig *r, const trial *t, double wanted) {
  double sums = r->dtype == TSR_F64 ? 0x1p-53 : 0x1p-24, end = sums;
  if (r->dtype == TSR_F16) end = 0x1p-11;
  if (r->dtype == TSR_BF16) end = 0x1p-8;
  return 2 * (1 + fabs(t->alpha)) * sums * (double)(t->k + 8) + 2 * end * fabs(wanted) + 1e-7 * (r->dtype != TSR_F64);
}

static void check_trial(const rig *r, const trial *t) {
  tsri_native_op op = op_of(r, t);
  tsri_layout a = layout_of_a(t), b = layout_of_b(t), c = layout_of_c(t);
  CHECK_OK(tsri_cpu_run_op(r->queue, &op));
  double *got = r->values[Y];
  CHECK_OK(
      tsr_convert(TSR_F64, got, r->dtype, tsri_cpu_buffer_host(NULL, r->buffers[Y]), (size_t)(t->batch * t->m * t->n)));
  for (int64_t i = 0; i < t->batch * t->m * t->n; i += test_element_step()) {
    int64_t batch = i / (t->m * t->n), row = i / t->n % t->m, column = i % t->n;
    double sum = 0;
    for (int64_t k = 0; k < t->k; k++) {
      sum += element(r->values[A], &a, batch, row, k) * element(r->values[B], &b, batch, k, column);
    }
    if (is_scaled(t))
      sum = t->alpha * sum + (t->beta != 0 ? t->beta * element(r->values[C], &c, batch, row, column) : 0);
    if (t->has_bias) sum += r->values[BIAS][column];
    double wanted = activate(sum, t->activation) + (t->has_residual ? r->values[RESIDUAL][i] : 0);
    if (fabs(got[i] - wanted) <= bound(r, t, wanted)) continue;
    printf("%s, batch %d, %d x %d x %d: element %d is %.9g, not %.9g\n", tsr_dtype_name(r->dtype), (int)t->batch,
           (int)t->m, (int)t->k, (int)t->n, (int)i, got[i], wanted);
    FAIL("a product is wrong");
  }
}

static const trial trials[] = {
    {.batch = 1, .m = 1, .n = 1, .k = 1},
    {.batch = 1, .m = 13, .n = 31, .k = 7},
    {.batch = 1, .m = 14, .n = 32, .k = 256},
    {.batch = 1, .m = 15, .n = 33, .k = 257},
    {.batch = 1, .m = 43, .n = 70, .k = 513, .gap = 3},
    {.batch = 1, .m = 3, .n = 700, .k = 300, .gap = 1},
    {.batch = 1, .m = 17, .n = 301, .k = 700, .has_bias = true, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 2, .m = 15, .n = 257, .k = 129, .is_a_turned = true, .gap = 2, .has_residual = true},
    {.batch = 1, .m = 7, .n = 131, .k = 301, .is_b_turned = true, .gap = 1, .has_bias = true},
    {.batch = 2, .m = 13, .n = 66, .k = 64, .is_a_turned = true, .is_b_turned = true, .has_residual = true},
    {.batch = 1, .m = 2, .n = 300, .k = 700, .is_b_turned = true, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 1, .m = 42, .n = 2100, .k = 131, .alpha = 0.5, .beta = 2},
    {.batch = 1, .m = 28, .n = 47, .k = 600, .is_b_turned = true},
    {.batch = 1, .m = 900, .n = 7, .k = 300, .is_a_turned = true},
    {.batch = 1, .m = 1001, .n = 96, .k = 33, .has_bias = true, .has_residual = true, .gap = 5},
    {.batch = 1, .m = 200, .n = 16, .k = 1, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 1, .m = 700, .n = 7, .k = 1},
    {.batch = 3, .m = 37, .n = 63, .k = 1, .gap = 3},
    {.batch = 1, .m = 5, .n = 4131, .k = 1, .is_b_turned = true, .gap = 1},
    {.batch = 2, .m = 70, .n = 65, .k = 1, .is_a_turned = true},
    {.batch = 6, .m = 64, .n = 64, .k = 64},
    {.batch = 1, .m = 61, .n = 530, .k = 40, .is_a_turned = true},
    {.batch = 1, .m = 60, .n = 65, .k = 90, .is_b_turned = true, .gap = 1},
    {.batch = 1, .m = 37, .n = 41, .k = 300, .is_a_turned = true, .is_b_turned = true},
    {.batch = 5, .m = 9, .n = 34, .k = 20},
    {.batch = 7, .m = 17, .n = 16, .k = 33, .is_b_shared = true},
    {.batch = 1, .m = 1, .n = 1100, .k = 70},
    {.batch = 1, .m = 1, .n = 90, .k = 1500, .is_b_turned = true},
    {.batch = 1, .m = 90, .n = 1, .k = 1500},
    {.batch = 1, .m = 6, .n = 1, .k = 5003},
    {.batch = 1, .m = 203, .n = 1, .k = 7, .gap = 2},
    {.batch = 1, .m = 35, .n = 1, .k = 64},
    {.batch = 1, .m = 1, .n = 7, .k = 301},
    {.batch = 2, .m = 1, .n = 3, .k = 2, .gap = 1},
    {.batch = 1, .m = 1, .n = 15, .k = 33, .gap = 4},
    {.batch = 1, .m = 7, .n = 1, .k = 202, .is_a_turned = true},
    {.batch = 1, .m = 1, .n = 7, .k = 600, .skipped = 1},
    {.batch = 1, .m = 500, .n = 1, .k = 7, .skipped = 1},
    {.batch = 1, .m = 90, .n = 1, .k = 9, .skipped = 2, .gap = 1},
    {.batch = 1, .m = 300, .n = 7, .k = 16, .skipped = 1},
    {.batch = 2, .m = 67, .n = 3, .k = 300, .skipped = 1, .gap = 2},
    {.batch = 1, .m = 40, .n = 5, .k = 33, .skipped = 3, .is_b_turned = true},
    {.batch = 1, .m = 9, .n = 6, .k = 290, .skipped = 2},
    {.batch = 1, .m = 7, .n = 7, .k = 800},
    {.batch = 1, .m = 300, .n = 2, .k = 90, .gap = 1},
    {.batch = 2, .m = 37, .n = 3, .k = 600, .is_b_turned = true},
    {.batch = 1, .m = 90, .n = 5, .k = 33, .gap = 1},
    {.batch = 1, .m = 19, .n = 4, .k = 3},
    {.batch = 3, .m = 33, .n = 6, .k = 2, .is_b_turned = true, .gap = 1},
    {.batch = 1, .m = 9, .n = 2, .k = 13, .gap = 2},
    {.batch = 2, .m = 21, .n = 7, .k = 100},
    {.batch = 1, .m = 17, .n = 8, .k = 700, .is_b_turned = true},
    {.batch = 1, .m = 40, .n = 2, .k = 50, .has_bias = true},
    {.batch = 1, .m = 33, .n = 3, .k = 40, .is_a_turned = true},
    {.batch = 2, .m = 90, .n = 7, .k = 300, .is_a_turned = true, .is_b_turned = true, .gap = 1},
    {.batch = 3, .m = 300, .n = 1, .k = 37, .is_a_turned = true},
    {.batch = 1, .m = 30, .n = 600, .k = 65, .has_bias = true, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 2, .m = 20, .n = 77, .k = 270, .has_bias = true, .activation = TSRI_ACTIVATION_GELU_TANH},
    {.batch = 1, .m = 70, .n = 1, .k = 33, .has_bias = true, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 1, .m = 1, .n = 70, .k = 33, .has_bias = true},
    {.batch = 1, .m = 16, .n = 50, .k = 12, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 3, .m = 19, .n = 70, .k = 40, .has_residual = true},
    {.batch = 1, .m = 20, .n = 90, .k = 30, .has_bias = true, .has_residual = true, .activation = TSRI_ACTIVATION_GELU},
    {.batch = 1, .m = 1, .n = 2100, .k = 33, .has_bias = true, .has_residual = true},
    {.batch = 2, .m = 70, .n = 1, .k = 33, .has_bias = true, .has_residual = true, .activation = TSRI_ACTIVATION_GELU},
    {.batch = 1, .m = 40, .n = 300, .k = 300, .alpha = 0.5, .beta = -2, .gap = 1},
    {.batch = 3, .m = 9, .n = 33, .k = 20, .alpha = 1, .beta = 1, .is_c_turned = true, .has_bias = true},
    {.batch = 1, .m = 50, .n = 70, .k = 30, .alpha = -1.5, .activation = TSRI_ACTIVATION_RELU},
    {.batch = 1,
     .m = 20,
     .n = 300,
     .k = 30,
     .has_bias = true,
     .has_residual = true,
     .activation = TSRI_ACTIVATION_TANH},
    {.batch = 1, .m = 1, .n = 900, .k = 40, .alpha = 2, .beta = 0.25},
    {.batch = 2, .m = 90, .n = 1, .k = 40, .alpha = 2, .beta = 0.25, .gap = 3},
    {.batch = 1, .m = 60, .n = 500, .k = 40, .beta = 1, .has_residual = true},
    {.batch = 1,
     .m = 30,
     .n = 40,
     .k = 1300,
     .has_bias = true,
     .has_residual = true,
     .activation = TSRI_ACTIVATION_GELU},
    {.batch = 1, .m = 45, .n = 70, .k = 2100, .is_a_turned = true, .alpha = 0.5, .beta = 2, .gap = 1},
    {.batch = 1, .m = 300, .n = 70, .k = 260, .has_bias = true},
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

TEST(products_have_the_same_bits_on_any_number_of_threads) {
  static const trial large[] = {{.batch = 1, .m = 203, .n = 701, .k = 600},
                                {.batch = 1, .m = 17, .n = 1000, .k = 500},
                                {.batch = 9, .m = 100, .n = 101, .k = 150},
                                {.batch = 1, .m = 1, .n = 900, .k = 550},
                                {.batch = 1, .m = 1700, .n = 40, .k = 300},
                                {.batch = 1, .m = 20, .n = 1300, .k = 400},
                                {.batch = 1, .m = 5, .n = 90, .k = 5000, .is_b_turned = true},
                                {.batch = 1, .m = 500, .n = 1, .k = 1000},
                                {.batch = 1, .m = 1, .n = 60003, .k = 7},
                                {.batch = 1, .m = 3, .n = 1, .k = 150000},
                                {.batch = 1, .m = 9, .n = 1, .k = 55000},
                                {.batch = 1, .m = 1, .n = 7, .k = 4001},
                                {.batch = 1, .m = 40, .n = 60, .k = 6000},
                                {.batch = 1, .m = 10, .n = 20, .k = 20000},
                                {.batch = 1, .m = 7000, .n = 7, .k = 50},
                                {.batch = 1, .m = 5000, .n = 7, .k = 50, .skipped = 1},
                                {.batch = 1, .m = 5000, .n = 1, .k = 7, .skipped = 1},
                                {.batch = 1, .m = 9, .n = 20003, .k = 1},
                                {.batch = 1, .m = 20003, .n = 9, .k = 1},
                                {.batch = 1, .m = 1000, .n = 7, .k = 500, .is_a_turned = true}};
  enum { LARGE = sizeof large / sizeof large[0], MOST_THREADS = 5 };
  static void *alone[LARGE];               // results of one thread
  int step = test_is_sanitized() ? 3 : 1;  // two and five threads
  for (int threads = 1; threads <= MOST_THREADS; threads += threads == 1 ? 1 : step) {
    rig r;
    rig_open(&r, TSR_F32, NULL, threads);
    for (size_t i = 0; i < LARGE; i++) {
      size_t bytes = (size_t)(large[i].batch * large[i].m * large[i].n) * sizeof(float);
      tsri_native_op op = op_of(&r, &large[i]);
      CHECK_OK(tsri_cpu_run_op(r.queue, &op));
      const void *result = tsri_cpu_buffer_host(NULL, r.buffers[Y]);
      if (threads == 1) alone[i] = memcpy(malloc(bytes), result, bytes);
      else CHECK_BYTES(result, alone[i], bytes);
    }
    rig_close(&r);
  }
  for (size_t i = 0; i < LARGE; i++) free(alone[i]);
}

TEST(gelu_after_a_product_is_0_at_minus_infinity_and_keeps_small_numbers) {
  static const float given[] = {-INFINITY, -1e30f, -5, -3, 0, 3, INFINITY};
  enum { COUNT = sizeof given / sizeof given[0] };
  for (tsri_activation activation = TSRI_ACTIVATION_GELU_TANH; activation <= TSRI_ACTIVATION_GELU; activation++) {
    rig r;
    rig_open(&r, TSR_F32, NULL, 1);
    tsri_native_op op = op_of(&r, &(trial){.batch = 1, .m = 1, .n = COUNT, .k = 1, .activation = activation});
    memcpy(tsri_cpu_buffer_host(NULL, r.buffers[A]), &(float){1}, sizeof(float));
    memcpy(tsri_cpu_buffer_host(NULL, r.buffers[B]), given, sizeof given);
    CHECK_OK(tsri_cpu_run_op(r.queue, &op));
    const float *got = tsri_cpu_buffer_host(NULL, r.buffers[Y]);
    CHECK(got[0] == 0 && got[1] == 0 && got[4] == 0 && got[6] == INFINITY);
    if (activation == TSRI_ACTIVATION_GELU_TANH) CHECK_NEAR((double)got[2] / activate(-5, activation), 1, 1e-4);
    CHECK_NEAR(got[3], activate(-3, activation), 1e-6);
    CHECK_NEAR(got[5], activate(3, activation), 1e-6);
    rig_close(&r);
  }
}
