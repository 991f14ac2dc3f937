// SPDX-License-Identifier: MIT
// layer_norm and rms_norm against f64: dtypes, SIMD levels, lengths of rows, weights, NaN.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/lines/lines.h"
#include "backends/cpu/rows/rows_testing.h"

enum { MOST = 12000 };
enum { X, WEIGHT, BIAS, Y, OPERANDS };

typedef struct rig {
  cpu_device *device;
  tsri_buffer *buffers[OPERANDS];
  tsr_dtype dtype;
  double values[OPERANDS][MOST];  // as the dtype holds them
} rig;

static rig *rig_open(int threads, const char *simd, tsr_dtype dtype) {
  rig *r = malloc(sizeof *r);
  CHECK(r != NULL);
  r->device = open_device(threads, simd);
  r->dtype = dtype;
  uint32_t state = 3;
  for (int i = 0; i < OPERANDS; i++) {
    CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r->device, MOST * sizeof(double), &r->buffers[i]));
    void *memory = tsri_cpu_buffer_host(NULL, r->buffers[i]);
    for (int k = 0; k < MOST; k++) {
      state = state * 1664525u + 1013904223u;
      r->values[i][k] = (double)(state >> 16) / 32768 - 0.7;
    }
    CHECK_OK(tsr_convert(dtype, memory, TSR_F64, r->values[i], MOST));
    CHECK_OK(tsr_convert(TSR_F64, r->values[i], dtype, memory, MOST));
  }
  return r;
}

static void rig_close(rig *r) {
  for (int i = 0; i < OPERANDS; i++) tsri_cpu_buffer_destroy((tsri_device *)r->device, r->buffers[i]);
  close_device(r->device);
  free(r);
}

static void run(rig *r, tsri_norm_op op) {
  op.from.buffer = r->buffers[X];
  op.weight.buffer = r->buffers[WEIGHT];
  op.bias.buffer = r->buffers[BIAS];
  op.to.buffer = r->buffers[Y];
  tsri_native_op native = {.kind = TSRI_NATIVE_NORM, .dtype = r->dtype, .is.norm = op};
  CHECK(tsri_cpu_has_lines(&native));
  CHECK_OK(tsri_cpu_lines(r->device, &native));
  CHECK_OK(tsr_convert(TSR_F64, r->values[Y], r->dtype, tsri_cpu_buffer_host(NULL, r->buffers[Y]), MOST));
}

static void check_row(const rig *r, const tsri_norm_op *op, const double *x, const double *got) {
  double mean = 0, variance = 0, wide = r->dtype == TSR_F64 ? 0x1p-52 : 0x1p-23;
  double unit = r->dtype == TSR_F16 ? 0x1p-10 : r->dtype == TSR_BF16 ? 0x1p-7 : wide;
  for (int64_t i = 0; op->is_centred && i < op->n; i++) mean += x[i] / (double)op->n;
  for (int64_t i = 0; i < op->n; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)op->n;
  double scale = 1 / sqrt(variance + op->eps);
  for (int64_t i = 0; i < op->n; i++) {
    double wanted = (x[i] - mean) * scale;
    if (op->has_weight) wanted *= r->values[WEIGHT][i];
    if (op->has_bias) wanted += r->values[BIAS][i];
    // Sums of n numbers up to 1.3, a mean that is off by as much, and one rounding at the end.
    CHECK_NEAR(got[i], wanted, wide * ((double)op->n + 20) * (2 + scale) + unit * fabs(wanted));
  }
}

static void check(rig *r, tsri_norm_op op) {
  run(r, op);
  for (int64_t i = 0; i < op.rows; i++) check_row(r, &op, r->values[X] + i * op.n, r->values[Y] + i * op.n);
}

TEST(norms_are_right_at_every_level_in_every_dtype_and_length) {
  static const char *const levels[] = {"baseline", "avx2", "avx512"};
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
  static const int64_t lengths[] = {1, 2, 7, 15, 16, 17, 33, 64, 100, 1000, 2048, 2049, 5000};
  for (size_t i = 0; i < 12; i++) {
    rig *r = rig_open(2, levels[i / 4], dtypes[i % 4]);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
      int64_t n = lengths[k], rows = MOST / n > 301 ? 301 : MOST / n;
      for (int form = 0; form < 8; form++) {
        check(r, (tsri_norm_op){.rows = rows,
                                .n = n,
                                .eps = 1e-2,
                                .is_centred = (form & 1) != 0,
                                .has_weight = (form & 2) != 0,
                                .has_bias = (form & 4) != 0});
      }
    }
    rig_close(r);
  }
}

TEST(a_nan_spoils_its_own_row_only) {
  for (int64_t n = 5; n <= 50; n += 45) {
    rig *r = rig_open(1, NULL, TSR_F32);
    ((float *)tsri_cpu_buffer_host(NULL, r->buffers[X]))[n + 2] = NAN;
    run(r, (tsri_norm_op){.rows = 3, .n = n, .eps = 1e-5, .is_centred = true});
    for (int64_t i = 0; i < 3 * n; i++) CHECK_EQ_INT(isnan(r->values[Y][i]) != 0, i / n == 1);
    rig_close(r);
  }
}
