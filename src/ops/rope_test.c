// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(rope_pairs_halves_unless_it_is_told_to_pair_neighbours) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 4), 1, 2, 3, 4), *at = list(TSR_I32, TSR_SHAPE(1), 1);
  double c = cos(1), s = sin(1), c2 = cos(0.01), s2 = sin(0.01);
  CHECK_VALUES(tsr_rope(x, at, NULL), TSR_F32, TSR_SHAPE(1, 4), 1e-6, c - 3 * s, 2 * c2 - 4 * s2, 3 * c + s,
               4 * c2 + 2 * s2);
  CHECK_VALUES(tsr_rope(x, at, &(tsr_rope_desc){.interleaved = true}), TSR_F32, TSR_SHAPE(1, 4), 1e-6, c - 2 * s,
               2 * c + s, 3 * c2 - 4 * s2, 4 * c2 + 3 * s2);
  finish();
}

TEST(rope_leaves_position_0_and_the_rest_of_a_row_alone) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 6)), *at = list(TSR_I32, TSR_SHAPE(1), 0);
  CHECK_VALUES(tsr_rope(x, at, NULL), TSR_F32, TSR_SHAPE(1, 6), 0, 0, 1, 2, 3, 4, 5);
  tsr_tensor *turned = tsr_rope(x, list(TSR_I32, TSR_SHAPE(1), 7), &(tsr_rope_desc){.size = 2});
  CHECK_VALUES(tsr_slice(turned, 1, 2, 6, 1), TSR_F32, TSR_SHAPE(1, 4), 0, 2, 3, 4, 5);
  finish();
}

// What attention relies on: the product of two turned rows depends on the distance of their positions alone.
TEST(products_of_turned_rows_depend_on_their_distance) {
  begin();
  tsr_tensor *q = tsr_randn(dev, TSR_F64, TSR_SHAPE(1, 64), 1), *k = tsr_randn(dev, TSR_F64, TSR_SHAPE(1, 64), 2);
  double products[2];
  for (int i = 0; i < 2; i++) {
    tsr_tensor *a = tsr_rope(q, list(TSR_I32, TSR_SHAPE(1), 100 * i + 9), NULL),
               *b = tsr_rope(k, list(TSR_I32, TSR_SHAPE(1), 100 * i + 2), NULL);
    CHECK_OK(tsr_item(tsr_sum(tsr_mul(a, b), NULL, 0, false), &products[i]));
  }
  CHECK_NEAR(products[0], products[1], 1e-9);
  finish();
}

TEST(a_scale_of_minus_1_turns_back) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4), *at = list(TSR_I32, TSR_SHAPE(2), 5, 9);
  CHECK_VALUES(tsr_rope(tsr_rope(x, at, NULL), at, &(tsr_rope_desc){.scale = -1}), TSR_F32, TSR_SHAPE(2, 2), 1e-5, 1, 2,
               3, 4);
  finish();
}

TEST(rope_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3, 8)), *at = tsr_arange(dev, TSR_I32, 0, 3, 1);
  CHECK_FAILS(tsr_rope(tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 5)), at, NULL), TSR_ERR_SHAPE,
              "5 elements of the last axis of 3x5");
  CHECK_FAILS(tsr_rope(x, at, &(tsr_rope_desc){.size = 10}), TSR_ERR_SHAPE, "10 elements of the last axis");
  CHECK_FAILS(tsr_rope(x, tsr_arange(dev, TSR_I32, 0, 4, 1), NULL), TSR_ERR_SHAPE, "positions are [4]");
  CHECK_FAILS(tsr_rope(x, at, &(tsr_rope_desc){.frequencies = at}), TSR_ERR_SHAPE, "there are 4 pairs");
  CHECK_FAILS(tsr_rope(x, at, &(tsr_rope_desc){.base = -1}), TSR_ERR_INVALID_ARGUMENT, "base is -1");
  finish();
}
