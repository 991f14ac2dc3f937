// SPDX-License-Identifier: MIT
// Sorts, scans, indices and arg-reductions of sizes that take each path of their kernels, on every device: compared with the CPU's native operators, bit for bit.
#include "ops/ops_testing.h"

enum { MOST = 80000, LARGEST = 4400000 };  // elements, and bytes of a result

static void check_as_on_cpu(const char *what, tsr_tensor *there, tsr_tensor *here) {
  static unsigned char a[LARGEST], b[LARGEST];
  size_t bytes = (size_t)tsr_tensor_count(here) * tsr_dtype_bytes(tsr_tensor_dtype(here));
  CHECK(bytes <= LARGEST);
  CHECK_OK(tsr_read(there, a, bytes));
  CHECK_OK(tsr_read(here, b, bytes));
  if (memcmp(a, b, bytes) != 0) printf("  %s differs\n", what);
  CHECK(memcmp(a, b, bytes) == 0);
}

// Numbers with many ties, some NaN, infinities and both zeros.
static tsr_tensor *numbers(tsr_device *device, int64_t rows, int64_t n) {
  static float data[MOST];
  static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
  uint32_t state = 12345;
  for (int64_t i = 0; i < rows * n; i++) {
    state = state * 1664525u + 1013904223u;
    data[i] = state >> 28 == 0 ? odd[(state >> 8) % 5] : (float)((int32_t)(state >> 12) % 3000 - 1500) * 0.37f;
  }
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(rows, n), data, (size_t)(rows * n) * sizeof(float));
}

static void check_first(tsr_tensor *there, tsr_tensor *here, int64_t k) {
  tsr_tensor *values[2], *indices[2];
  CHECK_OK(tsr_topk(there, k, 1, true, &values[0], &indices[0]));
  CHECK_OK(tsr_topk(here, k, 1, true, &values[1], &indices[1]));
  check_as_on_cpu("topk", values[0], values[1]);
  check_as_on_cpu("indices of topk", indices[0], indices[1]);
}

static void orders_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  tsr_tensor *there = numbers(device, 3, 90), *here = numbers(cpu, 3, 90);
  check_first(there, here, 60);
  check_as_on_cpu("sort of short rows", tsr_sort(there, 1, true), tsr_sort(here, 1, true));
  there = numbers(device, 1, 20000), here = numbers(cpu, 1, 20000);
  check_first(there, here, 60);
  for (int i = 0; i < 2; i++) check_first(tsr_sort(there, 1, i > 0), tsr_sort(here, 1, i > 0), 60);
  check_as_on_cpu("argsort", tsr_argsort(there, 1, true), tsr_argsort(here, 1, true));
  check_as_on_cpu("argmax", tsr_argmax(there, (int[]){1}, 1, false), tsr_argmax(here, (int[]){1}, 1, false));
  there = numbers(device, 1, 70001), here = numbers(cpu, 1, 70001);
  check_as_on_cpu("sort", tsr_sort(there, 1, false), tsr_sort(here, 1, false));
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
// Largest elements that are equal: more than a group computes ranks of (540.2 and more), and more than its list holds (5).
static void first_of_equal_ones_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  static const double most[] = {540.2, 5};
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  for (int i = 0; i < 2; i++) {
    tsr_tensor *there = numbers(device, 2, 20000), *here = numbers(cpu, 2, 20000);
    check_first(tsr_clamp(there, -1e30, most[i]), tsr_clamp(here, -1e30, most[i]), 60);
  }
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
// One test, since both compile the same kernels, and lavapipe takes five seconds for these.
TEST(orders_of_long_rows_are_the_same_on_every_device) {
  test_on_every_device(orders_agree);
  test_on_every_device(first_of_equal_ones_agree);
}

