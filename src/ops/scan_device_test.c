// SPDX-License-Identifier: MIT
// Running extremes with their places, logarithms of sums, and scans of views, on every device, in sizes that take each path of their kernels. What is expected is
// computed here, one element after the other.
#include "ops/ops_testing.h"

enum { MOST = 70000 };

static float given[MOST], values[MOST];
static int32_t found[MOST];

static bool is_vulkan(const tsr_device *device) { return strcmp(tsr_device_backend(device), "vulkan") == 0; }

// Few different numbers, so that there are ties; some NaN, infinities and both zeros.
static tsr_tensor *numbers(tsr_device *device, int64_t outer, int64_t n, int64_t inner) {
  static const float odd[] = {INFINITY, -INFINITY, 0.0f, -0.0f, NAN};
  uint32_t state = 12345;
  for (int64_t i = 0; i < outer * n * inner; i++) {
    state = state * 1664525u + 1013904223u;
    given[i] = state >> 24 == 0 ? odd[(state >> 8) % 5] : (float)((int32_t)(state >> 12) % 3000 - 1500) * 0.25f;
  }
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(outer, n, inner), given, (size_t)(outer * n * inner) * sizeof(float));
}

// Whether x comes in place of the extreme so far.
static bool replaces(float x, float extreme, bool is_max) {
  if (isnan(extreme)) return false;
  return isnan(x) || (is_max ? x > extreme : x < extreme);
}

static int64_t count_wrong(int64_t outer, int64_t n, int64_t inner, bool is_max) {
  int64_t wrong = 0;
  for (int64_t line = 0; line < outer * inner; line++) {
    int64_t first = line / inner * n * inner + line % inner, at = 0;
    for (int64_t i = 0; i < n; i++) {
      if (i > 0 && replaces(given[first + i * inner], given[first + at * inner], is_max)) at = i;
      float wanted = given[first + at * inner], is = values[first + i * inner];
      wrong += found[first + i * inner] != at || (isnan(wanted) ? !isnan(is) : is != wanted);
    }
  }
  return wrong;
}

static void check_extremes(tsr_device *device, int64_t outer, int64_t n, int64_t inner, bool is_max) {
  int64_t count = outer * n * inner;
  tsr_tensor *x = numbers(device, outer, n, inner), *extremes = NULL, *places = NULL;
  CHECK_OK(is_max ? tsr_cummax(x, 1, &extremes, &places) : tsr_cummin(x, 1, &extremes, &places));
  CHECK_OK(tsr_read(extremes, values, (size_t)count * sizeof(float)));
  CHECK_OK(tsr_read(places, found, (size_t)count * sizeof(int32_t)));
  CHECK_EQ_INT(count_wrong(outer, n, inner, is_max), 0);
}

static void extremes_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_extremes(device, 1, 3, 1, false);
  check_extremes(device, 700, 7, 1, true);
  check_extremes(device, 9, 515, 1, false);
  check_extremes(device, 3, 2, 37, true);
  tsr_scope_end(scope);
}
TEST(running_extremes_and_their_places_are_right_on_every_device) { test_on_every_device(extremes_are_right); }

// Of rows that begin within a quad, and of columns that are a view.
static void extremes_of_views_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  int32_t places[6];
  dev = device;  // of list()
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(7), 9, 2, 1, 2, 3, 3, -1),
             *wide = list(TSR_I32, TSR_SHAPE(2, 6), 1, 9, 5, 9, 3, 9, 4, 9, 4, 9, 3, 9);
  tsr_tensor *most = NULL, *at = NULL;
  CHECK_OK(tsr_cummax(tsr_slice(x, 0, 1, 7, 1), 0, &most, &at));
  CHECK_OK(tsr_read(at, places, sizeof places));
  CHECK_BYTES(places, ((const int32_t[]){0, 0, 0, 3, 3, 3}), sizeof places);
  CHECK_OK(tsr_cummax(tsr_slice(wide, 1, 0, 6, 2), 0, &most, &at));
  CHECK_OK(tsr_read(most, places, sizeof places));
  CHECK_BYTES(places, ((const int32_t[]){1, 5, 3, 4, 5, 3}), sizeof places);
  CHECK_OK(tsr_read(at, places, sizeof places));
  CHECK_BYTES(places, ((const int32_t[]){0, 0, 0, 1, 0, 0}), sizeof places);
  tsr_scope_end(scope);
}
TEST(running_extremes_of_views_are_right_on_every_device) { test_on_every_device(extremes_of_views_are_right); }

