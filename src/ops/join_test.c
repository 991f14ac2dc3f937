// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(concat_joins_along_an_axis) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 2)), *b = list(TSR_F32, TSR_SHAPE(2, 1), 8, 9);
  CHECK_VALUES(tsr_concat((tsr_tensor *[]){a, b}, 2, 1), TSR_F32, TSR_SHAPE(2, 3), 0, 0, 1, 8, 2, 3, 9);
  CHECK_VALUES(tsr_concat((tsr_tensor *[]){a, tsr_transpose(a, 0, 1)}, 2, -2), TSR_F32, TSR_SHAPE(4, 2), 0, 0, 1, 2, 3,
               0, 2, 1, 3);
  CHECK_VALUES(tsr_concat((tsr_tensor *[]){b}, 1, 0), TSR_F32, TSR_SHAPE(2, 1), 0, 8, 9);
  tsr_tensor *bytes = list(TSR_U8, TSR_SHAPE(1), 200), *small = list(TSR_I8, TSR_SHAPE(1), -1);
  CHECK_VALUES(tsr_concat((tsr_tensor *[]){bytes, small}, 2, 0), TSR_I16, TSR_SHAPE(2), 0, 200, -1);
  finish();
}

TEST(concat_joins_more_tensors_than_a_node_takes) {
  begin();
  tsr_tensor *parts[21];
  double wanted[21];
  for (int i = 0; i < 21; i++) {
    parts[i] = tsr_full(dev, TSR_I32, TSR_SHAPE(i % 3 == 1 ? 0 : 1), i);
    wanted[i] = i;
  }
  double kept[21];
  int count = 0;
  for (int i = 0; i < 21; i++) {
    if (i % 3 != 1) kept[count++] = wanted[i];
  }
  check_values(__FILE__, __LINE__, tsr_concat(parts, 21, 0), TSR_I32, TSR_SHAPE(count), 0, kept, (size_t)count);
  finish();
}

// A tensor [lines, 2 * columns] of numbers below 100 that depend on p.
static tsr_tensor *numbered(tsr_dtype dtype, int64_t lines, int64_t columns, int p) {
  static double values[MOST_VALUES];
  for (int64_t i = 0; i < lines; i++) {
    for (int64_t j = 0; j < 2 * columns; j++) values[i * 2 * columns + j] = (p * 10 + (int)i * 3 + (int)j) % 100;
  }
  return from_doubles(dtype, TSR_SHAPE(lines, 2 * columns), values);
}

static void check_joined(tsr_dtype dtype, int count, int64_t lines, int64_t columns, bool is_slice) {
  static double wanted[MOST_VALUES];
  tsr_tensor *parts[20];
  int64_t width = is_slice ? columns : 2 * columns, line = width * count;
  for (int p = 0; p < count; p++) {
    tsr_tensor *whole = numbered(dtype, lines, columns, p);
    parts[p] = is_slice ? tsr_slice(whole, 1, columns, 2 * columns, 1) : whole;
    for (int64_t i = 0; i < lines; i++) {
      for (int64_t j = 0; j < width; j++) {
        wanted[i * line + p * width + j] = (p * 10 + (int)i * 3 + (int)(is_slice ? j + columns : j)) % 100;
      }
    }
  }
  check_values(__FILE__, __LINE__, tsr_concat(parts, count, 1), dtype, TSR_SHAPE(lines, line), 0, wanted,
               (size_t)(lines * line));
}

TEST(concat_joins_lines_of_any_number_of_tensors) {
  static const tsr_dtype dtypes[] = {TSR_I8, TSR_BF16, TSR_F32, TSR_I64};
  for (int d = 0; d < 4; d++) {
    for (int count = 2; count <= 20; count += 3) {
      begin();
      check_joined(dtypes[d], count, 5, 1, false);
      check_joined(dtypes[d], count, 9, 7, true);
      check_joined(dtypes[d], count, 1, 11, true);
      finish();
    }
  }
}

