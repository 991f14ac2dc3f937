// SPDX-License-Identifier: MIT
#include <tessera/grad.h>

#include "ops/ops_testing.h"

TEST(sums_go_over_any_set_of_axes) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3, 2));
  CHECK_VALUES(tsr_sum(x, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 66);
  CHECK_VALUES(tsr_sum(x, NULL, 0, true), TSR_F32, TSR_SHAPE(1, 1, 1), 0, 66);
  CHECK_VALUES(tsr_sum(x, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(2, 2), 0, 6, 9, 24, 27);
  CHECK_VALUES(tsr_sum(x, (int[]){-1, 0}, 2, false), TSR_F32, TSR_SHAPE(3), 0, 14, 22, 30);
  CHECK_VALUES(tsr_sum(x, (int[]){0, 2}, 2, true), TSR_F32, TSR_SHAPE(1, 3, 1), 0, 14, 22, 30);
  CHECK_VALUES(tsr_sum(tsr_transpose(x, 0, 2), (int[]){0}, 1, false), TSR_F32, TSR_SHAPE(3, 2), 0, 1, 13, 5, 17, 9, 21);
  CHECK_VALUES(tsr_mean(x, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(2, 2), 1e-6, 2, 3, 8, 9);
  finish();
}

TEST(axes_are_in_range_and_named_once) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3));
  CHECK_FAILS(tsr_sum(x, (int[]){1, -1}, 2, false), TSR_ERR_SHAPE, "sum: axis 1 is named twice");
  CHECK_FAILS(tsr_mean(x, (int[]){2}, 1, false), TSR_ERR_SHAPE, "mean: axis 2 is out of range, -2 to 1 are allowed");
  CHECK_FAILS(tsr_max(x, NULL, 2, false), TSR_ERR_INVALID_ARGUMENT, "max: 2 axes given, but the list is NULL");
  CHECK_FAILS(tsr_any(x, (int[]){0}, -1, false), TSR_ERR_INVALID_ARGUMENT, "any: -1 axes");
  CHECK_FAILS(tsr_norm(x, -3, NULL, 0, false), TSR_ERR_INVALID_ARGUMENT, "norm: p is -3");
  finish();
}

TEST(index_of_several_axes_counts_them_in_row_major_order) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2, 3), 1, 2, 3, 9, 5, 6, 7, 8, 4, 0, 11, 10);
  CHECK_VALUES(tsr_argmax(x, TSR_AXES(0, 2), false), TSR_I32, TSR_SHAPE(2), 0, 4, 4);
  CHECK_VALUES(tsr_argmax(x, TSR_AXES(2, 0), false), TSR_I32, TSR_SHAPE(2), 0, 4, 4);
  CHECK_VALUES(tsr_argmin(x, TSR_AXES(1, 2), true), TSR_I32, TSR_SHAPE(2, 1, 1), 0, 0, 3);
  CHECK_VALUES(tsr_argmax(x, TSR_AXES(0, 1, 2), false), TSR_I32, TSR_SCALAR, 0, 10);
  CHECK_FAILS(tsr_argmax(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0, 3)), TSR_AXES(1, 2), false), TSR_ERR_SHAPE,
              "argmax: there is nothing to choose from in 2x0x3");
  finish();
}