// As GPUs read rows: by quads, which rows of odd length do not begin with. Not on lavapipe, which would compile that for 26 s.
static void first_by_quads_agree(tsr_device *device) {
  if (!test_device_computes(device) || strcmp(tsr_device_backend(device), "vulkan") == 0) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  tsr_tensor *there = numbers(device, 3, 20001), *here = numbers(cpu, 3, 20001);
  check_first(there, here, 60);
  check_first(tsr_clamp(there, -1e30, 5), tsr_clamp(here, -1e30, 5), 60);
  check_first(tsr_cast(there, TSR_BF16), tsr_cast(here, TSR_BF16), 60);
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(first_elements_of_rows_read_by_quads_are_the_same_on_every_device) {
  setenv("TSR_TUNE", "select_reads=8,select_ahead=1", 1);
  test_on_every_device(first_by_quads_agree);
  unsetenv("TSR_TUNE");
}

// Values that are none larger than the initial one of argmax, or none smaller than that of argmin: the first is the result. In short and long rows, rows in parts, and columns.
static void check_extremes(tsr_device *device, tsr_dtype dtype, double least, double most) {
  static const int64_t shapes[][3] = {{7, 40, 1}, {3, 5000, 1}, {1, 70001, 1}, {5000, 40, 0}, {90, 9, 0}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    tsr_shape shape = TSR_SHAPE(shapes[i][0], shapes[i][1]);
    int axis = (int)shapes[i][2];
    tsr_tensor *low = tsr_full(device, dtype, shape, least), *high = tsr_full(device, dtype, shape, most);
    tsr_tensor *first = tsr_argmax(low, &axis, 1, true);
    bool is_equal = false;
    CHECK_OK(tsr_equal(first, tsr_zeros(device, tsr_tensor_dtype(first), tsr_tensor_shape(first)), &is_equal));
    CHECK(is_equal);
    CHECK_OK(tsr_equal(first, tsr_argmin(high, &axis, 1, true), &is_equal));
    CHECK(is_equal);
  }
}

static void extremes_have_indices(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_extremes(device, TSR_F32, -INFINITY, INFINITY);
  check_extremes(device, TSR_I32, INT32_MIN, INT32_MAX);
  tsr_scope_end(scope);
}
TEST(rows_of_infinities_have_a_largest_element) { test_on_every_device(extremes_have_indices); }

// Lines with and without NaN and ties, of all kinds as above; rows from the second element on begin within a quad.
static void first_extremes_agree(tsr_device *device) {
  static const int64_t shapes[][3] = {{700, 40, 1}, {9, 5000, 1},  {1, 70001, 1}, {5000, 16, 0},
                                      {90, 9, 0},   {40, 1500, 0}, {9, 7000, 0},  {7000, 3, 1}};
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    int64_t rows = shapes[i][0], n = shapes[i][1];
    int axis = (int)shapes[i][2];
    tsr_tensor *there = numbers(device, rows, n), *here = numbers(cpu, rows, n);
    for (int k = 0; k < 3; k++) {
      check_as_on_cpu("argmax", tsr_argmax(there, &axis, 1, false), tsr_argmax(here, &axis, 1, false));
      check_as_on_cpu("argmin", tsr_argmin(there, &axis, 1, false), tsr_argmin(here, &axis, 1, false));
      there = k ? tsr_slice(tsr_cast(there, TSR_F32), 1, 1, n, 1) : tsr_cast(there, TSR_BF16);
      here = k ? tsr_slice(tsr_cast(here, TSR_F32), 1, 1, n, 1) : tsr_cast(here, TSR_BF16);
    }
  }
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(first_extremes_of_lines_with_nan_are_the_same_on_every_device) { test_on_every_device(first_extremes_agree); }

// Whole numbers, whose running sums are exact in every order; those of bf16 are rounded from f32 on every device.
static void check_scan(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, tsr_shape shape, int axis) {
  tsr_tensor *sums[2];
  for (int i = 0; i < 2; i++)
    sums[i] = tsr_cumsum(tsr_cast(tsr_randint(i ? cpu : device, TSR_I32, shape, -9, 9, 5), dtype), axis);
  check_as_on_cpu("cumsum", sums[0], sums[1]);
}

// Rows that begin `from` elements after a tensor's first one: within a quad, and at one.
static void check_scan_from(tsr_device *device, tsr_device *cpu, int64_t from, int64_t lines, int64_t n) {
  tsr_tensor *sums[2];
  for (int i = 0; i < 2; i++) {
    tsr_tensor *all = tsr_randint(i ? cpu : device, TSR_I32, TSR_SHAPE(from + lines * n), -9, 9, 5);
    CHECK_OK(tsr_evaluate(all));
    sums[i] = tsr_cumsum(tsr_reshape(tsr_slice(all, 0, from, from + lines * n, 1), TSR_SHAPE(lines, n)), 1);
  }
  check_as_on_cpu("cumsum of a view", sums[0], sums[1]);
}

// Rows of which a tile has many, some or few, and lines across rows in parts.
static void scans_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  static const int64_t rows[] = {1, 2, 3, 5, 8, 29, 32, 40, 127, 256, 515};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_scan(device, cpu, TSR_F32, TSR_SHAPE(9000 / rows[i], rows[i]), 1);
  }
  check_scan(device, cpu, TSR_BF16, TSR_SHAPE(301, 3), 1);
  check_scan(device, cpu, TSR_BF16, TSR_SHAPE(71, 127), 1);
  check_scan(device, cpu, TSR_BF16, TSR_SHAPE(7, 5001), 1);
  check_scan(device, cpu, TSR_I32, TSR_SHAPE(1100, 33), 0);
  check_scan(device, cpu, TSR_BF16, TSR_SHAPE(2, 1031, 37), 1);
  check_scan(device, cpu, TSR_BF16, TSR_SHAPE(2, 1031, 38), 1);  // neighbours two at a time where memory has words
  check_scan_from(device, cpu, 4, 90, 31);
  check_scan_from(device, cpu, 3, 90, 32);
  check_scan_from(device, cpu, 8, 5, 1027);
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(scans_of_short_rows_and_of_columns_are_the_same_on_every_device) { test_on_every_device(scans_agree); }