TEST(a_capture_of_concat_and_stack_reads_its_inputs_again) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4), *y = list(TSR_F32, TSR_SHAPE(2, 1), 5, 6), *out[2];
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_capture_begin(dev));
  out[0] = tsr_concat((tsr_tensor *[]){x, y, x}, 3, 1);
  out[1] = tsr_stack((tsr_tensor *[]){x, x}, 2, 2);
  CHECK_OK(tsr_capture_end(out, 2, &capture));
  CHECK_OK(tsr_capture_run(capture));
  CHECK_VALUES(out[0], TSR_F32, TSR_SHAPE(2, 5), 0, 1, 2, 5, 1, 2, 3, 4, 6, 3, 4);
  CHECK_OK(tsr_write(x, (const float[]){7, 8, 9, 10}, 16));
  CHECK_OK(tsr_capture_run(capture));
  CHECK_VALUES(out[0], TSR_F32, TSR_SHAPE(2, 5), 0, 7, 8, 5, 7, 8, 9, 10, 6, 9, 10);
  CHECK_VALUES(out[1], TSR_F32, TSR_SHAPE(2, 2, 2), 0, 7, 7, 8, 8, 9, 9, 10, 10);
  tsr_capture_release(capture);
  finish();
}

TEST(concat_refuses_shapes_that_differ_off_axis) {
  begin();
  tsr_tensor *a = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 3)), *b = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 4));
  CHECK_FAILS(tsr_concat((tsr_tensor *[]){a, b}, 2, 0), TSR_ERR_SHAPE, "axis 1: 3 and 4");
  CHECK_FAILS(tsr_concat((tsr_tensor *[]){a, tsr_ones(dev, TSR_F32, TSR_SHAPE(2))}, 2, 0), TSR_ERR_SHAPE,
              "ranks differ, the first is 2x3, number 1 is [2]");
  CHECK_FAILS(tsr_concat(NULL, 0, 0), TSR_ERR_INVALID_ARGUMENT, "0 tensors");
  CHECK_FAILS(tsr_concat((tsr_tensor *[]){a, a}, 2, 2), TSR_ERR_SHAPE, "axis 2 is out of range");
  CHECK_FAILS(tsr_stack((tsr_tensor *[]){a, b}, 2, 0), TSR_ERR_SHAPE,
              "stack: shapes differ, the first is 2x3, number 1 is 2x4");
  finish();
}

TEST(stack_makes_a_new_axis) {
  begin();
  tsr_tensor *a = list(TSR_I32, TSR_SHAPE(2), 1, 2), *b = list(TSR_I32, TSR_SHAPE(2), 3, 4);
  CHECK_VALUES(tsr_stack((tsr_tensor *[]){a, b}, 2, 0), TSR_I32, TSR_SHAPE(2, 2), 0, 1, 2, 3, 4);
  CHECK_VALUES(tsr_stack((tsr_tensor *[]){a, b}, 2, -1), TSR_I32, TSR_SHAPE(2, 2), 0, 1, 3, 2, 4);
  finish();
}

