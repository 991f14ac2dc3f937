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