static void check_sums(tsr_device *device, tsr_device *cpu, int64_t rows, int64_t n) {
  tsr_tensor *sums[2];
  for (int i = 0; i < 2; i++)
    sums[i] = tsr_cumsum(tsr_randint(i ? cpu : device, TSR_I32, TSR_SHAPE(rows, n), -9, 9, 5), 1);
  check_as_on_cpu("cumsum", sums[0], sums[1]);
}

// Runs of equal targets within an item's share, over several, over more than are joined at once, and over all; rows of columns and single elements. Integers are
// added by atomics or compared one by one, floats are sorted by their targets. x has `size` rows, of which the indices name the first or last `targets`.
static void check_scatter(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, int64_t n, int64_t columns,
                          int64_t targets, int64_t size) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I32, TSR_SHAPE(n, 1), -targets, targets + 1, 8);
    tsr_tensor *source = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(n, columns), -99, 99, 6), dtype);
    results[i] = tsr_scatter_add(tsr_ones(on, dtype, TSR_SHAPE(size, columns)), 0,
                                 tsr_expand(list, TSR_SHAPE(n, columns)), source);
  }
  check_as_on_cpu("scatter_add", results[0], results[1]);
}

// Whole numbers as rows x columns of a slice with a step.
static tsr_tensor *stepped(tsr_device *on, tsr_dtype dtype, int64_t rows, int64_t columns, uint64_t seed) {
  tsr_tensor *x = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(rows, 2 * columns), -99, 99, seed), dtype);
  CHECK_OK(tsr_evaluate(x));
  return tsr_slice(x, 1, 0, 2 * columns, 2);
}

// Each element has an index along the last axis. The sums of floats are exact, so that they do not depend on an order.
// An index for each element, along the middle axis. Few targets: an item has a line, or a part or range of it. Many: floats are added along a copy's last axis, the
// largest ones are found by atomics.
static void check_scatter_columns(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, int64_t n, int64_t targets) {
  enum { OUTER = 2, INNER = 35 };
  tsr_tensor *results[2][3];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I64, TSR_SHAPE(OUTER, n, INNER), -targets, targets + 1, 8);
    tsr_tensor *source = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(OUTER, n, INNER), -99, 99, 6), dtype);
    tsr_tensor *x = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(OUTER, targets, INNER), -90, 90, 7), dtype);
    results[i][0] = tsr_scatter_add(x, 1, list, source);
    results[i][1] = tsr_scatter_max(x, 1, list, source);
    results[i][2] = tsr_scatter_min(x, 1, list, source);
  }
  check_as_on_cpu("scatter_add along the middle axis", results[0][0], results[1][0]);
  check_as_on_cpu("scatter_max along the middle axis", results[0][1], results[1][1]);
  check_as_on_cpu("scatter_min along the middle axis", results[0][2], results[1][2]);
}