// Few lines of many elements: by work-groups that wait for others (but see device_order_test.c for lavapipe), and columns in parts.
static void check_long(tsr_device *device) {
  if (!test_device_computes(device) || is_vulkan(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_extremes(device, 2, 20003, 1, true);
  check_extremes(device, 1, 69999, 1, false);
  check_extremes(device, 1, 1031, 33, true);
  tsr_scope_end(scope);
}
TEST(extremes_of_long_rows_are_found_in_one_pass) {
  setenv("TSR_TUNE", "scan_once=2,scan_rows=1000000", 1);
  test_on_every_device(check_long);
  unsetenv("TSR_TUNE");
}

// Rows whose sums begin with very small parts, which must not get lost; with infinities, and from a row's first element on.
static void check_log_sums(tsr_device *device, int64_t outer, int64_t n, int64_t inner) {
  int64_t count = outer * n * inner, wrong = 0;
  for (int64_t i = 0; i < count; i++)
    given[i] = (float)(i * 7919 % 1000) * 0.01f + (i / inner % n < 5 ? -200.0f : 0.0f);
  given[0] = -INFINITY;
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(outer, n, inner), given, (size_t)count * sizeof(float));
  CHECK_OK(tsr_read(tsr_logcumsumexp(x, 1), values, (size_t)count * sizeof(float)));
  for (int64_t line = 0; line < outer * inner; line++) {
    int64_t first = line / inner * n * inner + line % inner;
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) {
      double v = (double)given[first + i * inner], most = v > top ? v : top;
      if (v > -INFINITY) sum = sum * exp(top - most) + exp(v - most);
      top = most;
      double wanted = sum > 0 ? top + log(sum) : top, is = (double)values[first + i * inner];
      wrong += wanted == -INFINITY ? is != wanted : !(fabs(is - wanted) <= 2e-5 * (1 + fabs(wanted)));
    }
  }
  CHECK_EQ_INT(wrong, 0);
}

static void log_sums_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_log_sums(device, 90, 31, 1);
  check_log_sums(device, 2, 9, 5);
  tsr_scope_end(scope);
}
TEST(logarithms_of_running_sums_are_right_on_every_device) { test_on_every_device(log_sums_are_right); }

static void long_log_sums_are_right(tsr_device *device) {
  if (!test_device_computes(device) || is_vulkan(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_log_sums(device, 1, 40001, 1);
  tsr_scope_end(scope);
}
TEST(logarithms_of_long_running_sums_take_one_pass) {
  setenv("TSR_TUNE", "scan_once=2,scan_rows=1000000", 1);
  test_on_every_device(long_log_sums_are_right);
  unsetenv("TSR_TUNE");
}

// Sums of 32 and 64 bits of any value, which work-groups exchange in several words; elements of 64 bits are read and stored in pairs.
static void check_exchanged(tsr_device *device) {
  if (!test_device_computes(device) || is_vulkan(device)) return;
  enum { N = 20003, ROW = 1027 };
  static int64_t wide[N], sums[N];
  static uint32_t words[N], products[N];
  tsr_scope *scope = tsr_scope_begin(device);
  for (int64_t i = 0; i < N; i++) {
    wide[i] = (int64_t)((uint64_t)i * 0x9E3779B97F4A7C15u);
    words[i] = (uint32_t)i * 2654435761u | 1;
  }
  tsr_tensor *x = tsr_from_data(device, TSR_I64, TSR_SHAPE(N), wide, sizeof wide);
  tsr_tensor *factors = tsr_from_data(device, TSR_U32, TSR_SHAPE(N), words, sizeof words);
  CHECK_OK(tsr_read(tsr_cumsum(x, 0), sums, sizeof sums));
  CHECK_OK(tsr_read(tsr_cumprod(factors, 0), products, sizeof products));
  uint64_t sum = 0, wrong = 0;
  uint32_t product = 1;
  for (int64_t i = 0; i < N; i++) {
    wrong += (uint64_t)sums[i] != (sum += (uint64_t)wide[i]);
    wrong += products[i] != (product *= words[i]);
  }
  x = tsr_reshape(tsr_slice(x, 0, 0, N / ROW * ROW, 1), TSR_SHAPE(N / ROW, ROW));  // rows that do not begin at pairs
  CHECK_OK(tsr_read(tsr_cumsum(x, 1), sums, (size_t)(N / ROW * ROW) * sizeof *sums));
  for (int64_t i = 0; i < N / ROW * ROW; i++) {
    sum = (i % ROW == 0 ? 0 : sum) + (uint64_t)wide[i];
    wrong += (uint64_t)sums[i] != sum;
  }
  CHECK_EQ_UINT(wrong, 0);
  tsr_scope_end(scope);
}
TEST(sums_of_any_dtype_are_exchanged_between_work_groups) {
  setenv("TSR_TUNE", "scan_once=2,scan_rows=1000000", 1);
  test_on_every_device(check_exchanged);
  unsetenv("TSR_TUNE");
}

static uint64_t launches_of(tsr_device *device, tsr_tensor *x, tsr_tensor *y) {
  tsr_device_counters before, after;
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_device_get_counters(device, &before));
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_device_get_counters(device, &after));
  return after.launches - before.launches;
}

