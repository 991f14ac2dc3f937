// SPDX-License-Identifier: MIT
// The CPU's own sorting against a plain stable sort: every dtype, both directions, lengths around each algorithm's limits.
#include "backends/cpu/rows/sort.h"

#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/rows/rows_testing.h"
#include "core/alloc.h"

// Whole numbers that repeat, both zeros and, in floats, NaN and infinities.
static void fill(tsr_dtype dtype, int64_t count, void *out) {
  bool is_float = tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT;
  uint32_t state = 7;
  for (int64_t i = 0; i < count; i++) {
    uint32_t word = random_word(&state);
    double value = (double)(word % 97);
    if (tsr_dtype_kind_of(dtype) != TSR_KIND_UINT) value -= 48;
    if (is_float && word % 31 == 0) value = word % 2 ? NAN : -0.0;
    if (is_float && word % 37 == 0) value = word % 2 ? INFINITY : -INFINITY;
    CHECK_OK(tsr_convert(dtype, (char *)out + (size_t)i * tsr_dtype_bytes(dtype), TSR_F64, &value, 1));
  }
}

static bool comes_before(double a, double b, bool is_descending) {
  if (isnan(a) || isnan(b)) return !isnan(a) && isnan(b);
  return is_descending ? a > b : a < b;
}

// Checks that `order` is the stable order of the row: neighbours are in order, equal ones by index, and every index is there once.
static void check_order(const double *row, const int32_t *order, int64_t n, bool is_descending) {
  unsigned char *seen = calloc((size_t)n, 1);
  CHECK(seen != NULL);
  for (int64_t i = 0; i < n; i++) {
    CHECK(order[i] >= 0 && order[i] < n && !seen[order[i]]);
    seen[order[i]] = 1;
    if (i == 0) continue;
    double left = row[order[i - 1]], right = row[order[i]];
    bool is_right = comes_before(left, right, is_descending) ||
                    (!comes_before(right, left, is_descending) && order[i - 1] < order[i]);
    CHECK(is_right);
  }
  free(seen);
}

static void check_rows(cpu_device *device, tsr_dtype dtype, int64_t rows, int64_t n, bool is_descending) {
  size_t element = tsr_dtype_bytes(dtype), count = (size_t)(rows * n);
  char *x = malloc(count * element), *values = malloc(count * element);
  int32_t *order = malloc(count * sizeof *order);
  double *wide = malloc(count * sizeof *wide);
  CHECK(x && values && order && wide);
  fill(dtype, rows * n, x);
  CHECK_OK(tsr_convert(TSR_F64, wide, dtype, x, (size_t)count));
  tsri_row_sort s = {
      .x = x, .out = (char *)order, .rows = rows, .n = n, .dtype = dtype, .is_descending = is_descending};
  s.wants_order = true;
  CHECK_OK(tsri_cpu_sort_rows(device, &s));
  s.out = values;
  s.wants_order = false;
  CHECK_OK(tsri_cpu_sort_rows(device, &s));
  for (int64_t row = 0; row < rows; row++) {
    check_order(wide + row * n, order + row * n, n, is_descending);
    for (int64_t i = 0; i < n; i++) {  // bit by bit: -0 and NaN are the input's
      const char *from = x + (size_t)(row * n + order[row * n + i]) * element;
      CHECK(memcmp(values + (size_t)(row * n + i) * element, from, element) == 0);
    }
  }
  free(x);
  free(values);
  free(order);
  free(wide);
}

TEST(rows_of_every_dtype_are_sorted_stably_in_both_directions) {
  static const tsr_dtype dtypes[] = {TSR_U8,  TSR_I8,   TSR_I16, TSR_I32, TSR_U32,
                                     TSR_I64, TSR_BF16, TSR_F16, TSR_F32, TSR_F64};
  static const int64_t lengths[] = {1, 2, 7, 24, 25, 49, 95, 97, 383, 385, 769};
  cpu_device *device = open_device(3, NULL);
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
      check_rows(device, dtypes[d], 5, lengths[i], i % 2 == 0);
      check_rows(device, dtypes[d], 40, lengths[i], i % 2 != 0);
    }
  }
  close_device(device);
}

TEST(a_long_row_is_sorted_in_blocks_that_threads_merge) {
  for (int threads = 1; threads <= 5; threads += 2) {
    cpu_device *device = open_device(threads, NULL);
    check_rows(device, TSR_F32, 1, 262147, threads == 3);
    check_rows(device, TSR_F64, 2, 70001, false);
    close_device(device);
  }
}

TEST(sorting_nothing_and_without_memory) {
  cpu_device *device = open_device(2, NULL);
  float x[4] = {3, 1, 2, 0}, y[4] = {0};
  CHECK_OK(tsri_cpu_sort_rows(device,
                              &(tsri_row_sort){.x = (char *)x, .out = (char *)y, .rows = 0, .n = 4, .dtype = TSR_F32}));
  CHECK_OK(tsri_cpu_sort_rows(device,
                              &(tsri_row_sort){.x = (char *)x, .out = (char *)y, .rows = 4, .n = 0, .dtype = TSR_F32}));
  tsri_row_sort s = {.x = (char *)x, .out = (char *)y, .rows = 1, .n = 4, .dtype = TSR_F32};
  tsri_alloc_fail_at(1, false);
  CHECK_STATUS(tsri_cpu_sort_rows(device, &s), TSR_ERR_OUT_OF_MEMORY);
  tsri_alloc_fail_at(0, false);
  CHECK_LAST_ERROR_HAS("sort");
  CHECK(y[0] == 0);
  CHECK_OK(tsri_cpu_sort_rows(device, &s));
  CHECK(y[0] == 0 && y[1] == 1 && y[2] == 2 && y[3] == 3);
  close_device(device);
}