// A target of each column gets a special number.
static void check_scatter_extremes(tsr_device *device, tsr_device *cpu, int64_t size) {
  enum { N = 2000, COLUMNS = 8 };
  static const float specials[COLUMNS] = {INFINITY, -INFINITY, NAN, -NAN, 1e-40f, -1e-40f, -1e38f, 0};
  static float data[N * COLUMNS];
  for (int i = 0; i < N * COLUMNS; i++) data[i] = i / COLUMNS == 1700 ? specials[i % COLUMNS] : -5 - (float)(i % 97);
  tsr_tensor *results[2][2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I32, TSR_SHAPE(N, COLUMNS), 0, 3, 8);
    tsr_tensor *source = tsr_from_data(on, TSR_F32, TSR_SHAPE(N, COLUMNS), data, sizeof data);
    tsr_tensor *x = tsr_full(on, TSR_F32, TSR_SHAPE(size, COLUMNS), -200);
    results[i][0] = tsr_scatter_max(x, 0, list, source);
    results[i][1] = tsr_scatter_min(tsr_neg(x), 0, list, source);
    for (int j = 0; j < 2; j++) results[i][j] = tsr_masked_fill(results[i][j], tsr_isnan(results[i][j]), 777);
  }
  check_as_on_cpu("scatter_max of special numbers", results[0][0], results[1][0]);
  check_as_on_cpu("scatter_min of special numbers", results[0][1], results[1][1]);
}

static tsr_tensor *combined(int way, tsr_tensor *x, int axis, tsr_tensor *list, tsr_tensor *source) {
  return way == 0   ? tsr_scatter_add(x, axis, list, source)
         : way == 1 ? tsr_scatter_mul(x, axis, list, source)
         : way == 2 ? tsr_scatter_max(x, axis, list, source)
         : way == 3 ? tsr_scatter_min(x, axis, list, source)
                    : tsr_scatter(x, axis, list, source);
}

// The ways from `first` to `last`, from views, into `size` targets along the middle axis, or the last one if `inner` is 1. Indices name `targets` of them at both ends, and some are
// out of range. Numbers are such that products have few digits.
static void check_scatter_ways(tsr_device *device, tsr_device *cpu, int first, int last, tsr_dtype dtype,
                               tsr_dtype index, int64_t outer, int64_t n, int64_t inner, int64_t size,
                               int64_t targets) {
  tsr_tensor *results[2][5];
  int axis = inner == 1 ? 2 : 1;
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_shape of_list = TSR_SHAPE(outer, axis == 1 ? n : 1, axis == 1 ? inner : n),
              of_x = TSR_SHAPE(outer, axis == 1 ? size : 1, axis == 1 ? inner : size), twice = of_list;
    twice.dims[2] *= 2;
    tsr_tensor *list = tsr_randint(on, index, of_list, -targets, targets, 8);
    list = tsr_where(tsr_eq(tsr_randint(on, index, of_list, 0, 9, 5), tsr_zeros(on, index, TSR_SHAPE())),
                     tsr_full(on, index, TSR_SHAPE(), (double)size), list);
    tsr_tensor *source =
        tsr_sub(tsr_mul(tsr_randint(on, TSR_I32, twice, 0, 2, 6), tsr_full(on, TSR_I32, TSR_SHAPE(), 2)),
                tsr_ones(on, TSR_I32, TSR_SHAPE()));
    tsr_tensor *x = tsr_cast(tsr_randint(on, TSR_I32, of_x, -9, 9, 7), dtype);
    source = tsr_cast(source, dtype);
    CHECK_OK(tsr_evaluate(source));
    source = tsr_slice(source, 2, 0, twice.dims[2], 2);
    for (int way = first; way <= last; way++) results[i][way] = combined(way, x, axis, list, source);
  }
  for (int way = first; way <= last; way++) check_as_on_cpu("scatter of lines", results[0][way], results[1][way]);
}

static void check_scatter_lines(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, tsr_dtype index, int64_t outer,
                                int64_t n, int64_t inner, int64_t size, int64_t targets) {
  check_scatter_ways(device, cpu, 0, 3, dtype, index, outer, n, inner, size, targets);
}

// Sums into so many targets along the first axis that copies are summed by rows: ranges of a row, bins, or parts of a row.
static void check_scatter_turned(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, int64_t n, int64_t columns,
                                 int64_t size) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I64, TSR_SHAPE(n, columns), -size - 1, size + 1, 8);
    tsr_tensor *source = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(n, columns), -99, 99, 6), dtype);
    results[i] = tsr_scatter_add(stepped(on, dtype, size, columns, 7), 0, list, source);
  }
  check_as_on_cpu("scatter_add along the first axis", results[0], results[1]);
}

// -0 stays -0, unless something else is added.
static void check_scatter_zeros(tsr_device *device, tsr_device *cpu, int64_t size) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I32, TSR_SHAPE(1000, 5), 0, 2, 3);
    results[i] = tsr_scatter_add(tsr_full(on, TSR_F32, TSR_SHAPE(size, 5), -0.0), 0, list,
                                 tsr_full(on, TSR_F32, TSR_SHAPE(1000, 5), -0.0));
  }
  check_as_on_cpu("scatter_add of -0", results[0], results[1]);
}

