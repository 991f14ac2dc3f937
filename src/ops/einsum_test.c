// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

#define EINSUM(equation, ...)                         \
  tsr_einsum(equation, (tsr_tensor *[]){__VA_ARGS__}, \
             (int)(sizeof((tsr_tensor *[]){__VA_ARGS__}) / sizeof(tsr_tensor *)))

TEST(einsum_without_an_arrow_orders_letters_that_occur_once) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(3, 2));
  CHECK_VALUES(EINSUM("ij,jk", a, b), TSR_F32, TSR_SHAPE(2, 2), 0, 10, 13, 28, 40);
  CHECK_VALUES(EINSUM("ba", a), TSR_F32, TSR_SHAPE(3, 2), 0, 0, 3, 1, 4, 2, 5);
  CHECK_VALUES(EINSUM("aB", a), TSR_F32, TSR_SHAPE(3, 2), 0, 0, 3, 1, 4, 2, 5);  // capitals come first
  CHECK_VALUES(EINSUM("ij,ij", a, a), TSR_F32, TSR_SCALAR, 0, 55);
  CHECK_VALUES(EINSUM("...j", a), TSR_F32, TSR_SHAPE(2, 3), 0, 0, 1, 2, 3, 4, 5);
  finish();
}

TEST(einsum_takes_diagonals_broadcasts_and_keeps_dtypes) {
  begin();
  tsr_tensor *square = count_up(TSR_I32, TSR_SHAPE(3, 3)), *row = list(TSR_U8, TSR_SHAPE(1, 3), 100, 100, 100);
  CHECK_VALUES(EINSUM("ii->i", square), TSR_I32, TSR_SHAPE(3), 0, 0, 4, 8);
  CHECK_VALUES(EINSUM("ii,ij->j", square, square), TSR_I32, TSR_SHAPE(3), 0, 60, 72, 84);
  CHECK_VALUES(EINSUM("ij->", row), TSR_U8, TSR_SCALAR, 0, 44);  // 300 wraps
  CHECK_VALUES(EINSUM("ij,ij->i", square, row), TSR_I32, TSR_SHAPE(3), 0, 300, 1200, 2100);
  finish();
}

// From left to right the chain would take 1,000 times as many multiplications, and hold a matrix of 2000 x 2000 on the way.
TEST(einsum_multiplies_in_the_cheapest_order) {
  begin();
  tsr_tensor *column = tsr_ones(dev, TSR_F32, TSR_SHAPE(2000, 1)), *row = tsr_ones(dev, TSR_F32, TSR_SHAPE(1, 2000));
  tsr_tensor *sum = EINSUM("ij,jk,kl->il", column, row, column);
  tsr_memory_stats before, after;
  CHECK_OK(tsr_memory_get_stats(dev, &before));
  CHECK_VALUES(tsr_mean(sum, NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 2000);
  CHECK_OK(tsr_memory_get_stats(dev, &after));
  CHECK(after.peak_bytes < 2000 * 2000 * sizeof(float));
  finish();
}

TEST(einsum_says_what_is_wrong_with_an_equation) {
  begin();
  tsr_tensor *a = count_up(TSR_F32, TSR_SHAPE(2, 3)), *b = count_up(TSR_F32, TSR_SHAPE(3, 4));
  CHECK_FAILS(EINSUM("ij,jk->iz", a, b), TSR_ERR_INVALID_ARGUMENT, "a letter in the result that no operand has");
  CHECK_FAILS(EINSUM("ij,jk->ii", a, b), TSR_ERR_INVALID_ARGUMENT, "a letter twice in the result");
  CHECK_FAILS(EINSUM("ij", a, b), TSR_ERR_INVALID_ARGUMENT, "einsum: 'ij': fewer terms than operands at position 2");
  CHECK_FAILS(EINSUM("ij,jk,kl", a, b), TSR_ERR_INVALID_ARGUMENT, "more terms than operands, or no -> at position 5");
  CHECK_FAILS(EINSUM("i1,jk", a, b), TSR_ERR_INVALID_ARGUMENT,
              "neither a letter, nor ..., a comma or -> at position 1");
  CHECK_FAILS(EINSUM("ijk,jk", a, b), TSR_ERR_SHAPE, "has 3 letters for operand 0, which is 2x3");
  CHECK_FAILS(EINSUM("ij,ik", a, b), TSR_ERR_SHAPE,
              "axis 0 of operand 1 has 3 elements, the axis before it with the same label 2");
  CHECK_FAILS(EINSUM("ii", a), TSR_ERR_SHAPE, "axis 1 of operand 0 has 3 elements");
  CHECK_FAILS(EINSUM("ab,cd,ef,gh,ij", a, a, a, a, a), TSR_ERR_SHAPE, "the result would have more than 8 axes");
  CHECK_FAILS(EINSUM("i,i", tsr_cast(a, TSR_BOOL), a), TSR_ERR_SHAPE, "");
  CHECK_FAILS(EINSUM("ij->", tsr_cast(a, TSR_BOOL)), TSR_ERR_DTYPE, "einsum: takes numbers, not bool");
  CHECK_FAILS(tsr_einsum(NULL, &a, 1), TSR_ERR_INVALID_ARGUMENT, "einsum: ");
  CHECK_FAILS(tsr_einsum("i", &a, 11), TSR_ERR_UNSUPPORTED, "einsum: takes up to 10 operands, not 11");
  finish();
}
