// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(nonzero_gives_a_row_for_each_element) {
  begin();
  CHECK_VALUES(tsr_nonzero(list(TSR_F32, TSR_SHAPE(2, 3), 3, 0, NAN, -0.0, 1, 0)), TSR_I32, TSR_SHAPE(3, 2), 0, 0, 0, 0,
               2, 1, 1);
  CHECK_EMPTY(tsr_nonzero(tsr_zeros(dev, TSR_I32, TSR_SHAPE(4))), TSR_I32, TSR_SHAPE(0, 1));
  CHECK_EMPTY(tsr_nonzero(tsr_zeros(dev, TSR_I32, TSR_SHAPE(2, 0, 3))), TSR_I32, TSR_SHAPE(0, 3));
  CHECK_EMPTY(tsr_nonzero(list(TSR_F32, TSR_SCALAR, 5)), TSR_I32, TSR_SHAPE(1, 0));
  CHECK_EMPTY(tsr_nonzero(list(TSR_F32, TSR_SCALAR, 0)), TSR_I32, TSR_SHAPE(0, 0));
  finish();
}

// More elements than a work-group looks at, and none found in some of these.
TEST(nonzero_of_a_long_list_keeps_the_order) {
  enum { COUNT = 20001, EACH = 7, FROM = 9000 };
  begin();
  tsr_tensor *x = tsr_arange(dev, TSR_I32, 0, COUNT, 1), *whole = tsr_eq_scalar(tsr_mod_scalar(x, EACH), 0);
  tsr_tensor *found = tsr_nonzero(tsr_logical_and(whole, tsr_ge_scalar(x, FROM)));
  const int64_t first = (FROM + EACH - 1) / EACH * EACH, wanted = (COUNT - 1 - first) / EACH + 1;
  CHECK(tsr_tensor_shape(found).dims[0] == wanted);
  int32_t *places = calloc((size_t)wanted, sizeof *places);
  CHECK_OK(tsr_read(found, places, (size_t)wanted * sizeof *places));
  for (int64_t i = 0; i < wanted; i++) CHECK(places[i] == first + i * EACH);
  free(places);
  finish();
}

TEST(masked_select_broadcasts_both) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3)), *mask = list(TSR_BOOL, TSR_SHAPE(3), 1, 0, 1);
  CHECK_VALUES(tsr_masked_select(x, mask), TSR_F32, TSR_SHAPE(4), 0, 0, 2, 3, 5);
  CHECK_VALUES(tsr_masked_select(list(TSR_I32, TSR_SHAPE(1), 9), mask), TSR_I32, TSR_SHAPE(2), 0, 9, 9);
  CHECK_EMPTY(tsr_masked_select(x, list(TSR_BOOL, TSR_SHAPE(1), 0)), TSR_F32, TSR_SHAPE(0));
  CHECK_FAILS(tsr_masked_select(x, list(TSR_BOOL, TSR_SHAPE(2), 1, 1)), TSR_ERR_SHAPE, "masked_select: ");
  finish();
}

TEST(unique_counts_nan_once_and_takes_zeros_for_equal) {
  begin();
  tsr_tensor *values = NULL, *inverse = NULL, *counts = NULL;
  CHECK_OK(tsr_unique(list(TSR_F32, TSR_SHAPE(7), 3, 1, NAN, 3, NAN, -0.0, 0), &values, &inverse, &counts));
  CHECK_VALUES(values, TSR_F32, TSR_SHAPE(4), 0, 0, 1, 3, NAN);
  CHECK_VALUES(inverse, TSR_I32, TSR_SHAPE(7), 0, 2, 1, 3, 2, 3, 0, 0);
  CHECK_VALUES(counts, TSR_I32, TSR_SHAPE(4), 0, 2, 1, 2, 2);
  CHECK_OK(tsr_unique(tsr_zeros(dev, TSR_I32, TSR_SHAPE(0, 2)), &values, &inverse, &counts));
  CHECK_EMPTY(values, TSR_I32, TSR_SHAPE(0));
  CHECK_EMPTY(inverse, TSR_I32, TSR_SHAPE(0, 2));
  CHECK_EMPTY(counts, TSR_I32, TSR_SHAPE(0));
  CHECK_OK(tsr_unique(list(TSR_BOOL, TSR_SHAPE(2, 2), 1, 0, 1, 1), NULL, NULL, &counts));
  CHECK_VALUES(counts, TSR_I32, TSR_SHAPE(2), 0, 1, 3);
  CHECK_STATUS(tsr_unique(NULL, &values, NULL, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK(values == NULL);
  finish();
}

// The number of elements is read from the device, which a capture cannot repeat.
TEST(finding_is_refused_in_a_capture) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(4));
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_device_synchronize(dev));
  CHECK_OK(tsr_capture_begin(dev));
  tsr_tensor *found = tsr_nonzero(x);
  CHECK_STATUS(tsr_capture_end(&found, 1, &capture), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("an operator whose result's size is found on the device");
  CHECK(capture == NULL);
  finish();
}