// Sums along the first axis, whose last bits depend on the order.
static void check_scatter_columns_again(tsr_device *device) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_tensor *list = tsr_randint(device, TSR_I32, TSR_SHAPE(5000, 40), 0, 30, 11);
    results[i] = tsr_scatter_add(tsr_zeros(device, TSR_F32, TSR_SHAPE(30, 40)), 0, list,
                                 tsr_randn(device, TSR_F32, TSR_SHAPE(5000, 40), 12));
    CHECK_OK(tsr_evaluate(results[i]));
  }
  check_as_on_cpu("scatter_add of columns a second time", results[0], results[1]);
}

static void scatters_of_lines_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  check_scatter_lines(device, cpu, TSR_F32, TSR_I64, 1, 3001, 7, 5, 1);
  check_scatter_lines(device, cpu, TSR_F32, TSR_I32, 3, 800, 33, 117, 117);
  check_scatter_lines(device, cpu, TSR_BF16, TSR_I32, 2, 500, 3, 190, 100);
  check_scatter_lines(device, cpu, TSR_F16, TSR_I64, 1, 300, 130, 400, 3);
  check_scatter_lines(device, cpu, TSR_I8, TSR_I32, 1, 700, 9, 90, 40);
  check_scatter_lines(device, cpu, TSR_I64, TSR_I32, 2, 700, 9, 90, 40);
  check_scatter_lines(device, cpu, TSR_I32, TSR_I64, 1, 700, 65, 20, 20);
  check_scatter_lines(device, cpu, TSR_F32, TSR_I64, 30001, 31, 1, 5, 5);
  check_scatter_lines(device, cpu, TSR_BF16, TSR_I32, 30001, 29, 1, 5, 1);
  check_scatter_lines(device, cpu, TSR_U8, TSR_I64, 90001, 17, 1, 3, 3);
  check_scatter_ways(device, cpu, 4, 4, TSR_I8, TSR_I64, 4097, 7, 1, 5, 5);
  check_scatter_ways(device, cpu, 2, 4, TSR_F32, TSR_I64, 1001, 99, 1, 40, 40);
  check_scatter_ways(device, cpu, 3, 4, TSR_F16, TSR_I32, 65, 1030, 1, 4100, 3);
  check_scatter_turned(device, cpu, TSR_BF16, 3000, 65, 1801);
  check_scatter_turned(device, cpu, TSR_F16, 4001, 3, 2600);
  check_scatter_turned(device, cpu, TSR_F32, 60001, 8, 2001);
  check_scatter_turned(device, cpu, TSR_F32, 470001, 2, 1700);
  check_scatter_zeros(device, cpu, 3);
  check_scatter_zeros(device, cpu, 2000);
  check_scatter_columns_again(device);
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(scatters_of_lines_are_the_same_on_every_device) { test_on_every_device(scatters_of_lines_agree); }

// A list much shorter than the tensor that it names places of, with places that it names several times and places outside.
static void check_scatter_of_few(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, int64_t limit) {
  enum { ROWS = 1033, SIZE = 1017, COUNT = 2000 };
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I32, TSR_SHAPE(COUNT / 100, 100), -limit, limit, 9);
    CHECK_OK(tsr_evaluate(list));
    results[i] = tsr_scatter(stepped(on, dtype, ROWS, SIZE, 7), 0, list, stepped(on, dtype, COUNT / 100, 100, 8));
  }
  check_as_on_cpu("scatter of few elements", results[0], results[1]);
}

static void scatters_of_few_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  check_scatter_of_few(device, cpu, TSR_F32, 1100);
  check_scatter_of_few(device, cpu, TSR_BF16, 3);
  check_scatter_of_few(device, cpu, TSR_U8, 1033);
  CHECK_OK(tsr_scope_end(other));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(few_elements_of_a_large_tensor_are_written_alike_on_every_device) { test_on_every_device(scatters_of_few_agree); }

