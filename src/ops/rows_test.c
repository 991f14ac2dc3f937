// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(softmax_is_stable_along_any_axis) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1000, 1000, 0, 1000);
  CHECK_VALUES(tsr_softmax(x, 1), TSR_F32, TSR_SHAPE(2, 2), 1e-6, 0.5, 0.5, 0, 1);
  CHECK_VALUES(tsr_softmax(x, 0), TSR_F32, TSR_SHAPE(2, 2), 1e-6, 1, 0.5, 0, 0.5);
  CHECK_VALUES(tsr_log_softmax(x, -1), TSR_F32, TSR_SHAPE(2, 2), 1e-4, -0.6931472, -0.6931472, -1000, 0);
  CHECK_VALUES(tsr_softmax(list(TSR_F32, TSR_SHAPE(3), -INFINITY, 0, -INFINITY), 0), TSR_F32, TSR_SHAPE(3), 0, 0, 1, 0);
  CHECK_VALUES(tsr_softmax(list(TSR_I32, TSR_SHAPE(2), 3, 3), 0), TSR_F32, TSR_SHAPE(2), 1e-6, 0.5, 0.5);
  CHECK_VALUES(tsr_softmax(list(TSR_F32, TSR_SHAPE(2), NAN, 3), 0), TSR_F32, TSR_SHAPE(2), 0, NAN, NAN);
  CHECK_EMPTY(tsr_softmax(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), 1), TSR_F32, TSR_SHAPE(2, 0));
  CHECK_FAILS(tsr_softmax(x, 2), TSR_ERR_SHAPE, "softmax: axis 2 is out of range");
  finish();
}

TEST(rows_of_softmax_add_up_to_1) {
  begin();
  static const int64_t lengths[] = {1, 31, 64, 65, 257, 1025, 3000};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, lengths[i]), 7);
    CHECK_VALUES(tsr_sum(tsr_softmax(x, 1), (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(3), 1e-5, 1, 1, 1);
  }
  finish();
}

TEST(norms_scale_the_last_axis) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 3, 10, 10), *weight = list(TSR_F32, TSR_SHAPE(2), 2, 3);
  tsr_tensor *bias = list(TSR_F32, TSR_SHAPE(2), 10, 20);
  CHECK_VALUES(tsr_layer_norm(x, NULL, NULL, 0.5), TSR_F32, TSR_SHAPE(2, 2), 1e-6, -0.8164966, 0.8164966, 0, 0);
  CHECK_VALUES(tsr_layer_norm(x, weight, bias, 0.5), TSR_F32, TSR_SHAPE(2, 2), 1e-5, 8.3670068, 22.449490, 10, 20);
  CHECK_VALUES(tsr_layer_norm(x, NULL, bias, 0.5), TSR_F32, TSR_SHAPE(2, 2), 1e-5, 9.1835034, 20.816497, 10, 20);
  CHECK_VALUES(tsr_rms_norm(x, weight, 0), TSR_F32, TSR_SHAPE(2, 2), 1e-5, 0.8944272, 4.0249224, 2, 3);
  CHECK_VALUES(tsr_rms_norm(list(TSR_F16, TSR_SHAPE(1, 2), 300, 400), NULL, 0), TSR_F16, TSR_SHAPE(1, 2), 1e-3,
               0.848528, 1.131371);
  // The operators after it run in the same kernel.
  CHECK_VALUES(tsr_relu(tsr_add(tsr_layer_norm(x, NULL, NULL, 0.5), bias)), TSR_F32, TSR_SHAPE(2, 2), 1e-5, 9.1835034,
               20.816497, 10, 20);
  finish();
}

// The largest difference between the elements of two tensors of one shape.
static double difference(tsr_tensor *a, tsr_tensor *b) {
  double most = 0;
  CHECK_OK(tsr_read(tsr_cast(tsr_max(tsr_abs(tsr_sub(a, b)), NULL, 0, false), TSR_F64), &most, sizeof most));
  return most;
}