// Columns of every second element are not copied first, two results take one launch, and an axis of one element is not scanned.
static void views_take_one_launch(tsr_device *device) {
  if (!test_device_computes(device) || strcmp(tsr_device_backend(device), "vulkan") != 0) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(3, 4, 10)), *most = NULL, *places = NULL;
  tsr_tensor *half = tsr_slice(x, 2, 0, 10, 2), *one = tsr_slice(x, 1, 0, 1, 1);
  CHECK_EQ_UINT(launches_of(device, x, tsr_cumsum(half, 1)), 1);
  CHECK_EQ_UINT(launches_of(device, x, tsr_cumsum(tsr_flip(x, 1), 1)), 1);
  CHECK_OK(tsr_cummax(half, 1, &most, &places));
  CHECK_EQ_UINT(launches_of(device, x, places), 1);
  CHECK_EQ_UINT(launches_of(device, x, most), 0);
  CHECK_EQ_UINT(launches_of(device, x, tsr_logcumsumexp(one, 1)), 1);
  tsr_scope_end(scope);
}
TEST(scans_of_views_take_one_launch) { test_on_every_device(views_take_one_launch); }

static void check_columns(tsr_device *device, int64_t from, int64_t width) {
  enum { N = 3, ROW = 26 };
  static float is[2 * N * ROW];
  tsr_tensor *x = tsr_reshape(tsr_arange(device, TSR_F32, 0, 2 * N * ROW, 1), TSR_SHAPE(2, N, ROW));
  CHECK_OK(tsr_evaluate(x));
  tsr_tensor *sums = tsr_cumsum(tsr_slice(x, 2, from, from + width, 1), 1);
  CHECK_OK(tsr_read(sums, is, (size_t)(2 * N * width) * sizeof(float)));
  int64_t wrong = 0;
  for (int64_t line = 0; line < 2 * width; line++) {
    int64_t outer = line / width, col = line % width;
    float sum = 0;
    for (int64_t i = outer * N; i < (outer + 1) * N; i++) {
      sum += (float)(i * ROW + from + col);
      wrong += is[i * width + col] != sum;
    }
  }
  CHECK_EQ_INT(wrong, 0);
}

// Vectors of four neighbouring columns, and of two, and columns of a view whose rows do not begin at vectors.
static void columns_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_columns(device, 0, 26);
  check_columns(device, 1, 24);
  check_columns(device, 0, 24);
  tsr_scope_end(scope);
}
TEST(neighbouring_columns_are_scanned_as_vectors) {
  setenv("TSR_TUNE", "column_items=4", 1);
  test_on_every_device(columns_are_right);
  unsetenv("TSR_TUNE");
}
