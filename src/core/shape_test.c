// SPDX-License-Identifier: MIT
// Shapes: counting, checking, broadcasting.
#include <tessera/shape.h>

#include "support/test.h"

TEST(count_is_the_product_and_one_for_a_scalar) {
  int64_t count = -1;
  CHECK_OK(tsr_shape_count(TSR_SHAPE(4, 3, 2), &count));
  CHECK_EQ_INT(count, 24);
  CHECK_OK(tsr_shape_count(TSR_SCALAR, &count));
  CHECK_EQ_INT(count, 1);
  CHECK_OK(tsr_shape_count(TSR_SHAPE(4, 0, 2), &count));
  CHECK_EQ_INT(count, 0);
}

TEST(count_refuses_negative_sizes_overflow_and_ranks_out_of_range) {
  int64_t count = -1;
  CHECK_STATUS(tsr_shape_count(TSR_SHAPE(4, -1), &count), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("-1 on axis 1");
  CHECK_STATUS(tsr_shape_count(TSR_SHAPE(INT64_MAX, 2), &count), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("2^63-1");
  CHECK_STATUS(tsr_shape_count(TSR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1), &count), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("rank 9");
  CHECK_STATUS(tsr_shape_count(tsr_shape_make(-1, NULL), &count), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_shape_count(TSR_SHAPE(2), NULL), TSR_ERR_INVALID_ARGUMENT);
}

TEST(a_shape_made_of_null_is_refused_where_it_is_used) {
  int64_t count = -1;
  CHECK_STATUS(tsr_shape_count(tsr_shape_make(2, NULL), &count), TSR_ERR_SHAPE);
  CHECK_OK(tsr_shape_count(tsr_shape_make(0, NULL), &count));
  CHECK(tsr_shape_format(TSR_SHAPE(2, 3), NULL, 10) == NULL);
}

TEST(an_empty_shape_may_not_hide_an_overflow) {
  int64_t count = 0;
  CHECK_STATUS(tsr_shape_count(TSR_SHAPE(0, INT64_MAX, INT64_MAX), &count), TSR_ERR_SHAPE);
}

TEST(broadcasting_aligns_at_the_last_axis) {
  tsr_shape result;
  CHECK_OK(tsr_shape_broadcast(TSR_SHAPE(4, 1, 3), TSR_SHAPE(5, 1), &result));
  CHECK_EQ_INT(result.rank, 3);
  CHECK_EQ_INT(result.dims[0], 4);
  CHECK_EQ_INT(result.dims[1], 5);
  CHECK_EQ_INT(result.dims[2], 3);
  CHECK_OK(tsr_shape_broadcast(TSR_SCALAR, TSR_SHAPE(0), &result));
  CHECK_EQ_INT(result.dims[0], 0);
  CHECK_OK(tsr_shape_broadcast(TSR_SHAPE(1, 2), TSR_SHAPE(0, 2), &result));
  CHECK_EQ_INT(result.dims[0], 0);
}

TEST(broadcasting_names_the_axis_that_differs) {
  tsr_shape result;
  CHECK_STATUS(tsr_shape_broadcast(TSR_SHAPE(2, 3), TSR_SHAPE(2, 4), &result), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("2x3 and 2x4 do not broadcast, axis 1: 3 and 4");
  CHECK_STATUS(tsr_shape_broadcast(TSR_SHAPE(1LL << 40, 1), TSR_SHAPE(1, 1LL << 40), &result), TSR_ERR_SHAPE);
}

TEST(formatting_is_cut_to_the_room_there_is) {
  char text[TSR_SHAPE_TEXT_BYTES];
  CHECK_STR(tsr_shape_format(TSR_SHAPE(4, 3), text, sizeof text), "4x3");
  CHECK_STR(tsr_shape_format(TSR_SHAPE(7), text, sizeof text), "[7]");
  CHECK_STR(tsr_shape_format(TSR_SCALAR, text, sizeof text), "scalar");
  CHECK_STR(tsr_shape_format(TSR_SHAPE(1000, 1000), text, 5), "1000");
  int64_t widest[TSR_MAX_RANK];
  for (int i = 0; i < TSR_MAX_RANK; i++) widest[i] = INT64_MIN;
  CHECK(strlen(tsr_shape_format(tsr_shape_make(TSR_MAX_RANK, widest), text, sizeof text)) == 8 * 20 + 7);
}
