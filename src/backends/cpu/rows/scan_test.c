// SPDX-License-Identifier: MIT
// The CPU's own running sums against plain loops in f64: dtypes, axes, lengths around segments and blocks, SIMD levels, threads.
#include "backends/cpu/rows/scan.h"

#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/rows/rows_testing.h"

typedef struct trial {
  tsr_dtype dtype;
  int64_t outer, n, inner;
  bool is_product;
} trial;

static void *run(const trial *t, const void *x, int threads, const char *simd) {
  int64_t count = t->outer * t->n * t->inner;
  cpu_device *device = open_device(threads, simd);
  char *y = malloc((size_t)count * tsr_dtype_bytes(t->dtype) + 1);
  CHECK(y != NULL);
  tsri_cpu_scan(device, &(tsri_scan){.x = x,
                                     .y = y,
                                     .outer = t->outer,
                                     .n = t->n,
                                     .inner = t->inner,
                                     .dtype = t->dtype,
                                     .is_product = t->is_product});
  close_device(device);
  return y;
}

// Inputs are of one sign and near 1 for products, so that a relative bound says all: an addition each, and the last rounding.
static void check(const trial *t, const char *simd) {
  int64_t count = t->outer * t->n * t->inner;
  size_t element = tsr_dtype_bytes(t->dtype);
  bool is_float = tsr_dtype_kind_of(t->dtype) == TSR_KIND_FLOAT;
  double *wide = malloc((size_t)count * sizeof *wide), *found = malloc((size_t)count * sizeof *found);
  char *x = malloc((size_t)count * element);
  CHECK(wide && found && x);
  uint32_t state = 3;
  for (int64_t i = 0; i < count; i++) {
    double part = random_word(&state) % 64;
    wide[i] = !is_float ? part / 32 : t->is_product ? 1 + part / 65536 : part / 64;
    if (!is_float) wide[i] = floor(wide[i]);
  }
  CHECK_OK(tsr_convert(t->dtype, x, TSR_F64, wide, (size_t)count));
  CHECK_OK(tsr_convert(TSR_F64, wide, t->dtype, x, (size_t)count));
  void *y = run(t, x, 1, simd), *with_threads = run(t, x, 5, simd);
  CHECK(memcmp(y, with_threads, (size_t)count * element) == 0);
  CHECK_OK(tsr_convert(TSR_F64, found, t->dtype, y, (size_t)count));
  double bound = !is_float ? 0 : t->dtype == TSR_BF16 ? 0x1p-8 : t->dtype == TSR_F16 ? 0x1p-11 : 0;
  bound += !is_float ? 0 : (double)t->n * (t->dtype == TSR_F64 ? 0x1p-53 : 0x1p-24);
  for (int64_t line = 0; line < t->outer * t->inner; line++) {
    double sum = t->is_product;
    for (int64_t i = 0; i < t->n; i++) {
      int64_t at = line / t->inner * t->n * t->inner + i * t->inner + line % t->inner;
      sum = t->is_product ? sum * wide[at] : sum + wide[at];
      CHECK(fabs(found[at] - sum) <= bound * fabs(sum));
    }
  }
  free(wide);
  free(found);
  free(x);
  free(y);
  free(with_threads);
}

TEST(running_sums_along_every_axis_at_every_level_and_number_of_threads) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_F16, TSR_I32, TSR_I64, TSR_U32};
  static const int64_t shapes[][3] = {{1, 1, 1},  {3, 1, 5},    {1, 7, 1},   {5, 1023, 1}, {2, 1025, 1},
                                      {3, 50, 7}, {1, 9, 1030}, {4, 3, 513}, {100, 17, 1}, {2, 2100, 3}};
  static const char *const levels[] = {"baseline", NULL};
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
      for (int level = 0; level < 2; level++) {
        check(&(trial){dtypes[d], shapes[i][0], shapes[i][1], shapes[i][2], false}, levels[level]);
      }
    }
  }
}

TEST(a_long_row_is_summed_in_blocks) {
  check(&(trial){TSR_F32, 1, 200001, 1, false}, NULL);
  check(&(trial){TSR_F64, 2, 65536, 1, false}, NULL);
}

TEST(running_products_of_rows_and_columns) {
  check(&(trial){TSR_F64, 3, 2000, 1, true}, NULL);
  check(&(trial){TSR_F32, 2, 70, 9, true}, NULL);
}

TEST(scanning_nothing_writes_nothing) {
  cpu_device *device = open_device(2, NULL);
  float y = 5;
  for (int empty = 0; empty < 3; empty++) {
    tsri_scan s = {
        .x = (char *)&y, .y = (char *)&y, .outer = empty != 0, .n = empty != 1, .inner = empty != 2, .dtype = TSR_F32};
    tsri_cpu_scan(device, &s);
  }
  CHECK(y == 5);
  close_device(device);
}