// Where rows are many and short, or are columns, some devices use one work item per row: the result must follow the
// definition.
TEST(many_short_rows_and_columns_are_normalised_as_defined) {
  begin();
  static const int64_t lengths[] = {1, 2, 7, 33, 64};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    int64_t n = lengths[i];
    tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(301, n), 5), *weight = tsr_rand(dev, TSR_F32, TSR_SHAPE(n), 6);
    tsr_tensor *bias = tsr_rand(dev, TSR_F32, TSR_SHAPE(n), 7);
    tsr_tensor *powers = tsr_exp(x), *share = tsr_div(powers, tsr_sum(powers, (int[]){1}, 1, true));
    CHECK(difference(tsr_softmax(x, 1), share) <= 1e-6);
    CHECK(difference(tsr_exp(tsr_log_softmax(x, 1)), share) <= 1e-6);
    CHECK(difference(tsr_softmax(tsr_contiguous(tsr_transpose(x, 0, 1)), 0), tsr_transpose(share, 0, 1)) <= 1e-6);
    tsr_tensor *centred = tsr_sub(x, tsr_mean(x, (int[]){1}, 1, true));
    tsr_tensor *scaled =
        tsr_div(centred, tsr_sqrt(tsr_add_scalar(tsr_mean(tsr_square(centred), (int[]){1}, 1, true), 0.5)));
    CHECK(difference(tsr_layer_norm(x, weight, bias, 0.5), tsr_add(tsr_mul(scaled, weight), bias)) <= 1e-5);
    CHECK(difference(tsr_relu(tsr_add(tsr_layer_norm(x, NULL, NULL, 0.5), bias)), tsr_relu(tsr_add(scaled, bias))) <=
          1e-5);
    tsr_tensor *root = tsr_sqrt(tsr_add_scalar(tsr_mean(tsr_square(x), (int[]){1}, 1, true), 0.5));
    CHECK(difference(tsr_rms_norm(x, weight, 0.5), tsr_mul(tsr_div(x, root), weight)) <= 1e-5);
  }
  finish();
}

// The largest difference of elements that are numbers, between tensors on two devices; a NaN must be one on both.
static double difference_of(tsr_tensor *there, tsr_tensor *here) {
  enum { MOST = 80000 };
  static float a[MOST], b[MOST];
  size_t count = (size_t)tsr_tensor_count(here);
  CHECK_OK(tsr_read(there, a, count * sizeof *a));
  CHECK_OK(tsr_read(here, b, count * sizeof *b));
  double most = 0;
  for (size_t i = 0; i < count; i++) {
    CHECK(isnan(a[i]) == isnan(b[i]));
    if (!isnan(a[i]) && a[i] != b[i] && !(fabs((double)a[i] - b[i]) <= most)) most = fabs((double)a[i] - b[i]);
  }
  return most;
}

// Assigns `value` to the elements of a column from row `from` on, up to `to`.
static void set_in_column(tsr_tensor *x, int64_t column, int64_t from, int64_t to, double value) {
  tsr_tensor *part = tsr_slice(tsr_slice(x, 1, column, column + 1, 1), 0, from, to, 1);
  tsr_assign(part, tsr_full(tsr_tensor_device(x), TSR_F32, TSR_SCALAR, value));
  CHECK_OK(tsr_error(part));
}

// Normal numbers; the second column is -infinity and the third has one such element. The fourth has one NaN among numbers, the fifth one among -infinities, at its end; the
// sixth has nothing but NaN, and the seventh one infinity.
static tsr_tensor *columns_on(tsr_device *device, int64_t n, int64_t columns) {
  tsr_tensor *x = tsr_randn(device, TSR_F32, TSR_SHAPE(n, columns), 3);
  set_in_column(x, 1, 0, n, -INFINITY);
  set_in_column(x, 2, n / 2, n / 2 + 1, -INFINITY);
  set_in_column(x, 3, n / 2, n / 2 + 1, NAN);
  set_in_column(x, 4, 0, n, -INFINITY);
  set_in_column(x, 4, n - 1, n, NAN);
  set_in_column(x, 5, 0, n, NAN);
  set_in_column(x, 6, 0, 1, INFINITY);
  return x;
}

