// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(top_k_of_1_chooses_the_largest) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 3), 1, 5, 2, -INFINITY, -3, -INFINITY);
  CHECK_VALUES(tsr_sample(x, 7, &(tsr_sample_desc){.top_k = 1}), TSR_I32, TSR_SHAPE(2), 0, 1, 1);
  finish();
}

// 4096 rows with probabilities of 1/8, 5/8 and 1/4.
TEST(classes_are_chosen_as_often_as_they_are_probable) {
  enum { ROWS = 4096 };
  begin();
  tsr_tensor *logits = tsr_expand(tsr_log(list(TSR_F32, TSR_SHAPE(3), 1, 5, 2)), TSR_SHAPE(ROWS, 3));
  tsr_tensor *chosen = tsr_one_hot(tsr_sample(logits, 11, NULL), 3, TSR_F32);
  CHECK_VALUES(tsr_mean(chosen, TSR_AXES(0), false), TSR_F32, TSR_SHAPE(3), 0.02, 0.125, 0.625, 0.25);
  // 5/8 is within 0.6: top-p leaves the most probable one.
  tsr_tensor *likely = tsr_one_hot(tsr_sample(logits, 11, &(tsr_sample_desc){.top_p = 0.6}), 3, TSR_F32);
  CHECK_VALUES(tsr_mean(likely, TSR_AXES(0), false), TSR_F32, TSR_SHAPE(3), 0, 0, 1, 0);
  tsr_tensor *two = tsr_one_hot(tsr_sample(logits, 11, &(tsr_sample_desc){.top_p = 0.7}), 3, TSR_F32);
  CHECK_VALUES(tsr_mean(two, TSR_AXES(0), false), TSR_F32, TSR_SHAPE(3), 0.02, 0, 5.0 / 7, 2.0 / 7);
  finish();
}

TEST(one_seed_chooses_the_same_again) {
  begin();
  tsr_tensor *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(64, 50), 1);
  bool is_equal = false;
  CHECK_OK(tsr_equal(tsr_sample(x, 3, NULL), tsr_sample(x, 3, NULL), &is_equal));
  CHECK(is_equal);
  CHECK_OK(tsr_equal(tsr_sample(x, 3, NULL), tsr_sample(x, 4, NULL), &is_equal));
  CHECK(!is_equal);
  finish();
}

TEST(a_row_with_nan_gives_its_largest_number) {
  begin();
  CHECK_VALUES(tsr_sample(list(TSR_F32, TSR_SHAPE(1, 3), NAN, 1, 2), 5, NULL), TSR_I32, TSR_SHAPE(1), 0, 2);
  finish();
}

TEST(a_penalty_makes_logits_of_either_sign_smaller_and_once_only) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 4), 4, -4, 6, 8), *seen = list(TSR_I32, TSR_SHAPE(1, 4), 0, 1, 0, 99);
  CHECK_VALUES(tsr_repetition_penalty(x, seen, 2), TSR_F32, TSR_SHAPE(1, 4), 0, 2, -8, 6, 8);
  CHECK_FAILS(tsr_repetition_penalty(x, seen, 0), TSR_ERR_INVALID_ARGUMENT, "a penalty of 0");
  finish();
}

TEST(sample_refuses_options_that_mean_nothing) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 3));
  CHECK_FAILS(tsr_sample(x, 1, &(tsr_sample_desc){.top_p = 1.5}), TSR_ERR_INVALID_ARGUMENT, "top_p 1.5");
  CHECK_FAILS(tsr_sample(x, 1, &(tsr_sample_desc){.temperature = -1}), TSR_ERR_INVALID_ARGUMENT, "temperature -1");
  CHECK_FAILS(tsr_sample(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 0)), 1, NULL), TSR_ERR_SHAPE, "at least one");
  finish();
}
