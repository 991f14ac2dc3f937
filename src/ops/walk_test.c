// SPDX-License-Identifier: MIT
#include "ops/walk.h"

#include "support/test.h"

TEST(axes_join_where_every_operand_lies_without_gaps) {
  int64_t a[3] = {12, 4, 1}, b[3] = {24, 8, 2};
  tsri_walk walk;
  tsri_walk_init(&walk, TSR_SHAPE(2, 3, 4), 2, (const int64_t *[]){a, b});
  CHECK_EQ_INT(walk.rank, 1);
  CHECK_EQ_INT(walk.count, 24);
  CHECK_EQ_INT(walk.dims[0], 24);
  CHECK_EQ_INT(walk.strides[0][0], 1);
  CHECK_EQ_INT(walk.strides[1][0], 2);
}

TEST(axes_stay_apart_where_one_operand_is_transposed) {
  int64_t a[2] = {4, 1}, b[2] = {1, 3};
  tsri_walk walk;
  tsri_walk_init(&walk, TSR_SHAPE(3, 4), 2, (const int64_t *[]){a, b});
  CHECK_EQ_INT(walk.rank, 2);
  CHECK_EQ_INT(walk.dims[1], 4);
  CHECK_EQ_INT(walk.strides[1][0], 1);
  CHECK_EQ_INT(walk.strides[1][1], 3);
}

TEST(ranks_are_padded_to_a_power_of_two) {
  int64_t a[5] = {1, 0, 10, 0, 100};
  tsri_walk walk;
  tsri_walk_init(&walk, TSR_SHAPE(2, 1, 3, 1, 5), 1, (const int64_t *[]){a});
  CHECK_EQ_INT(walk.rank, 4);
  CHECK_EQ_INT(walk.dims[0], 1);
  CHECK_EQ_INT(walk.dims[1], 2);
  CHECK_EQ_INT(walk.dims[3], 5);
  CHECK_EQ_INT(walk.strides[0][1], 1);
  CHECK_EQ_INT(walk.strides[0][3], 100);
}

TEST(a_scalar_and_an_empty_shape_are_walks_of_rank_1) {
  int64_t a[2] = {0, 1};
  tsri_walk walk;
  tsri_walk_init(&walk, TSR_SCALAR, 1, (const int64_t *[]){a});
  CHECK_EQ_INT(walk.rank, 1);
  CHECK_EQ_INT(walk.count, 1);
  CHECK_EQ_INT(walk.dims[0], 1);
  tsri_walk_init(&walk, TSR_SHAPE(0, 3), 1, (const int64_t *[]){a});
  CHECK_EQ_INT(walk.count, 0);
}

TEST(row_major_strides_run_from_the_last_axis) {
  int64_t strides[3];
  tsri_row_major(TSR_SHAPE(2, 3, 4), strides);
  CHECK_EQ_INT(strides[0], 12);
  CHECK_EQ_INT(strides[1], 4);
  CHECK_EQ_INT(strides[2], 1);
}
