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

TEST(a_transposed_matrix_is_turned_in_tiles) {
  tsri_layout from = transposed(TSR_SHAPE(100, 300), 0, 1), to = layout_of(TSR_SHAPE(300, 100));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK(copy.is_turned);
  CHECK_EQ_INT(copy.rank, 2);
  CHECK_EQ_INT(copy.dims[0], 300);
  CHECK_EQ_INT(copy.from[0], 1);
  CHECK_EQ_INT(copy.to[0], 100);
  CHECK_EQ_INT(copy.dims[1], 100);
  CHECK_EQ_INT(copy.from[1], 300);
  CHECK_EQ_INT(copy.to[1], 1);
}

TEST(axes_that_only_change_places_among_long_runs_are_copied_by_runs) {
  tsri_layout from = transposed(TSR_SHAPE(4, 5, 64), 0, 1), to = layout_of(TSR_SHAPE(5, 4, 64));
  tsri_strided copy;
  tsri_strided_init(&from, &to, 4, 8, &copy);
  CHECK(!copy.is_turned);
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