// Rows that have an index each, and single elements at places of the whole tensor. The list is a slice with a step; some of its indices are out of range.
static void check_scatter_list(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, tsr_dtype index, tsr_shape x_shape,
                               int64_t n, int64_t targets) {
  tsr_tensor *results[2][2];
  int64_t outer = x_shape.dims[0], size = x_shape.dims[1], inner = x_shape.dims[2], count = outer * size * inner;
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, index, TSR_SHAPE(1, 2 * n, 1), -targets - 1, targets + 1, 9);
    CHECK_OK(tsr_evaluate(list));
    list = tsr_expand(tsr_slice(list, 1, 0, 2 * n, 2), TSR_SHAPE(outer, n, inner));
    tsr_tensor *x = tsr_cast(tsr_randint(on, TSR_I32, x_shape, -99, 99, 7), dtype);
    tsr_tensor *source = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(outer, n, inner), -99, 99, 8), dtype);
    results[i][0] = tsr_scatter_add(x, 1, list, source);
    tsr_tensor *places = tsr_randint(on, index, TSR_SHAPE(n), -count - 1, count < 3 * n ? count + 1 : 3 * n, 5);
    tsr_tensor *values = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(n), -99, 99, 6), dtype);
    results[i][1] = tsr_put(tsr_slice(tsr_reshape(x, TSR_SHAPE(count)), 0, 1, count, 1), places, values, NULL);
  }
  check_as_on_cpu("scatter_add of rows", results[0][0], results[1][0]);
  check_as_on_cpu("put", results[0][1], results[1][1]);
}

// Four neighbouring columns at once and single ones; two ranges of columns; more rows for a target than an owner holds keys.
static void scatters_of_lists_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  check_scatter_list(device, cpu, TSR_F32, TSR_I64, TSR_SHAPE(1, 500, 8), 301, 500);
  check_scatter_list(device, cpu, TSR_F32, TSR_I64, TSR_SHAPE(1, 7001, 8), 8191, 1);
  check_scatter_list(device, cpu, TSR_F32, TSR_I64, TSR_SHAPE(1, 41, 300), 97, 41);
  check_scatter_list(device, cpu, TSR_BF16, TSR_I32, TSR_SHAPE(2, 97, 5), 257, 97);
  CHECK_OK(tsr_scope_end(other));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(scatters_of_lists_are_the_same_on_every_device) { test_on_every_device(scatters_of_lists_agree); }

static void check_scatter_rows(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, int64_t rows, int64_t n,
                               int64_t size) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *list = tsr_randint(on, TSR_I32, TSR_SHAPE(n, rows), -size - 1, size + 1, 9);
    CHECK_OK(tsr_evaluate(list));
    results[i] = tsr_scatter_add(stepped(on, dtype, rows, size, 7), 1, tsr_transpose(list, 0, 1),
                                 stepped(on, dtype, rows, n, 8));
  }
  check_as_on_cpu("scatter_add of single elements", results[0], results[1]);
}

// Elements of all sizes, and infinities, each with a target of its own: the result has their bits.
static void check_scatter_spread(tsr_device *device, tsr_device *cpu, int64_t rows, int64_t n) {
  static float data[MOST];
  static int32_t places[MOST];
  for (int64_t i = 0; i < rows * n; i++) {
    float size = ldexpf(1.0f + (float)(i % 1000) * 0x1p-20f, (int)(i * 37 % 250) - 125);
    data[i] = (i % 2 ? 1.0f : -1.0f) * (i % 301 == 7 ? INFINITY : size);
    places[i] = (int32_t)(i % n * 7 % n);  // 7 does not divide n: all places of a row
  }
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_shape shape = TSR_SHAPE(rows, n);
    tsr_tensor *source = tsr_from_data(on, TSR_F32, shape, data, (size_t)(rows * n) * sizeof(float));
    tsr_tensor *list = tsr_from_data(on, TSR_I32, shape, places, (size_t)(rows * n) * sizeof(int32_t));
    results[i] = tsr_scatter_add(tsr_zeros(on, TSR_F32, shape), 1, list, source);
  }
  check_as_on_cpu("scatter_add of elements of all sizes", results[0], results[1]);
}

