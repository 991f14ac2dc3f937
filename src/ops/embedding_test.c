// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(embedding_gives_a_row_for_each_index) {
  begin();
  tsr_tensor *table = count_up(TSR_F32, TSR_SHAPE(3, 2)), *indices = list(TSR_I64, TSR_SHAPE(2, 2), 2, 0, -1, 9);
  CHECK_VALUES(tsr_embedding(table, indices), TSR_F32, TSR_SHAPE(2, 2, 2), 0, 4, 5, 0, 1, 4, 5, 0, 0);
  CHECK_VALUES(tsr_embedding(table, list(TSR_U8, TSR_SCALAR, 1)), TSR_F32, TSR_SHAPE(2), 0, 2, 3);
  CHECK_FAILS(tsr_embedding(table, table), TSR_ERR_DTYPE, "embedding: indices are integers, not f32");
  CHECK_FAILS(tsr_embedding(list(TSR_F32, TSR_SCALAR, 1), indices), TSR_ERR_SHAPE, "embedding: a table of scalar");
  CHECK_FAILS(tsr_embedding(tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 1, 1)),
                            tsr_zeros(dev, TSR_I32, TSR_SHAPE(1, 1, 1, 1, 1))),
              TSR_ERR_SHAPE, "at most 8 axes");
  finish();
}

TEST(bags_are_added_up_by_rows_or_by_offsets) {
  begin();
  tsr_tensor *table = list(TSR_F32, TSR_SHAPE(3, 2), 1, 10, 2, 20, 4, 40);
  tsr_tensor *rows = list(TSR_I32, TSR_SHAPE(2, 2), 0, 1, 2, -1), *all = tsr_reshape(rows, TSR_SHAPE(4));
  CHECK_VALUES(tsr_embedding_bag(table, rows, NULL, NULL), TSR_F32, TSR_SHAPE(2, 2), 0, 3, 30, 8, 80);
  // Bags of 3, none and 1; an index that names no row is not counted in a mean.
  tsr_tensor *offsets = list(TSR_I64, TSR_SHAPE(3), 0, 3, 3);
  tsr_bag_desc desc = {.mode = TSR_BAG_MEAN};
  CHECK_VALUES(tsr_embedding_bag(table, list(TSR_I32, TSR_SHAPE(4), 0, 7, 1, 2), offsets, &desc), TSR_F32,
               TSR_SHAPE(3, 2), 1e-6, 1.5, 15, 0, 0, 4, 40);
  desc.mode = TSR_BAG_MAX;
  CHECK_VALUES(tsr_embedding_bag(table, all, offsets, &desc), TSR_F32, TSR_SHAPE(3, 2), 0, 4, 40, 0, 0, 4, 40);
  finish();
}

TEST(bags_refuse_what_does_not_fit) {
  begin();
  tsr_tensor *table = tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 2)), *rows = tsr_zeros(dev, TSR_I32, TSR_SHAPE(2, 2));
  CHECK_FAILS(tsr_embedding_bag(table, tsr_zeros(dev, TSR_I32, TSR_SHAPE(4)), NULL, NULL), TSR_ERR_SHAPE,
              "indices are [4]");
  CHECK_FAILS(tsr_embedding_bag(table, table, NULL, NULL), TSR_ERR_DTYPE, "indices are integers, not f32");
  tsr_bag_desc desc = {.mode = TSR_BAG_MAX, .weights = rows};
  CHECK_FAILS(tsr_embedding_bag(table, rows, NULL, &desc), TSR_ERR_INVALID_ARGUMENT, ".weights are for sums");
  finish();
}
