// SPDX-License-Identifier: MIT
#include "graph/strided.h"

#include "support/test.h"

static tsri_layout layout_of(tsr_shape shape) {
  tsri_layout layout;
  CHECK_OK(tsri_layout_init("test", shape, TSR_F32, &layout, NULL));
  return layout;
}

static tsri_layout transposed(tsr_shape shape, int a, int b) {
  tsri_layout whole = layout_of(shape), view;
  CHECK_OK(tsri_layout_transpose(&whole, a, b, &view));
  return view;
}

static void check_axis(const tsri_strided *copy, int axis, int64_t dim, int64_t from, int64_t to) {
  CHECK_EQ_INT(copy->dims[axis], dim);
  CHECK_EQ_INT(copy->from[axis], from);
  CHECK_EQ_INT(copy->to[axis], to);
}

TEST(a_transposed_matrix_is_turned_in_tiles) {
  tsri_layout from = transposed(TSR_SHAPE(100, 300), 0, 1), to = layout_of(TSR_SHAPE(300, 100));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK_EQ_INT(copy.col_axes, 1);
  CHECK_EQ_INT(copy.rank, 2);
  check_axis(&copy, 0, 300, 1, 100);
  check_axis(&copy, 1, 100, 300, 1);
}

TEST(axes_that_only_change_places_among_long_runs_are_copied_by_runs) {
  tsri_layout from = transposed(TSR_SHAPE(4, 5, 64), 0, 1), to = layout_of(TSR_SHAPE(5, 4, 64));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK_EQ_INT(copy.col_axes, 0);
  CHECK_EQ_INT(copy.rank, 3);
  CHECK_EQ_INT(copy.from[2], 1);
  CHECK_EQ_INT(copy.to[2], 1);
}

TEST(small_elements_travel_in_words_where_runs_allow) {
  tsri_layout from = transposed(TSR_SHAPE(4, 5, 64), 0, 1), to = layout_of(TSR_SHAPE(5, 4, 64));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 1, 8, &copy);
  CHECK_EQ_UINT(copy.unit, 4);
  CHECK_EQ_INT(copy.dims[2], 16);
  CHECK_EQ_INT(copy.from[1], 5 * 64 / 4);
  tsri_layout odd = from;
  odd.offset = 2;
  tsri_strided_init(&odd, &to, 1, 8, &copy);
  CHECK_EQ_UINT(copy.unit, 2);
}

TEST(elements_of_8_bytes_go_as_pairs_where_a_device_has_no_such_integers) {
  tsri_layout from = transposed(TSR_SHAPE(100, 300), 0, 1), to = layout_of(TSR_SHAPE(300, 100));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 8, 4, &copy);
  CHECK_EQ_UINT(copy.unit, 4);
  CHECK_EQ_INT(copy.rank, 3);
  CHECK_EQ_INT(copy.dims[2], 2);
  CHECK_EQ_INT(copy.from[1], 600);
}

// The transposed view of `shape` with its axes in reverse order.
static tsri_layout reversed(tsr_shape shape) {
  tsri_layout whole = layout_of(shape), view = whole;
  for (int i = 0; i < shape.rank; i++) {
    view.shape.dims[i] = whole.shape.dims[shape.rank - 1 - i];
    view.strides[i] = whole.strides[shape.rank - 1 - i];
  }
  return view;
}

TEST(a_tile_takes_two_axes_where_one_would_not_fill_its_side) {
  tsri_layout from = reversed(TSR_SHAPE(3, 16, 2048, 302)), to = layout_of(from.shape);
  tsri_strided copy;
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK_EQ_INT(copy.row_axes, 1);
  CHECK_EQ_INT(copy.col_axes, 2);
  check_axis(&copy, 0, 2048, 302, 48);
  check_axis(&copy, 1, 302, 1, 98304);
  check_axis(&copy, 2, 16, 618496, 3);
  check_axis(&copy, 3, 3, 9895936, 1);
  from = reversed(TSR_SHAPE(10, 20, 30, 40));
  to = layout_of(from.shape);
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK_EQ_INT(copy.row_axes, 2);
  CHECK_EQ_INT(copy.col_axes, 2);
  check_axis(&copy, 0, 30, 40, 200);
  check_axis(&copy, 1, 40, 1, 6000);
  check_axis(&copy, 2, 20, 1200, 10);
  check_axis(&copy, 3, 10, 24000, 1);
  from = reversed(TSR_SHAPE(9, 8, 40));  // the shorter side takes the axis that both could have
  to = layout_of(from.shape);
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK_EQ_INT(copy.row_axes, 1);
  CHECK_EQ_INT(copy.col_axes, 2);
}

TEST(rows_of_8_bytes_go_in_units_of_4_if_they_are_whole_quads) {
  tsri_layout from = transposed(TSR_SHAPE(4, 5, 6), 0, 1), to = layout_of(TSR_SHAPE(5, 4, 6));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 8, 8, &copy);
  CHECK_EQ_UINT(copy.unit, 4);
  CHECK_EQ_INT(copy.dims[2], 12);
  CHECK_EQ_INT(copy.from[0], 12);
  from = transposed(TSR_SHAPE(4, 5, 7), 0, 1);
  to = layout_of(TSR_SHAPE(5, 4, 7));
  tsri_strided_init(&from, &to, 8, 8, &copy);
  CHECK_EQ_UINT(copy.unit, 8);
}

TEST(copies_beyond_32_bits_are_cut_into_pieces) {
  int64_t side = 100000;
  tsri_layout from = transposed(TSR_SHAPE(side, side), 0, 1), to = layout_of(TSR_SHAPE(side, side));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 4, 8, &copy);
  int64_t sizes[TSR_MAX_RANK + 1], most = INT64_C(1) << 30;
  tsri_strided_pieces(&copy, most, sizes);
  for (int i = 0; i < 2; i++) CHECK(sizes[i] > 0 && (sizes[i] - 1) * side < most);
  from = layout_of(TSR_SHAPE(side));
  tsri_strided_init(&from, &from, 4, 8, &copy);
  tsri_strided_pieces(&copy, most, sizes);
  CHECK_EQ_INT(sizes[0], side);
}