// Target 0 gets infinities of both signs, target 1 NaN, target 2 two large numbers and a small one, which the first absorbs, and target 3 a small number, which
// must not be lost.
static void check_scatter_specials(tsr_device *device, int64_t n) {
  enum { TARGETS = 100 };
  static const float first[] = {INFINITY, -INFINITY, NAN, 1e30f, 1e-30f, -1e30f, 1e-30f};
  static const int32_t targets[] = {0, 0, 1, 2, 2, 2, 3};
  static float data[MOST];
  static int32_t places[MOST];
  float sums[TARGETS];
  for (int64_t i = 0; i < n; i++) {
    int64_t from = i % (n / 8) == 0 ? i / (n / 8) : 7;  // far apart, so that different groups have them
    data[i] = from < 7 ? first[from] : 0;
    places[i] = from < 7 ? targets[from] : 4;
  }
  tsr_tensor *source = tsr_from_data(device, TSR_F32, TSR_SHAPE(1, n), data, (size_t)n * sizeof *data);
  tsr_tensor *list = tsr_from_data(device, TSR_I32, TSR_SHAPE(1, n), places, (size_t)n * sizeof *places);
  CHECK_OK(
      tsr_read(tsr_scatter_add(tsr_zeros(device, TSR_F32, TSR_SHAPE(1, TARGETS)), 1, list, source), sums, sizeof sums));
  CHECK(isnan(sums[0]) && isnan(sums[1]));
  CHECK(sums[2] == 0 && sums[3] == 1e-30f && sums[4] == 0);
}

// Sums whose last bits depend on the order: two runs give the same bits.
static void check_scatter_again(tsr_device *device, int64_t n, int64_t size) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_tensor *list = tsr_randint(device, TSR_I32, TSR_SHAPE(n), 0, size, 11);
    results[i] = tsr_scatter_add(tsr_zeros(device, TSR_F32, TSR_SHAPE(size)), 0, list,
                                 tsr_randn(device, TSR_F32, TSR_SHAPE(n), 12));
    CHECK_OK(tsr_evaluate(results[i]));
  }
  check_as_on_cpu("scatter_add a second time", results[0], results[1]);
}

// Rows of whole, half and odd numbers of four words.
static void check_select(tsr_device *device, tsr_device *cpu, tsr_dtype dtype, int64_t columns) {
  tsr_tensor *results[2];
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *table = tsr_randint(on, dtype, TSR_SHAPE(50, columns), 0, 100, 4),
               *list = tsr_randint(on, TSR_I64, TSR_SHAPE(70), -50, 52, 3);
    results[i] = tsr_index_select(table, 0, list);
  }
  check_as_on_cpu("index_select", results[0], results[1]);
}

static void sums_and_rows_agree(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  check_sums(device, cpu, 5, 200);
  check_sums(device, cpu, 7, 5000);
  check_sums(device, cpu, 1, 70003);
  check_scatter(device, cpu, TSR_I32, 1000, 1, 3, 3);
  check_scatter(device, cpu, TSR_I32, 500, 6, 40, 40);
  check_scatter(device, cpu, TSR_F32, 1500, 30, 2000, 2000);
  check_scatter(device, cpu, TSR_F32, 2000, 6, 40, 2000);
  check_scatter(device, cpu, TSR_F32, 9000, 3, 2, 2000);
  check_scatter(device, cpu, TSR_F32, 9000, 3, 2, 2);
  check_scatter_columns(device, cpu, TSR_F32, 900, 70);
  check_scatter_columns(device, cpu, TSR_F32, 1500, 1);
  check_scatter_columns(device, cpu, TSR_BF16, 700, 900);
  check_scatter_columns(device, cpu, TSR_F16, 600, 40);
  check_scatter_columns(device, cpu, TSR_I32, 600, 40);
  check_scatter_columns(device, cpu, TSR_F32, 1300, 1100);
  check_scatter_columns(device, cpu, TSR_F32, 1700, 1700);
  check_scatter_extremes(device, cpu, 3);
  check_scatter_extremes(device, cpu, 1600);
  check_scatter_rows(device, cpu, TSR_F32, 40, 90, 30);
  check_scatter_rows(device, cpu, TSR_F32, 40, 9, 30);
  check_scatter_rows(device, cpu, TSR_I32, 7, 20, 11);
  check_scatter_rows(device, cpu, TSR_F32, 2500, 7, 9);
  check_scatter_rows(device, cpu, TSR_F32, 20, 3000, 70);
  check_scatter_rows(device, cpu, TSR_F32, 300, 1025, 200);
  check_scatter_rows(device, cpu, TSR_F32, 3, 5001, 5003);
  check_scatter_rows(device, cpu, TSR_I32, 3, 5001, 5003);
  check_scatter_rows(device, cpu, TSR_F32, 3, 40011, 24001);
  check_scatter_rows(device, cpu, TSR_BF16, 1, 30011, 24001);
  check_scatter_rows(device, cpu, TSR_F16, 1, 30011, 24001);
  check_scatter_rows(device, cpu, TSR_F16, 30, 300, 211);
  check_scatter_rows(device, cpu, TSR_BF16, 300, 17, 11);
  check_scatter_spread(device, cpu, 70, 1000);
  check_scatter_spread(device, cpu, 1, 79999);
  check_scatter_specials(device, 100);
  check_scatter_specials(device, 70001);
  check_scatter_rows(device, cpu, TSR_F32, 1, 70001, 200);
  check_scatter_rows(device, cpu, TSR_BF16, 2, 66001, 3);
  check_scatter_again(device, 70001, 9);
  check_scatter_again(device, 30000, 700);
  check_scatter_again(device, 30000, 30000);
  check_select(device, cpu, TSR_I32, 12);
  check_select(device, cpu, TSR_I16, 7);
  check_select(device, cpu, TSR_U8, 16);
  check_select(device, cpu, TSR_I64, 6);
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(sums_and_rows_are_the_same_on_every_device) { test_on_every_device(sums_and_rows_agree); }

// Whole numbers, whose sums are exact: over tiles and chunks of tiles, of rows that begin at any place.
static void check_running_sums(tsr_device *device, int64_t rows, int64_t n, int64_t from) {
  int64_t count = rows * n;
  tsr_tensor *whole = tsr_randint(device, TSR_I32, TSR_SHAPE(count + from), -9, 9, 5), *x = tsr_cast(whole, TSR_F32);
  CHECK_OK(tsr_evaluate(x));
  tsr_tensor *table = tsr_reshape(tsr_slice(x, 0, from, from + count, 1), TSR_SHAPE(rows, n));
  float *given = malloc((size_t)count * sizeof(float)), *sums = malloc((size_t)count * sizeof(float));
  CHECK_OK(tsr_read(table, given, (size_t)count * sizeof(float)));
  CHECK_OK(tsr_read(tsr_cumsum(table, 1), sums, (size_t)count * sizeof(float)));
  float sum = 0;
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i++) {
    sum = i % n == 0 ? given[i] : sum + given[i];
    wrong += sums[i] != sum;
  }
  CHECK_EQ_INT(wrong, 0);
  free(given);
  free(sums);
}