TEST(split_gives_views_that_add_up) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 5)), *parts[3] = {NULL, NULL, NULL};
  CHECK_OK(tsr_split(x, (int64_t[]){2, 0, 3}, 3, 1, parts));
  CHECK_VALUES(parts[0], TSR_F32, TSR_SHAPE(2, 2), 0, 0, 1, 5, 6);
  CHECK_EMPTY(parts[1], TSR_F32, TSR_SHAPE(2, 0));
  CHECK_VALUES(parts[2], TSR_F32, TSR_SHAPE(2, 3), 0, 2, 3, 4, 7, 8, 9);
  CHECK(tsr_tensor_shares_memory(x, parts[2]));
  CHECK_VALUES(tsr_concat(parts, 3, 1), TSR_F32, TSR_SHAPE(2, 5), 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  CHECK_STATUS(tsr_split(x, (int64_t[]){2, 2}, 2, 1, parts), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("split: the sizes add up to 4, axis 1 has 5");
  CHECK_STATUS(tsr_split(x, (int64_t[]){-1, 6}, 2, 1, parts), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_split(x, NULL, 2, 1, parts), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

TEST(repeat_and_tile_differ_in_order) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4);
  CHECK_VALUES(tsr_repeat(x, 2, 1), TSR_F32, TSR_SHAPE(2, 4), 0, 1, 1, 2, 2, 3, 3, 4, 4);
  CHECK_VALUES(tsr_repeat(x, 2, 0), TSR_F32, TSR_SHAPE(4, 2), 0, 1, 2, 1, 2, 3, 4, 3, 4);
  CHECK_VALUES(tsr_tile(x, TSR_SHAPE(1, 2)), TSR_F32, TSR_SHAPE(2, 4), 0, 1, 2, 1, 2, 3, 4, 3, 4);
  CHECK_VALUES(tsr_tile(x, TSR_SHAPE(2)), TSR_F32, TSR_SHAPE(2, 4), 0, 1, 2, 1, 2, 3, 4, 3, 4);
  CHECK_VALUES(tsr_tile(x, TSR_SHAPE(2, 1, 1)), TSR_F32, TSR_SHAPE(2, 2, 2), 0, 1, 2, 3, 4, 1, 2, 3, 4);
  CHECK_EMPTY(tsr_tile(x, TSR_SHAPE(0, 3)), TSR_F32, TSR_SHAPE(0, 6));
  CHECK_EMPTY(tsr_repeat(x, 0, 0), TSR_F32, TSR_SHAPE(0, 2));
  CHECK_FAILS(tsr_repeat(x, -1, 0), TSR_ERR_SHAPE, "repeat: axis 0 of 2x2 cannot be repeated -1 times");
  CHECK_FAILS(tsr_tile(x, TSR_SHAPE(-1)), TSR_ERR_SHAPE, "tile");
  finish();
}

TEST(pad_surrounds_with_a_value) {
  begin();
  tsr_tensor *x = list(TSR_I8, TSR_SHAPE(1, 2), 1, 2);
  CHECK_VALUES(tsr_pad(x, (int64_t[]){1, 0}, (int64_t[]){0, 1}, 2, 7), TSR_I8, TSR_SHAPE(2, 3), 0, 7, 7, 7, 1, 2, 7);
  CHECK_VALUES(tsr_pad(x, (int64_t[]){0, 0}, (int64_t[]){0, 0}, 2, 7), TSR_I8, TSR_SHAPE(1, 2), 0, 1, 2);
  CHECK_VALUES(tsr_pad(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), (int64_t[]){1}, (int64_t[]){1}, 1, 5), TSR_F32,
               TSR_SHAPE(2), 0, 5, 5);
  CHECK_FAILS(tsr_pad(x, (int64_t[]){1}, (int64_t[]){1}, 1, 0), TSR_ERR_SHAPE, "pad: 1 axes given, 1x2 has 2");
  CHECK_FAILS(tsr_pad(x, (int64_t[]){-1, 0}, (int64_t[]){0, 0}, 2, 0), TSR_ERR_SHAPE,
              "pad: -1 before and 0 after axis 0 of 1x2");
  finish();
}

TEST(roll_moves_what_leaves_to_the_other_end) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(5));
  CHECK_VALUES(tsr_roll(x, 2, 0), TSR_F32, TSR_SHAPE(5), 0, 3, 4, 0, 1, 2);
  CHECK_VALUES(tsr_roll(x, -1, 0), TSR_F32, TSR_SHAPE(5), 0, 1, 2, 3, 4, 0);
  CHECK_VALUES(tsr_roll(x, 1000000000003, 0), TSR_F32, TSR_SHAPE(5), 0, 2, 3, 4, 0, 1);
  CHECK_EMPTY(tsr_roll(tsr_zeros(dev, TSR_F32, TSR_SHAPE(0)), 3, 0), TSR_F32, TSR_SHAPE(0));
  finish();
}

TEST(triangles_keep_one_side_of_a_diagonal) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3));
  CHECK_VALUES(tsr_tril(x, 0), TSR_I32, TSR_SHAPE(2, 3), 0, 0, 0, 0, 3, 4, 0);
  CHECK_VALUES(tsr_tril(x, 1), TSR_I32, TSR_SHAPE(2, 3), 0, 0, 1, 0, 3, 4, 5);
  CHECK_VALUES(tsr_triu(x, 1), TSR_I32, TSR_SHAPE(2, 3), 0, 0, 1, 2, 0, 0, 5);
  CHECK_VALUES(tsr_triu(x, INT64_MIN), TSR_I32, TSR_SHAPE(2, 3), 0, 0, 1, 2, 3, 4, 5);
  CHECK_VALUES(tsr_tril(list(TSR_BOOL, TSR_SHAPE(2, 2), 1, 1, 1, 1), 0), TSR_BOOL, TSR_SHAPE(2, 2), 0, 1, 0, 1, 1);
  CHECK_VALUES(tsr_triu(list(TSR_F32, TSR_SHAPE(2, 2), 1, 1, NAN, 1), 0), TSR_F32, TSR_SHAPE(2, 2), 0, 1, 1, 0, 1);
  CHECK_FAILS(tsr_tril(tsr_ones(dev, TSR_F32, TSR_SHAPE(3)), 0), TSR_ERR_SHAPE, "tril: takes 2 axes or more, not [3]");
  finish();
}