TEST(mode_is_the_smallest_of_the_most_frequent) {
  begin();
  CHECK_VALUES(tsr_mode(list(TSR_I32, TSR_SHAPE(6), 5, 2, 5, 2, 9, 1), 0, false), TSR_I32, TSR_SCALAR, 0, 2);
  CHECK_VALUES(tsr_mode(list(TSR_F32, TSR_SHAPE(2, 3), NAN, 7, NAN, NAN, NAN, NAN), 1, true), TSR_F32, TSR_SHAPE(2, 1),
               0, 7, NAN);
  CHECK_FAILS(tsr_mode(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), 1, false), TSR_ERR_SHAPE,
              "mode: axis 1 of 2x0 has no elements");
  finish();
}

TEST(bincount_counts_up_to_the_largest_or_a_length) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(7), 0, 1, 1, 3, -1, 1, 7);
  CHECK_VALUES(tsr_bincount(x, NULL, 0), TSR_I32, TSR_SHAPE(8), 0, 1, 3, 0, 1, 0, 0, 0, 1);
  CHECK_VALUES(tsr_bincount(x, NULL, 2), TSR_I32, TSR_SHAPE(2), 0, 1, 3);
  CHECK_VALUES(tsr_bincount(x, list(TSR_F32, TSR_SHAPE(7), 0.5, 1, 2, 4, 8, 16, 32), 3), TSR_F32, TSR_SHAPE(3), 0, 0.5,
               19, 0);
  CHECK_EMPTY(tsr_bincount(list(TSR_I64, TSR_SHAPE(2), -5, -6), NULL, 0), TSR_I32, TSR_SHAPE(0));
  CHECK_VALUES(tsr_bincount(tsr_zeros(dev, TSR_U8, TSR_SHAPE(0)), NULL, 2), TSR_I32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_FAILS(tsr_bincount(x, NULL, -1), TSR_ERR_INVALID_ARGUMENT, "bincount: -1 counts; 0 to 16777216 are possible");
  CHECK_FAILS(tsr_bincount(list(TSR_I32, TSR_SHAPE(1), 20000000), NULL, 0), TSR_ERR_UNSUPPORTED,
              "bincount: 20000001 counts");
  CHECK_FAILS(tsr_bincount(list(TSR_F32, TSR_SHAPE(1), 1), NULL, 2), TSR_ERR_DTYPE,
              "bincount: takes integers, not f32");
  CHECK_FAILS(tsr_bincount(x, list(TSR_F32, TSR_SHAPE(1), 1), 2), TSR_ERR_SHAPE, "bincount: x is [7], weights are [1]");
  finish();
}

TEST(histogram_puts_the_last_edge_into_the_last_range) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(8), 0, 0.5, 1, 1.5, 2, 3, NAN, -1);
  CHECK_VALUES(tsr_histogram(x, 4, 0, 2), TSR_I32, TSR_SHAPE(4), 0, 1, 1, 1, 2);
  CHECK_VALUES(tsr_histogram(list(TSR_I32, TSR_SHAPE(4), 1, 2, 2, 9), 2, 0, 4), TSR_I32, TSR_SHAPE(2), 0, 1, 2);
  CHECK_FAILS(tsr_histogram(x, 0, 0, 2), TSR_ERR_INVALID_ARGUMENT, "histogram: 0 counts; 1 to");
  CHECK_FAILS(tsr_histogram(x, 4, 2, 2), TSR_ERR_INVALID_ARGUMENT, "histogram: from 2 to 2 is no range");
  CHECK_FAILS(tsr_histogram(x, 4, 0, INFINITY), TSR_ERR_INVALID_ARGUMENT, "histogram: from 0 to inf is no range");
  finish();
}