static void running_sums_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  check_running_sums(device, 1, 300001, 0);
  check_running_sums(device, 1, 20003, 1);
  check_running_sums(device, 3, 30001, 0);
  check_running_sums(device, 2, 8192, 4);
  tsr_scope_end(scope);
}

// Only NVIDIA's GPUs sum rows in one pass unless it is asked for (tuning.def). lavapipe would compile these kernels for most of a minute: it makes a coroutine of a
// kernel with barriers. tests/lang checks their SPIR-V.
static void running_sums_are_right_but_on_vulkan(tsr_device *device) {
  if (strcmp(tsr_device_backend(device), "vulkan") != 0) running_sums_are_right(device);
}

TEST(long_rows_are_summed_in_one_pass) {
  setenv("TSR_TUNE", "scan_once=2,scan_rows=1000000", 1);
  test_on_every_device(running_sums_are_right_but_on_vulkan);
  setenv("TSR_TUNE", "scan_once=24,scan_rows=1000000", 1);  // 12 quads as on CUDA: so few tiles have half as many
  test_on_every_device(running_sums_are_right_but_on_vulkan);
  unsetenv("TSR_TUNE");
}

// A row longer than a tile, on a device that asks for more parts than the row has elements. Odd factors: a product that
// wraps never becomes 0, so each element shows whether a factor was lost.
static void running_products_are_right(tsr_device *device) {
  if (!test_device_computes(device)) return;
  enum { N = 2500 };
  static uint32_t factors[N], products[N];
  for (uint32_t i = 0; i < N; i++) factors[i] = i * 2654435761u | 1;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_U32, TSR_SHAPE(N), factors, sizeof factors);
  CHECK_OK(tsr_read(tsr_cumprod(x, 0), products, sizeof products));
  uint32_t product = 1;
  int64_t wrong = 0;
  for (int64_t i = 0; i < N; i++) wrong += products[i] != (product *= factors[i]);
  CHECK_EQ_INT(wrong, 0);
  tsr_scope_end(scope);
}

TEST(a_row_may_have_fewer_elements_than_a_device_takes_parts) {
  setenv("TSR_TUNE", "scan_items=8,row_parts=4096,scan_rows=1000000", 1);
  test_on_every_device(running_products_are_right);
  unsetenv("TSR_TUNE");
}
