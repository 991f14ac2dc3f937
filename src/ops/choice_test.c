// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(permutation_has_each_number_once_in_another_order) {
  begin();
  tsr_tensor *x = tsr_permutation(dev, 1000, 1);
  tsr_tensor *sorted = tsr_sort(x, 0, false), *plain = tsr_arange(dev, TSR_I32, 0, 1000, 1);
  CHECK_VALUES(tsr_all(tsr_eq(sorted, plain), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  int64_t fixed = 0;
  CHECK_OK(tsr_item_int(tsr_sum(tsr_eq(x, plain), NULL, 0, false), &fixed));
  CHECK(fixed < 10);  // one is usual
  CHECK_EMPTY(tsr_permutation(dev, 0, 1), TSR_I32, TSR_SHAPE(0));
  CHECK_FAILS(tsr_permutation(dev, -1, 1), TSR_ERR_INVALID_ARGUMENT, "permutation: of -1 numbers");
  finish();
}

// Among 200,000 random words some are equal, so that the lower words decide.
static void check_permutation(tsr_device *device) {
  enum { COUNT = 200000, SEED = 5 };
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *words = tsr_randint(device, TSR_U32, TSR_SHAPE(2, COUNT), 0, INT64_C(1) << 32, SEED), *halves[2] = {NULL};
  CHECK_OK(tsr_unstack(words, 0, 2, halves));
  tsr_tensor *order = tsr_argsort(halves[1], 0, false), *upper = tsr_take(halves[0], order);
  tsr_tensor *sorted = tsr_sort(upper, 0, false), *next = tsr_slice(sorted, 0, 1, INT64_MAX, 1);
  tsr_tensor *is_repeated = tsr_eq(next, tsr_slice(sorted, 0, 0, -1, 1));
  tsr_tensor *wanted = tsr_take(order, tsr_argsort(upper, 0, false));
  int64_t repeated = 0, equal = 0;
  CHECK_OK(tsr_item_int(tsr_sum(is_repeated, NULL, 0, false), &repeated));
  CHECK(repeated > 0);
  CHECK_OK(tsr_item_int(tsr_sum(tsr_eq(tsr_permutation(device, COUNT, SEED), wanted), NULL, 0, false), &equal));
  CHECK_EQ_INT(equal, COUNT);
  tsr_scope_end(scope);
}

TEST(permutation_is_the_order_of_random_keys_of_64_bits) { test_on_every_device(check_permutation); }

TEST(multinomial_draws_in_proportion_and_never_what_has_no_weight) {
  begin();
  tsr_tensor *weights = list(TSR_F32, TSR_SHAPE(2, 4), 0, 1, 3, 0, 0.5, -1, NAN, 0.5);
  tsr_tensor *drawn = tsr_multinomial(weights, 40000, true, 1);
  tsr_tensor *rows[2] = {NULL};
  CHECK_OK(tsr_unstack(drawn, 0, 2, rows));
  CHECK_VALUES(tsr_bincount(rows[0], NULL, 4), TSR_I32, TSR_SHAPE(4), 500, 0, 10000, 30000, 0);
  CHECK_VALUES(tsr_bincount(rows[1], NULL, 4), TSR_I32, TSR_SHAPE(4), 500, 20000, 0, 0, 20000);
  CHECK_VALUES(tsr_slice(tsr_bincount(rows[0], NULL, 4), 0, 0, 4, 3), TSR_I32, TSR_SHAPE(2), 0, 0, 0);
  CHECK_VALUES(tsr_multinomial(list(TSR_F32, TSR_SHAPE(3), 0, 0, 0), 2, true, 1), TSR_I32, TSR_SHAPE(2), 0, 2, 2);
  finish();
}

// Cumulative sums of many weights are rounded where the parts of a long list meet. Rounding must not make it possible to draw an element of weight 0.
TEST(multinomial_of_a_long_list_never_draws_a_zero) {
  begin();
  tsr_tensor *all = tsr_rand(dev, TSR_F32, TSR_SHAPE(100000), 1),
             *odd = tsr_mod_scalar(tsr_arange(dev, TSR_I32, 0, 100000, 1), 2);
  tsr_tensor *drawn = tsr_multinomial(tsr_mul(all, odd), 100000, true, 2);
  CHECK_VALUES(tsr_all(tsr_mod_scalar(drawn, 2), NULL, 0, false), TSR_BOOL, TSR_SCALAR, 0, 1);
  finish();
}

TEST(multinomial_without_replacement_draws_none_twice) {
  begin();
  tsr_tensor *weights = list(TSR_F32, TSR_SHAPE(5), 1, 2, 0, 4, 8);
  CHECK_VALUES(tsr_sort(tsr_multinomial(weights, 4, false, 3), 0, false), TSR_I32, TSR_SHAPE(4), 0, 0, 1, 3, 4);
  CHECK_VALUES(tsr_slice(tsr_multinomial(weights, 5, false, 3), 0, 4, 5, 1), TSR_I32, TSR_SHAPE(1), 0, 2);
  CHECK_FAILS(tsr_multinomial(weights, 6, false, 1), TSR_ERR_INVALID_ARGUMENT,
              "multinomial: 6 of 5 elements without replacement are not possible");
  CHECK_FAILS(tsr_multinomial(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), 1, true, 1), TSR_ERR_INVALID_ARGUMENT,
              "multinomial: 1 of 0 elements with replacement");
  CHECK_FAILS(tsr_multinomial(tsr_zeros(dev, TSR_F32, TSR_SCALAR), 1, true, 1), TSR_ERR_SHAPE, "not a scalar");
  finish();
}

TEST(choice_takes_slices_along_an_axis) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 5));
  tsr_tensor *all = tsr_choice(x, 1, 5, NULL, false, 1);
  CHECK_VALUES(tsr_sort(all, 1, false), TSR_F32, TSR_SHAPE(2, 5), 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  tsr_tensor *sure = list(TSR_F32, TSR_SHAPE(5), 0, 0, 1, 0, 0);
  CHECK_VALUES(tsr_choice(x, 1, 2, sure, true, 1), TSR_F32, TSR_SHAPE(2, 2), 0, 2, 2, 7, 7);
  CHECK_EMPTY(tsr_choice(x, 0, 0, NULL, true, 1), TSR_F32, TSR_SHAPE(0, 5));
  CHECK_FAILS(tsr_choice(x, 0, 2, sure, true, 1), TSR_ERR_SHAPE, "choice: weights are [5], axis 0 has 2 elements");
  CHECK_FAILS(tsr_choice(x, 0, 3, NULL, false, 1), TSR_ERR_INVALID_ARGUMENT,
              "choice: 3 of 2 elements without replacement are not possible");
  finish();
}