// Edges that no quotient finds: more of them than there are numbers between, and differences that are too large for a float.
TEST(histogram_is_what_its_edges_say) {
  static const struct {
    double low, high;
    int64_t bins;
  } ranges[] = {{1e8, 1e8 + 64, 100}, {-3e38, 3e38, 37}, {-1e-40, 1e-40, 5}, {0.1, 0.7, 1}, {-1, 1, 1500}};
  begin();
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    const double low = ranges[i].low, high = ranges[i].high;
    const int64_t bins = ranges[i].bins;
    tsr_tensor *x = tsr_rand(dev, TSR_F32, TSR_SHAPE(9000), 3);
    x = tsr_add_scalar(tsr_mul_scalar(tsr_mul_scalar(x, 1.25), high / 2 - low / 2), low);
    tsr_tensor *inside = tsr_masked_select(x, tsr_lt_scalar(x, high));  // above it nothing counts
    tsr_tensor *above = tsr_bucketize(inside, tsr_linspace(dev, TSR_F32, low, high, bins + 1), true);
    tsr_tensor *wanted = tsr_bincount(tsr_sub_scalar(above, 1), NULL, bins),
               *counts = tsr_histogram(x, bins, low, high);
    CHECK_VALUES(tsr_any(tsr_ne(counts, wanted), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
    CHECK_VALUES(tsr_any(tsr_gt_scalar(counts, 0), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  }
  finish();
}

// Elements that are edges, and their neighbours: the kernel must read the edges to find their bins.
TEST(histogram_counts_edges_and_their_neighbours_exactly) {
  static const struct {
    double low, high;
    int64_t bins;
  } ranges[] = {{-1, 1, 7874},     {0.1, 0.7, 1500}, {1e6, 1e6 + 300, 999}, {-1e-35, 3e-35, 7},
                {-1e38, 1e38, 77}, {0, 1e-3, 12345}, {-1, 1, 20000}};
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64};
  begin();
  for (size_t i = 0; i < 2 * sizeof ranges / sizeof ranges[0]; i++) {
    const double low = ranges[i / 2].low, high = ranges[i / 2].high;
    const int64_t bins = ranges[i / 2].bins;
    tsr_tensor *edges = tsr_linspace(dev, dtypes[i % 2], low, high, bins + 1);
    tsr_tensor *ends[] = {tsr_full(dev, dtypes[i % 2], TSR_SCALAR, -INFINITY),
                          tsr_full(dev, dtypes[i % 2], (tsr_shape){0}, INFINITY)};
    tsr_tensor *x =
        tsr_concat((tsr_tensor *[]){edges, tsr_nextafter(edges, ends[0]), tsr_nextafter(edges, ends[1])}, 3, 0);
    tsr_tensor *inside = tsr_masked_select(x, tsr_lt(x, tsr_slice(edges, 0, bins, bins + 1, 1)));
    tsr_tensor *above = tsr_bucketize(inside, edges, true);  // 0 for the element below the first edge
    tsr_tensor *wanted = tsr_bincount(tsr_sub_scalar(above, 1), NULL, bins),
               *counts = tsr_histogram(inside, bins, low, high);
    CHECK_VALUES(tsr_any(tsr_ne(counts, wanted), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
  }
  finish();
}

// With many bins, two of them share a counter of 32 bits in shared memory: neither may spill into the other.
TEST(many_equal_elements_are_counted_in_their_bin_alone) {
  begin();
  for (int64_t bins = 5000; bins <= 15000; bins += 10000) {
    for (int bin = 4998; bin <= 4999; bin++) {
      tsr_tensor *counts = tsr_bincount(tsr_full(dev, TSR_I32, TSR_SHAPE(300000), bin), NULL, bins);
      CHECK_VALUES(tsr_slice(counts, 0, bin, bin + 1, 1), TSR_I32, TSR_SHAPE(1), 0, 300000);
      CHECK_VALUES(tsr_sum(counts, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 300000);
    }
  }
  finish();
}

TEST(bucketize_and_interp_look_between_points) {
  begin();
  tsr_tensor *edges = list(TSR_F32, TSR_SHAPE(3), 0, 1, 3), *heights = list(TSR_F32, TSR_SHAPE(3), 10, 20, 0);
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(6), -1, 0, 0.5, 2, 9, NAN);
  CHECK_VALUES(tsr_bucketize(x, edges, false), TSR_I32, TSR_SHAPE(6), 0, 0, 0, 1, 2, 3, 3);
  CHECK_VALUES(tsr_bucketize(x, edges, true), TSR_I32, TSR_SHAPE(6), 0, 0, 1, 1, 2, 3, 3);
  CHECK_VALUES(tsr_interp(x, edges, heights), TSR_F32, TSR_SHAPE(6), 0, 10, 10, 15, 10, 0, NAN);
  CHECK_VALUES(tsr_interp(x, list(TSR_F32, TSR_SHAPE(1), 1), list(TSR_I32, TSR_SHAPE(1), 7)), TSR_F32, TSR_SHAPE(6), 0,
               7, 7, 7, 7, 7, NAN);
  CHECK_FAILS(tsr_interp(x, edges, x), TSR_ERR_SHAPE,
              "interp: xs and ys are lists of one size, 1 or more, not [3] and [6]");
  finish();
}

// --- On every device -------------------------------------------------------------------------------------------------

static void check_equal(const char *what, int64_t n, tsr_tensor *there, tsr_tensor *here) {
  static unsigned char a[100000], b[100000];
  size_t bytes = (size_t)tsr_tensor_count(here) * tsr_dtype_bytes(tsr_tensor_dtype(here));
  CHECK(tsr_tensor_count(there) == tsr_tensor_count(here) && bytes <= sizeof a);
  CHECK_OK(tsr_read(there, a, bytes));
  CHECK_OK(tsr_read(here, b, bytes));
  if (memcmp(a, b, bytes) != 0) printf("  %s differs where n is %lld\n", what, (long long)n);
  CHECK(memcmp(a, b, bytes) == 0);
}

// rows * n integers from `low` on, of which `values` are different; many are equal.
static tsr_tensor *integers(tsr_device *device, int64_t rows, int64_t n, int64_t low, int64_t values) {
  static int32_t data[20000];
  uint32_t state = 12345;
  CHECK(rows * n <= 20000);
  for (int64_t i = 0; i < rows * n; i++) {
    state = state * 1664525u + 1013904223u;
    data[i] = (int32_t)(low + (int64_t)(state >> 8) % values);
  }
  return tsr_from_data(device, TSR_I32, TSR_SHAPE(rows, n), data, (size_t)(rows * n) * sizeof *data);
}

static uint64_t launches_of(tsr_device *device, tsr_tensor *result) {
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(device, &before));
  CHECK_OK(tsr_evaluate(result));
  CHECK_OK(tsr_device_get_counters(device, &after));
  return after.launches - before.launches;
}

// The modes of x along the axis are those of `other`, the same elements on the CPU. `launches`: what a GPU needs; 0: not known.
static void check_mode(tsr_tensor *x, tsr_tensor *other, int axis, uint64_t launches) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *mode = tsr_mode(x, axis, false);
  bool is_gpu = strcmp(tsr_device_backend(device), "cpu") != 0 && launches > 0;
  if (is_gpu) CHECK_EQ_UINT(launches_of(device, mode), launches);
  check_equal("mode", tsr_tensor_shape(x).dims[axis], mode, tsr_mode(other, axis, false));
}

static void modes_agree(tsr_device *device) {
  static const int64_t lengths[][2] = {{5, 1}, {70, 2}, {3, 64}, {4, 127}, {2, 256}, {3, 257}, {2, 512}};
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    int64_t rows = lengths[i][0], n = lengths[i][1];
    tsr_tensor *there = integers(device, rows, 2 * n, -9, n / 8 + 2), *here = integers(cpu, rows, 2 * n, -9, n / 8 + 2);
    check_mode(tsr_slice(there, 1, 0, n, 1), tsr_slice(here, 1, 0, n, 1), 1, 1);
    check_mode(tsr_slice(there, 1, 1, 2 * n, 2), tsr_slice(here, 1, 1, 2 * n, 2), 1, 1);
    check_mode(tsr_transpose(there, 0, 1), tsr_transpose(here, 0, 1), 0, 0);
  }
  check_mode(integers(device, 3, 513, 0, 40), integers(cpu, 3, 513, 0, 40), 1, 2);  // one sort, one search for runs
  check_mode(integers(device, 2, 9001, 0, 5000), integers(cpu, 2, 9001, 0, 5000), 1, 0);  // runs of parts are joined
  check_mode(integers(device, 1, 20000, 0, 2), integers(cpu, 1, 20000, 0, 2), 1, 0);      // a run goes through parts
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}

TEST(modes_of_rows_are_the_same_on_every_device) { test_on_every_device(modes_agree); }

static void check_unique(tsr_device *device, tsr_device *cpu, int64_t n, int64_t low, int64_t values) {
  tsr_tensor *there[3], *here[3];
  CHECK_OK(tsr_unique(integers(device, 1, n, low, values), &there[0], &there[1], &there[2]));
  CHECK_OK(tsr_unique(integers(cpu, 1, n, low, values), &here[0], &here[1], &here[2]));
  for (int i = 0; i < 3; i++) check_equal("unique", n, there[i], here[i]);
}

static void unique_agrees(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  check_unique(device, cpu, 1, 3, 1);
  check_unique(device, cpu, 61, -3, 20);
  check_unique(device, cpu, 61, 0, 1);
  check_unique(device, cpu, 9001, INT32_MIN, 100);         // one digit of the distances from the smallest
  check_unique(device, cpu, 9001, INT32_MIN, 4294967295);  // all digits of the elements
  check_unique(device, cpu, 9001, 7, 1);
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}

// The gradient of the sum of all modes or distinct values: 1 at the elements that were taken, 0 elsewhere.
static void gradients_of_found(tsr_device *device) {
  static const float list[] = {3, 1, 3, 2, 2, 2}, of_mode[] = {0, 0, 1, 0, 0, 1};
  if (!test_device_computes(device)) return;
  for (int i = 0; i < 2; i++) {
    float got[6], sum = 0;
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 3), list, sizeof list), *values = NULL, *dx = NULL;
    CHECK_OK(tsr_grad_begin());
    CHECK_OK(tsr_grad_watch(x));
    if (i == 0) values = tsr_mode(x, 1, false);
    else CHECK_OK(tsr_unique(x, &values, NULL, NULL));
    CHECK_OK(tsr_grad(tsr_sum(values, NULL, 0, false), NULL, &x, 1, &dx));
    CHECK_OK(tsr_grad_end());
    CHECK_OK(tsr_read(dx, got, sizeof got));
    for (int k = 0; k < 6; k++) sum += got[k];
    CHECK_NEAR(sum, i == 0 ? 2 : 3, 0);
    if (i == 0) CHECK_BYTES(got, of_mode, sizeof got);
    CHECK_OK(tsr_scope_end(scope));
  }
}

TEST(mode_and_unique_have_gradients_on_every_device) { test_on_every_device(gradients_of_found); }

TEST(unique_is_the_same_on_every_device) { test_on_every_device(unique_agrees); }

static void first_elements_in_a_launch(tsr_device *device) {
  if (!test_device_computes(device) || strcmp(tsr_device_backend(device), "cpu") == 0) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *values = NULL, *indices = NULL, *x = integers(device, 4, 40, 0, 30);
  CHECK_OK(tsr_topk(x, 3, 1, true, &values, &indices));
  CHECK_EQ_UINT(launches_of(device, indices), 1);
  CHECK_EQ_UINT(launches_of(device, values), 0);
  check_equal("topk", 40, values, tsr_gather(x, 1, indices));
  tsr_scope_end(scope);
}

TEST(topk_gives_values_and_indices_by_one_launch_of_a_gpu) { test_on_every_device(first_elements_in_a_launch); }
