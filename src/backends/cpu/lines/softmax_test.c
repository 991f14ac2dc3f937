// SPDX-License-Identifier: MIT
// softmax and log_softmax against f64: dtypes, SIMD levels, threads, axes, infinities and NaN.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/rows_testing.h"

enum { MOST = 40000 };

typedef struct rig {
  cpu_device *device;
  tsri_buffer *in, *out;
  tsr_dtype dtype;
  double values[MOST];  // as the dtype holds them
} rig;

static rig *rig_open(int threads, const char *simd, tsr_dtype dtype, const double *values) {
  rig *r = malloc(sizeof *r);
  CHECK(r != NULL);
  *r = (rig){.device = open_device(threads, simd), .dtype = dtype};
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r->device, MOST * sizeof(double), &r->in));
  CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r->device, MOST * sizeof(double), &r->out));
  CHECK_OK(tsr_convert(dtype, tsri_cpu_buffer_host(NULL, r->in), TSR_F64, values, MOST));
  CHECK_OK(tsr_convert(TSR_F64, r->values, dtype, tsri_cpu_buffer_host(NULL, r->in), MOST));
  return r;
}

static void rig_close(rig *r) {
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->in);
  tsri_cpu_buffer_destroy((tsri_device *)r->device, r->out);
  close_device(r->device);
  free(r);
}

static void run(const rig *r, tsri_softmax_op op) {
  op.from.buffer = r->in;
  op.to.buffer = r->out;
  CHECK(tsri_cpu_has_lines(&(tsri_native_op){.kind = TSRI_NATIVE_SOFTMAX, .dtype = r->dtype, .is.softmax = op}));
  tsri_cpu_softmax(r->device, r->dtype, &op);
}

static double unit_of(tsr_dtype dtype) {
  return dtype == TSR_F64 ? 0x1p-52 : dtype == TSR_F32 ? 0x1p-23 : dtype == TSR_F16 ? 0x1p-10 : 0x1p-7;
}

// Of one line, `step` apart. Rounding of x - top and of the sum are what differs.
static void check_line(const rig *r, const tsri_softmax_op *op, const double *x, const double *found) {
  double top = -(double)INFINITY, sum = 0, lost = 0;  // what rounding took from the sum

  for (int64_t i = 0; i < op->n; i++) top = isnan(top) || isnan(x[i * op->inner]) ? NAN : fmax(top, x[i * op->inner]);
  for (int64_t i = 0; i < op->n; i++) {
    double power = exp(x[i * op->inner] - top) - lost, more = sum + power;
    lost = isfinite(more) ? more - sum - power : 0;
    sum = more;
  }
  for (int64_t i = 0; i < op->n; i++) {
    double above = x[i * op->inner] - top, wanted = op->is_log ? above - log(sum) : exp(above) / sum;
    double got = found[i * op->inner], wide = r->dtype == TSR_F64 ? 0x1p-52 : 0x1p-23;
    double bound =
        unit_of(r->dtype) * fabs(wanted) + 20 * wide * (op->is_log ? 1 + fabs(above) : wanted * (1 + fabs(above)));
    if (r->dtype == TSR_F16 && !op->is_log) bound += 0x1p-25;  // results below its smallest normal number
    if (!(isnan(wanted) ? isnan(got) : got == wanted || fabs(got - wanted) <= bound))
      test_fail(__FILE__, __LINE__, "%s, %d x %d x %d: %.9g, not %.9g", tsr_dtype_name(r->dtype), (int)op->outer,
                (int)op->n, (int)op->inner, got, wanted);
  }
}

static void check(const rig *r, tsri_softmax_op op) {
  static double found[MOST];
  for (int log = 0; log < 2; log++) {
    op.is_log = log != 0;
    run(r, op);
    int64_t count = op.outer * op.n * op.inner;
    CHECK_OK(tsr_convert(TSR_F64, found, r->dtype, tsri_cpu_buffer_host(NULL, r->out), (size_t)count));
    for (int64_t o = 0; o < op.outer; o++) {
      for (int64_t j = 0; j < op.inner; j++) {
        int64_t at = o * op.n * op.inner + j;
        check_line(r, &op, r->values + at, found + at);
      }
    }
  }
}

static const tsri_softmax_op trials[] = {
    {.outer = 1, .n = 1, .inner = 1},    {.outer = 300, .n = 1, .inner = 1},   {.outer = 301, .n = 7, .inner = 1},
    {.outer = 130, .n = 15, .inner = 1}, {.outer = 77, .n = 16, .inner = 1},   {.outer = 50, .n = 100, .inner = 1},
    {.outer = 3, .n = 2048, .inner = 1}, {.outer = 2, .n = 5001, .inner = 1},  {.outer = 1, .n = 40000, .inner = 1},
    {.outer = 1, .n = 7, .inner = 1000}, {.outer = 1, .n = 900, .inner = 7},   {.outer = 3, .n = 40, .inner = 300},
    {.outer = 5, .n = 1, .inner = 33},   {.outer = 1, .n = 100, .inner = 256},
};

static void fill(double *values) {
  uint32_t state = 3;
  for (int i = 0; i < MOST; i++) values[i] = ((double)(random_word(&state) % 20001) - 10000) / 1250;
}

TEST(softmax_of_every_dtype_along_any_axis) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
  static const char *const levels[] = {"baseline", "avx2", NULL};
  static double values[MOST];
  fill(values);
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    for (int l = 0; l < 3; l++) {
      rig *r = rig_open(l == 1 ? 1 : 5, levels[l], dtypes[d], values);
      for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) check(r, trials[i]);
      rig_close(r);
    }
  }
}

TEST(infinities_and_nan_in_a_line_are_those_of_the_formula) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e30};
  static double values[MOST];
  for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
    fill(values);
    for (int i = 5; i < MOST; i += 61) values[i] = odd[k];
    for (int i = 0; i < 700; i++) values[i] = odd[k];  // lines of nothing else
    rig *r = rig_open(2, NULL, TSR_F32, values);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) check(r, trials[i]);
    rig_close(r);
  }
}

TEST(softmax_has_the_same_bits_on_any_number_of_threads) {
  static double values[MOST];
  static float results[2][MOST];
  fill(values);
  for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
    size_t bytes = (size_t)(trials[i].outer * trials[i].n * trials[i].inner) * sizeof(float);
    for (int k = 0; k < 2; k++) {
      rig *r = rig_open(k ? 7 : 1, NULL, TSR_F32, values);
      run(r, trials[i]);
      memcpy(results[k], tsri_cpu_buffer_host(NULL, r->out), bytes);
      rig_close(r);
    }
    CHECK(memcmp(results[0], results[1], bytes) == 0);
  }
}