TEST(dtypes_of_reductions_are_those_documented) {
  begin();
  tsr_tensor *bytes = list(TSR_U8, TSR_SHAPE(3), 200, 100, 50), *truths = list(TSR_BOOL, TSR_SHAPE(3), 1, 0, 1);
  CHECK_VALUES(tsr_sum(bytes, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 350);
  CHECK_VALUES(tsr_prod(bytes, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 1000000);
  CHECK_VALUES(tsr_max(bytes, NULL, 0, false), TSR_U8, TSR_SCALAR, 0, 200);
  CHECK_VALUES(tsr_mean(bytes, NULL, 0, false), TSR_F32, TSR_SCALAR, 1e-4, 116.66667);
  CHECK_VALUES(tsr_sum(truths, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 2);
  CHECK_VALUES(tsr_max(truths, NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_min(truths, NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
  CHECK_VALUES(tsr_argmin(truths, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_sum(list(TSR_U32, TSR_SHAPE(2), 4e9, 1), NULL, 0, false), TSR_U32, TSR_SCALAR, 0, 4e9 + 1);
  CHECK_VALUES(tsr_any(list(TSR_F32, TSR_SHAPE(2), 0, NAN), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_all(list(TSR_F32, TSR_SHAPE(2), 0, NAN), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
  finish();
}

TEST(the_first_of_equals_and_the_first_nan_are_chosen) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 3), 5, 7, 7, NAN, 9, NAN);
  CHECK_VALUES(tsr_argmax(x, (int[]){1}, 1, false), TSR_I32, TSR_SHAPE(2), 0, 1, 0);
  CHECK_VALUES(tsr_argmax(x, (int[]){1}, 1, true), TSR_I32, TSR_SHAPE(2, 1), 0, 1, 0);
  CHECK_VALUES(tsr_argmin(x, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 3);
  CHECK_VALUES(tsr_argmin(x, NULL, 0, true), TSR_I32, TSR_SHAPE(1, 1), 0, 3);
  CHECK_VALUES(tsr_argmax(tsr_transpose(x, 0, 1), (int[]){0}, 1, false), TSR_I32, TSR_SHAPE(2), 0, 1, 0);
  CHECK_VALUES(tsr_max(x, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(2), 0, 7, NAN);
  CHECK_FAILS(tsr_argmax(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 3)), (int[]){0}, 1, false), TSR_ERR_SHAPE,
              "argmax: there is nothing to choose from in 0x3");
  finish();
}

TEST(reductions_over_nothing_give_what_is_documented) {
  begin();
  tsr_tensor *none = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 2)), *wholes = tsr_zeros(dev, TSR_I32, TSR_SHAPE(0));
  CHECK_VALUES(tsr_sum(none, (int[]){0}, 1, false), TSR_F32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_VALUES(tsr_prod(none, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_max(none, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, -INFINITY);
  CHECK_VALUES(tsr_min(wholes, NULL, 0, false), TSR_I32, TSR_SCALAR, 0, 2147483647);
  CHECK_VALUES(tsr_mean(none, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, NAN);
  CHECK_VALUES(tsr_var(none, NULL, 0, false, 0), TSR_F32, TSR_SCALAR, 0, NAN);
  CHECK_VALUES(tsr_all(none, NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  CHECK_VALUES(tsr_any(none, NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 0);
  CHECK_VALUES(tsr_norm(none, INFINITY, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 0);
  CHECK_VALUES(tsr_logsumexp(none, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, -INFINITY);
  CHECK_EMPTY(tsr_sum(none, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(0));
  finish();
}

TEST(variance_is_taken_in_two_passes) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(4), 1e6 + 1, 1e6 + 2, 1e6 + 3, 1e6 + 4);
  CHECK_VALUES(tsr_var(x, NULL, 0, false, 0), TSR_F32, TSR_SCALAR, 1e-6, 1.25);
  CHECK_VALUES(tsr_var(x, (int[]){0}, 1, true, 1), TSR_F32, TSR_SHAPE(1), 1e-6, 5.0 / 3);
  CHECK_VALUES(tsr_std(x, NULL, 0, false, 0), TSR_F32, TSR_SCALAR, 1e-6, sqrt(1.25));
  CHECK_VALUES(tsr_var(list(TSR_I8, TSR_SHAPE(2), -100, 100), NULL, 0, false, 0), TSR_F32, TSR_SCALAR, 0, 10000);
  CHECK_VALUES(tsr_var(list(TSR_F32, TSR_SHAPE(1), 3), NULL, 0, false, 1), TSR_F32, TSR_SCALAR, 0, NAN);
  finish();
}

TEST(halves_do_not_overflow_on_the_way) {
  begin();
  tsr_tensor *x = tsr_full(dev, TSR_F16, TSR_SHAPE(1000), 100);
  CHECK_VALUES(tsr_mean(x, NULL, 0, false), TSR_F16, TSR_SCALAR, 0, 100);
  CHECK_VALUES(tsr_norm(x, 2, NULL, 0, false), TSR_F16, TSR_SCALAR, 2, 3162);
  CHECK_VALUES(tsr_std(x, NULL, 0, false, 0), TSR_F16, TSR_SCALAR, 0, 0);
  finish();
}

TEST(norms_and_logsumexp) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 3, -4, 0, 1);
  CHECK_VALUES(tsr_norm(x, 2, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(2), 1e-6, 5, 1);
  CHECK_VALUES(tsr_norm(x, 1, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 8);
  CHECK_VALUES(tsr_norm(x, INFINITY, (int[]){0}, 1, true), TSR_F32, TSR_SHAPE(1, 2), 0, 3, 4);
  CHECK_VALUES(tsr_norm(x, -INFINITY, (int[]){0}, 1, true), TSR_F32, TSR_SHAPE(1, 2), 0, 0, 1);
  CHECK_VALUES(tsr_norm(x, 3, NULL, 0, false), TSR_F32, TSR_SCALAR, 1e-6, 4.514357435);
  CHECK_VALUES(tsr_norm(x, 0, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(2), 0, 2, 1);
  CHECK_FAILS(tsr_norm(x, -2, NULL, 0, false), TSR_ERR_INVALID_ARGUMENT, "norm: p is -2");
  tsr_tensor *y = list(TSR_F32, TSR_SHAPE(4, 2), 1000, 1000, -INFINITY, -INFINITY, INFINITY, 1, NAN, 0);
  CHECK_VALUES(tsr_logsumexp(y, (int[]){1}, 1, false), TSR_F32, TSR_SHAPE(4), 1e-3, 1000.693147, -INFINITY, INFINITY,
               NAN);
  CHECK_VALUES(tsr_logsumexp(x, NULL, 0, true), TSR_F32, TSR_SHAPE(1, 1), 1e-5, 3.1706152);
  finish();
}

TEST(reductions_fuse_with_what_stands_around_them) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(3, 4));
  tsr_tensor *y = tsr_sqrt(tsr_sum(tsr_mul_scalar(tsr_square(x), 4), (int[]){1}, 1, false));
  CHECK_VALUES(y, TSR_F32, TSR_SHAPE(3), 1e-4, 2 * sqrt(14), 2 * sqrt(126), 2 * sqrt(366));
  finish();
}

// The sum over the last axis, alone and with an operator before it, which makes it a generated kernel on every device. The
// order of additions may differ, so the last bits of floats may, too.
static void check_alone_and_fused(tsr_tensor *x) {
  enum { MOST_ROWS = 64 };
  double alone[MOST_ROWS], fused[MOST_ROWS];
  CHECK_OK(tsr_evaluate(x));
  tsr_tensor *a = tsr_sum(x, (int[]){-1}, 1, false), *b = tsr_neg(tsr_sum(tsr_neg(x), (int[]){-1}, 1, false));
  size_t count = (size_t)tsr_tensor_count(a);
  CHECK(count <= MOST_ROWS);
  CHECK_OK(tsr_read(tsr_cast(a, TSR_F64), alone, count * sizeof(double)));
  CHECK_OK(tsr_read(tsr_cast(b, TSR_F64), fused, count * sizeof(double)));
  tsr_dtype dtype = tsr_tensor_dtype(a);
  double bound = dtype == TSR_F32 ? 0x1p-22 : dtype == TSR_F64 ? 0x1p-51 : dtype == TSR_F16 ? 0x1p-10 : 0;
  for (size_t i = 0; i < count; i++) {
    CHECK(alone[i] == fused[i] || fabs(alone[i] - fused[i]) <= bound * alone[i]);  // the sum of f16 is infinite
  }
}

TEST(a_sum_of_rows_is_the_same_alone_and_fused) {
  begin();
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_F16, TSR_I32};
  for (int i = 0; i < 4; i++) {
    tsr_tensor *x = tsr_cast(tsr_mul_scalar(tsr_rand(dev, TSR_F32, TSR_SHAPE(6, 7, 3001), 5), 100), dtypes[i]);
    check_alone_and_fused(x);
    check_alone_and_fused(tsr_slice(x, 2, 5, 2999, 1));
    check_alone_and_fused(tsr_slice(x, 2, 0, 256, 1));
    check_alone_and_fused(tsr_slice(x, 2, 1, 3000, 3));
    check_alone_and_fused(tsr_slice(x, 1, 2, 5, 1));
    check_alone_and_fused(tsr_flip(tsr_slice(x, 1, 3, 4, 1), 0));
    check_alone_and_fused(tsr_flip(x, 2));
    check_alone_and_fused(tsr_transpose(x, 0, 1));
    check_alone_and_fused(tsr_expand(tsr_slice(tsr_slice(x, 0, 2, 3, 1), 1, 4, 5, 1), TSR_SHAPE(8, 1, 3001)));
    check_alone_and_fused(tsr_slice(tsr_transpose(x, 0, 2), 0, 0, 9, 1));
  }
  finish();
}

// Chains of min and max over negated integers, for which some compilers generate wrong instructions (emit/c/helpers.c).
static void check_negated(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  const int32_t numbers[9] = {3, 1, -3, 0, 7, -8, 5, -2, 6};
  tsr_tensor *x = tsr_from_data(device, TSR_I32, TSR_SHAPE(9), numbers, sizeof numbers), *y = tsr_neg(x);
  tsr_tensor *less = tsr_minimum(tsr_minimum(x, y), tsr_neg(tsr_flip(x, 0)));
  if (tsr_evaluate(y) != TSR_ERR_UNSUPPORTED) {  // unsupported: the device runs no kernels
    int32_t least[9];
    for (int i = 0; i < 9; i++) {
      int32_t flipped = -numbers[8 - i], of_one = numbers[i] < 0 ? numbers[i] : -numbers[i];
      least[i] = of_one < flipped ? of_one : flipped;
    }
    for (int count = 2; count <= 9; count++) {
      int32_t lowest = INT32_MAX, highest = INT32_MIN, values[2];
      for (int i = 0; i < count; i++) {
        lowest = -numbers[i] < lowest ? -numbers[i] : lowest;
        highest = -numbers[i] > highest ? -numbers[i] : highest;
      }
      tsr_tensor *part = tsr_slice(x, 0, 0, count, 1);
      CHECK_OK(tsr_read(tsr_min(tsr_neg(part), NULL, 0, false), &values[0], sizeof values[0]));
      CHECK_OK(tsr_read(tsr_max(tsr_neg(part), NULL, 0, false), &values[1], sizeof values[1]));
      CHECK_EQ_INT(values[0], lowest);
      CHECK_EQ_INT(values[1], highest);
    }
    int32_t values[9];
    CHECK_OK(tsr_read(less, values, sizeof values));
    for (int i = 0; i < 9; i++) CHECK_EQ_INT(values[i], least[i]);
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(least_and_most_of_negated_integers) { test_on_every_device(check_negated); }

// --- Short rows of 16 bits ---------------------------------------------------------------------------------------------

// An odd number of rows, each shared by a few items; an operator after the sum reads an element for each row. All sums are whole numbers that bf16 and f16 have.
static void check_short_rows(tsr_device *device) {
  enum { ROWS = 1001, MOST_COLUMNS = 40 };
  static float numbers[ROWS * MOST_COLUMNS], more[ROWS], sums[ROWS];
  static uint16_t halves[ROWS];
  static const int lengths[] = {8, 20, 32, MOST_COLUMNS};
  static const tsr_dtype dtypes[] = {TSR_BF16, TSR_F16};
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  for (int i = 0; i < ROWS * MOST_COLUMNS; i++) numbers[i] = (float)(i * 37 % 13 - 6);
  for (int i = 0; i < ROWS; i++) more[i] = (float)(i % 7);
  for (int k = 0; k < 8; k++) {
    int n = lengths[k / 2];
    tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS, n), numbers, sizeof(float) * ROWS * (size_t)n);
    tsr_tensor *after = tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS), more, sizeof more);
    tsr_tensor *sum = tsr_sum(tsr_cast(x, dtypes[k % 2]), TSR_AXES(1), false);
    CHECK_OK(tsr_read(tsr_add(sum, tsr_cast(after, dtypes[k % 2])), halves, sizeof halves));
    CHECK_OK(tsr_convert(TSR_F32, sums, dtypes[k % 2], halves, ROWS));
    for (int i = 0; i < ROWS; i++) {
      float wanted = more[i];
      for (int j = 0; j < n; j++) wanted += numbers[i * n + j];
      CHECK(sums[i] == wanted);
    }
  }
  tsr_scope_end(scope);
}
TEST(short_rows_of_16_bits) { test_on_every_device(check_short_rows); }

// --- Long rows that begin at any element ------------------------------------------------------------------------------

enum { LONG_ROWS = 5, LONG = 2307, MOST_SKIPPED = 5 };

// Whole numbers, so that sums are exact; several elements of a row are its largest.
static float row_number(int i, int j) { return (float)((i * 37 + j * 53) % 31 - 15); }

// Reduces a slice without the first `skipped` elements of each row, so that rows begin at different positions in a quad (4 elements). Also the sum of products
// with another slice, whose rows begin at other positions in their quads.
static void check_rows_from(tsr_tensor *x, const float *numbers, int skipped) {
  float sums[LONG_ROWS], products[LONG_ROWS], most[LONG_ROWS];
  int32_t places[LONG_ROWS];
  tsr_tensor *part = tsr_slice(x, 1, skipped, LONG, 1), *other = tsr_slice(x, 1, 0, LONG - skipped, 1);
  CHECK_OK(tsr_read(tsr_sum(part, TSR_AXES(1), false), sums, sizeof sums));
  CHECK_OK(tsr_read(tsr_sum(tsr_mul(part, other), TSR_AXES(1), false), products, sizeof products));
  CHECK_OK(tsr_read(tsr_max(part, TSR_AXES(1), false), most, sizeof most));
  CHECK_OK(tsr_read(tsr_argmax(part, TSR_AXES(1), false), places, sizeof places));
  for (int i = 0; i < LONG_ROWS; i++) {
    float sum = 0, product = 0, largest = -INFINITY;
    int place = 0;
    for (int j = 0; j < LONG - skipped; j++) {
      float v = numbers[i * LONG + j + skipped];
      sum += v;
      product += v * numbers[i * LONG + j];
      if (v > largest) place = j;
      if (v > largest) largest = v;
    }
    CHECK(sums[i] == sum && products[i] == product && most[i] == largest);
    CHECK_EQ_INT(places[i], place);
  }
}

static void check_long_rows(tsr_device *device) {
  if (!test_device_computes(device)) return;
  static float numbers[LONG_ROWS * LONG];
  tsr_scope *scope = tsr_scope_begin(device);
  for (int e = 0; e < LONG_ROWS * LONG; e++) numbers[e] = row_number(e / LONG, e % LONG);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(LONG_ROWS, LONG), numbers, sizeof numbers);
  for (int skipped = 0; skipped <= MOST_SKIPPED; skipped++) check_rows_from(x, numbers, skipped);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(long_rows_that_begin_at_any_element) { test_on_every_device(check_long_rows); }

// --- Columns that several items share, and variances in one pass ------------------------------------------------------

enum { OUTER = 3, ROWS = 100, COLUMNS = 8 };  // enough rows for several items, too few for parts

static float column_number(int i, int j, int k) { return (float)((i * 37 + j * 53 + k * 11) % 101 - 50); }

static void check_columns(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  for (int width = COLUMNS; width >= COLUMNS - 1; width--) {  // four columns to an item, and one
    float numbers[OUTER * ROWS * COLUMNS], sums[OUTER * COLUMNS], most[OUTER * COLUMNS];
    int32_t places[OUTER * COLUMNS];
    for (int e = 0; e < OUTER * ROWS * width; e++)
      numbers[e] = column_number(e / (ROWS * width), e / width % ROWS, e % width);
    numbers[(ROWS + 40) * width + 2] = NAN;
    tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(OUTER, ROWS, width), numbers,
                                  (size_t)(OUTER * ROWS * width) * sizeof *numbers);
    size_t bytes = (size_t)(OUTER * width) * sizeof(float);
    CHECK_OK(tsr_read(tsr_sum(x, TSR_AXES(1), false), sums, bytes));
    CHECK_OK(tsr_read(tsr_max(x, TSR_AXES(1), false), most, bytes));
    CHECK_OK(tsr_read(tsr_argmax(x, TSR_AXES(1), false), places, bytes));
    for (int e = 0; e < OUTER * width; e++) {
      float sum = 0, largest = -INFINITY;
      int place = 0;
      for (int j = 0; j < ROWS; j++) {
        float v = numbers[(e / width * ROWS + j) * width + e % width];
        sum += v;
        if (v > largest || (isnan(v) && !isnan(largest))) place = j;
        largest = isnan(largest) || v <= largest ? largest : v;
      }
      CHECK(isnan(sum) ? isnan(sums[e]) && isnan(most[e]) : sums[e] == sum && most[e] == largest);
      CHECK_EQ_INT(places[e], place);
    }
  }
  CHECK_OK(tsr_scope_end(scope));
}

TEST(columns_that_several_items_share) { test_on_every_device(check_columns); }

// Three variances, or one; factors of 1, 4 and 9.
static void check_spread(tsr_tensor *found, int count, double first, double second, double third) {
  float is[3] = {0};
  const double wanted[3] = {first, second, third};
  CHECK_EQ_INT(tsr_tensor_count(found), count);
  CHECK_OK(tsr_read(found, is, (size_t)count * sizeof *is));
  for (int i = 0; i < count; i++) CHECK_NEAR(is[i], wanted[i], 2e-5 * wanted[i]);
  tsr_release(found);
}

// Long lines with a large mean: along the last axis, the first, both around a kept one, and all of them.
static void check_variances(tsr_device *device) {
  if (!test_device_computes(device)) return;
  enum { SIDE = 1030, WIDTH = 3 };
  static float numbers[WIDTH * SIDE];
  for (int i = 0; i < WIDTH * SIDE; i++) numbers[i] = 1000 + (float)(i % 2 ? 1 : -1) * (float)(1 + i / SIDE);
  tsr_tensor *rows = tsr_from_data(device, TSR_F32, TSR_SHAPE(WIDTH, SIDE), numbers, sizeof numbers);
  tsr_tensor *turned = tsr_transpose(rows, 0, 1), *columns = tsr_contiguous(turned);
  tsr_tensor *around = tsr_reshape(columns, TSR_SHAPE(SIDE, WIDTH, 1));
  check_spread(tsr_var(rows, TSR_AXES(1), false, 0), WIDTH, 1, 4, 9);
  check_spread(tsr_var(columns, TSR_AXES(0), true, 0), WIDTH, 1, 4, 9);
  check_spread(tsr_std(around, TSR_AXES(0, 2), false, 0), WIDTH, 1, 2, 3);
  check_spread(tsr_var(rows, NULL, 0, false, 0), 1, 14.0 / 3, 0, 0);
  check_spread(tsr_var(rows, TSR_AXES(1), false, SIDE - 1), WIDTH, SIDE, 4 * SIDE, 9 * SIDE);
  numbers[5] = INFINITY;
  tsr_tensor *broken = tsr_from_data(device, TSR_F32, TSR_SHAPE(WIDTH, SIDE), numbers, sizeof numbers);
  tsr_tensor *spread = tsr_var(broken, TSR_AXES(1), false, 0);
  float is[WIDTH];
  CHECK_OK(tsr_read(spread, is, sizeof is));
  CHECK(isnan(is[0]) && !isnan(is[1]) && !isnan(is[2]));
  tsr_tensor *const made[] = {rows, turned, columns, around, broken, spread};
  for (int i = 0; i < 6; i++) tsr_release(made[i]);
}

TEST(variances_of_long_lines) { test_on_every_device(check_variances); }

// Of 0, 2, 4, 6 the mean is 3, the variance 5: the gradients are (x - 3) / 2 and (x - 3) / (4 sqrt(5)). Those of equal numbers are 0.
static void check_slopes(tsr_device *device) {
  if (!test_device_computes(device)) return;
  static const float numbers[8] = {0, 2, 4, 6, 3, 3, 3, 3};
  for (int is_root = 0; is_root < 2; is_root++) {
    tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 4), numbers, sizeof numbers), *slope = NULL;
    CHECK_OK(tsr_grad_begin());
    CHECK_OK(tsr_grad_watch(x));
    tsr_tensor *spread = (is_root ? tsr_std : tsr_var)(x, TSR_AXES(1), false, 0),
               *sum = tsr_sum(spread, NULL, 0, false);
    CHECK_OK(tsr_grad(sum, NULL, &x, 1, &slope));
    CHECK_OK(tsr_grad_end());
    float is[8];
    CHECK_OK(tsr_read(slope, is, sizeof is));
    for (int i = 0; i < 8; i++) CHECK_NEAR(is[i], (numbers[i] - 3) / (is_root ? 4 * sqrt(5.0) : 2), 1e-6);
    tsr_tensor *const made[] = {x, slope, spread, sum};
    for (int i = 0; i < 4; i++) tsr_release(made[i]);
  }
}

TEST(gradients_of_variances) { test_on_every_device(check_slopes); }