// Many columns of which an item keeps all, long ones in few spans and in many, and the same lines if they lie along memory.
static void softmax_agrees(tsr_device *device) {
  static const int64_t sizes[][2] = {{9, 7001}, {40, 1999}, {300, 251}, {10007, 7}};
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int64_t n = sizes[i][0], columns = sizes[i][1];
    tsr_tensor *there = columns_on(device, n, columns), *here = columns_on(cpu, n, columns);
    CHECK(difference_of(tsr_softmax(there, 0), tsr_softmax(here, 0)) <= 1e-6);
    CHECK(difference_of(tsr_log_softmax(there, 0), tsr_log_softmax(here, 0)) <= 1e-5);
    tsr_tensor *turned = tsr_transpose(there, 0, 1), *wanted = tsr_transpose(here, 0, 1);
    CHECK(difference_of(tsr_softmax(turned, 1), tsr_softmax(wanted, 1)) <= 1e-6);
    CHECK(difference_of(tsr_softmax(tsr_contiguous(turned), 1), tsr_softmax(wanted, 1)) <= 1e-6);
    CHECK(difference_of(tsr_logsumexp(turned, (int[]){1}, 1, false), tsr_logsumexp(wanted, (int[]){1}, 1, false)) <=
          1e-5);
    CHECK(difference_of(tsr_cumsum(turned, 0), tsr_cumsum(wanted, 0)) <= 1e-2);
    turned = tsr_transpose(tsr_randn(device, TSR_F32, TSR_SHAPE(columns, n), 4), 0, 1);
    wanted = tsr_transpose(tsr_randn(cpu, TSR_F32, TSR_SHAPE(columns, n), 4), 0, 1);
    CHECK(difference_of(tsr_softmax(turned, 0), tsr_softmax(wanted, 0)) <= 1e-6);
    CHECK(difference_of(tsr_cumsum(turned, 0), tsr_cumsum(wanted, 0)) <= 1e-2);
  }
  tsr_scope_end(other);
  tsr_scope_end(scope);
  tsr_device_release(cpu);
}
TEST(lines_of_any_direction_are_the_same_on_every_device) { test_on_every_device(softmax_agrees); }

TEST(norms_say_what_does_not_fit) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3)), *short_row = count_up(TSR_F32, TSR_SHAPE(2));
  CHECK_FAILS(tsr_layer_norm(x, short_row, NULL, 0), TSR_ERR_SHAPE,
              "layer_norm: weight is [2], the last axis of 2x3 has 3");
  CHECK_FAILS(tsr_layer_norm(x, NULL, x, 0), TSR_ERR_SHAPE, "bias is 2x3");
  CHECK_FAILS(tsr_rms_norm(x, NULL, -1), TSR_ERR_INVALID_ARGUMENT, "rms_norm: eps is -1");
  CHECK_FAILS(tsr_rms_norm(tsr_zeros(dev, TSR_F32, TSR_SCALAR), NULL, 0), TSR_ERR_SHAPE, "a scalar has no last axis");
  finish();
}

TEST(a_norm_of_a_sum_gives_both_of_them) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_BF16, TSR_SHAPE(5, 33), 1), *r = tsr_randn(dev, TSR_BF16, TSR_SHAPE(5, 33), 2);
  tsr_tensor *w = tsr_randn(dev, TSR_BF16, TSR_SHAPE(33), 3), *b = tsr_randn(dev, TSR_BF16, TSR_SHAPE(33), 4);
  tsr_tensor *sum = NULL, *normed = NULL, *both = tsr_add(x, r);
  bool is_equal = false;
  CHECK_OK(tsr_add_layer_norm(x, r, w, b, 1e-5, &sum, &normed));
  CHECK_OK(tsr_equal(sum, both, &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_equal(normed, tsr_layer_norm(both, w, b, 1e-5), &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_add_rms_norm(x, r, NULL, 1e-5, NULL, &normed));  // the sum may be left out
  CHECK_OK(tsr_equal(normed, tsr_rms_norm(both, NULL, 1e-5), &is_equal));
  CHECK(is_equal);
  finish();
}

TEST(a_norm_of_a_sum_refuses_shapes_that_differ) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(5, 3)), *sum = x, *normed = x;
  CHECK_STATUS(tsr_add_rms_norm(x, tsr_zeros(dev, TSR_F32, TSR_SHAPE(3)), NULL, 0, &sum, &normed), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("add_rms_norm: x is 5x3, the residual is [3]");
  CHECK(!sum && !normed);
  CHECK_STATUS(tsr_add_layer_norm(x, x, x, NULL, 0, &sum, &normed), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("weight is 5x3");
  finish();
}
