// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(gather_nd_takes_elements_rows_or_everything) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 3));
  CHECK_VALUES(tsr_gather_nd(x, list(TSR_I32, TSR_SHAPE(3, 2), 0, 1, -1, -1, 1, 5)), TSR_F32, TSR_SHAPE(3), 0, 1, 5, 0);
  CHECK_VALUES(tsr_gather_nd(x, list(TSR_U8, TSR_SHAPE(2, 1), 1, 0)), TSR_F32, TSR_SHAPE(2, 3), 0, 3, 4, 5, 0, 1, 2);
  CHECK_VALUES(tsr_gather_nd(x, tsr_zeros(dev, TSR_I32, TSR_SHAPE(0))), TSR_F32, TSR_SHAPE(2, 3), 0, 0, 1, 2, 3, 4, 5);
  CHECK_VALUES(tsr_gather_nd(x, list(TSR_U32, TSR_SHAPE(1, 2), 4294967295.0, 0)), TSR_F32, TSR_SHAPE(1), 0, 0);
  CHECK_FAILS(tsr_gather_nd(x, list(TSR_I32, TSR_SHAPE(1, 3), 0, 0, 0)), TSR_ERR_SHAPE,
              "gather_nd: indices are 1x3; their last axis names up to 2 axes of 2x3");
  CHECK_FAILS(tsr_gather_nd(x, x), TSR_ERR_DTYPE, "gather_nd: indices are integers, not f32");
  finish();
}

TEST(scatter_nd_combines_in_order) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4), *at = list(TSR_I32, TSR_SHAPE(3, 2), 0, 1, 0, 1, 9, 9);
  tsr_tensor *source = list(TSR_F32, TSR_SHAPE(3), 5, 7, 100);
  CHECK_VALUES(tsr_scatter_nd(x, at, source, NULL), TSR_F32, TSR_SHAPE(2, 2), 0, 1, 7, 3, 4);
  CHECK_VALUES(tsr_scatter_nd(x, at, source, &(tsr_scatter_desc){TSR_COMBINE_ADD}), TSR_F32, TSR_SHAPE(2, 2), 0, 1, 14,
               3, 4);
  CHECK_VALUES(tsr_scatter_nd(x, at, source, &(tsr_scatter_desc){TSR_COMBINE_MUL}), TSR_F32, TSR_SHAPE(2, 2), 0, 1, 70,
               3, 4);
  CHECK_VALUES(tsr_scatter_nd(x, list(TSR_I32, TSR_SHAPE(1, 1), 1), list(TSR_F32, TSR_SHAPE(1, 2), 8, 0),
                              &(tsr_scatter_desc){TSR_COMBINE_MAX}),
               TSR_F32, TSR_SHAPE(2, 2), 0, 1, 2, 8, 4);
  CHECK_FAILS(tsr_scatter_nd(x, at, x, NULL), TSR_ERR_SHAPE, "scatter_nd: source is 2x2, the indices ask for [3]");
  CHECK_FAILS(tsr_scatter_nd(x, at, source, &(tsr_scatter_desc){(tsr_combine)5}), TSR_ERR_INVALID_ARGUMENT,
              "scatter_nd: combine is 5; 0 to 4 are known");
  finish();
}

TEST(put_counts_in_row_major_order) {
  begin();
  tsr_tensor *x = tsr_transpose(count_up(TSR_I32, TSR_SHAPE(2, 3)), 0, 1), *at = list(TSR_I32, TSR_SHAPE(2), 1, -1);
  CHECK_VALUES(tsr_put(x, at, list(TSR_I32, TSR_SHAPE(2), 70, 80), NULL), TSR_I32, TSR_SHAPE(3, 2), 0, 0, 70, 1, 4, 2,
               80);
  CHECK_VALUES(tsr_put(x, at, list(TSR_I32, TSR_SHAPE(2), 1, 1), &(tsr_scatter_desc){TSR_COMBINE_MIN}), TSR_I32,
               TSR_SHAPE(3, 2), 0, 0, 1, 1, 4, 2, 1);
  CHECK_FAILS(tsr_put(x, at, x, NULL), TSR_ERR_SHAPE, "put: source is 3x2, the indices ask for [2]");
  finish();
}
