// SPDX-License-Identifier: MIT
#include "graph/autotune.h"

#include <stdlib.h>

#include "backends/common/choices.h"
#include "ops/ops_testing.h"

static char folder[] = "/tmp/tessera-tune-XXXXXX";

static void begin_tuning(const char *mode) {
  strcpy(folder, "/tmp/tessera-tune-XXXXXX");
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
  CHECK_OK(tsr_config_set("tune", mode));
  begin();
}

static void end_tuning(void) {
  char command[80];
  finish();
  CHECK_OK(tsr_config_set("tune", NULL));
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_EQ_INT(system(command), 0);
}

enum { SIDE = 300 };

static double sum_of_squares(void) {
  tsr_tensor *x = tsr_add_scalar(tsr_zeros(dev, TSR_F32, TSR_SHAPE(SIDE, SIDE)), 3);
  double result = 0;
  CHECK_OK(tsr_item(tsr_sum(tsr_mul(x, x), NULL, 0, false), &result));
  return result;
}

static void count(void *context, const tsr_tuned *tuned) {
  int *known = context;
  *known += !tuned->is_bad;
}

static int known_count(void) {
  int known = 0;
  CHECK_OK(tsr_tuned_each(dev, count, &known));
  return known;
}

TEST(work_is_tuned_once_and_its_result_stays) {
  begin_tuning("quick");
  for (int i = 0; i < 3; i++) CHECK_NEAR(sum_of_squares(), 9.0 * SIDE * SIDE, 1);
  int known = known_count();
  CHECK(known > 0);
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(dev, &before));
  CHECK_NEAR(sum_of_squares(), 9.0 * SIDE * SIDE, 1);
  CHECK_OK(tsr_device_get_counters(dev, &after));
  CHECK(after.launches - before.launches <= 4);  // nothing is timed any more
  CHECK_EQ_INT(known_count(), known);
  end_tuning();
}

TEST(what_is_stored_is_used_by_the_next_device_and_can_be_cleared) {
  begin_tuning("quick");
  (void)sum_of_squares();
  int known = known_count();
  finish();
  CHECK_OK(tsr_config_set("tune", "auto"));
  begin();
  CHECK_NEAR(sum_of_squares(), 9.0 * SIDE * SIDE, 1);
  CHECK_EQ_INT(known_count(), known);
  CHECK_OK(tsr_tuned_clear(dev));
  CHECK_EQ_INT(known_count(), 0);
  end_tuning();
}

TEST(nothing_is_tuned_unless_asked_for_nor_in_deterministic_mode) {
  begin_tuning("auto");
  (void)sum_of_squares();
  CHECK_EQ_INT(known_count(), 0);
  finish();
  CHECK_OK(tsr_config_set("tune", "quick"));
  CHECK_OK(tsr_config_set("deterministic", "on"));
  begin();
  (void)sum_of_squares();
  CHECK_EQ_INT(known_count(), 0);
  CHECK_OK(tsr_config_set("deterministic", NULL));
  end_tuning();
}

static void note_work(void *context, const tsr_tuned *tuned) {
  snprintf(context, TSRI_CHOICE_WORK_BYTES, "%s", tuned->work);
}

static void count_bad(void *context, const tsr_tuned *tuned) {
  int *bad = context;
  *bad += tuned->is_bad;
}

// The stored choice has a work-group size that no device supports.
TEST(a_stored_choice_that_fails_now_is_remembered_as_bad_and_the_usual_way_is_taken) {
  begin_tuning("quick");
  tsri_choice broken = {.choice = "fused_group=3000000", .usual_us = 1, .chosen_us = 1};
  tsr_tensor *x = tsr_full(dev, TSR_F32, TSR_SHAPE(SIDE, SIDE), 2);
  CHECK_OK(tsr_evaluate(tsr_exp(x)));
  CHECK_OK(tsr_tuned_each(dev, note_work, broken.work));
  tsr_device_info info;
  CHECK_OK(tsr_device_get_info(dev, &info));
  finish();
  tsri_choices *choices = tsri_choices_open("cpu", &info);
  tsri_choices_put(choices, &broken);
  tsri_choices_close(choices);
  CHECK_OK(tsr_config_set("tune", "auto"));
  begin();
  double result = 0;
  int bad = 0;
  x = tsr_full(dev, TSR_F32, TSR_SHAPE(SIDE, SIDE), 2);
  CHECK_OK(tsr_item(tsr_max(tsr_contiguous(tsr_exp(x)), NULL, 0, false), &result));
  x = tsr_exp(x);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_tuned_each(dev, count_bad, &bad));
  CHECK_EQ_INT(bad, 1);
  CHECK_NEAR(result, 7.389, 0.001);
  end_tuning();
}

TEST(results_agree_up_to_the_order_of_sums_and_no_further) {
  const float a[] = {1, 2, NAN, INFINITY, 100}, near[] = {1.00001F, 2, NAN, INFINITY, 100.001F};
  const float far[] = {1, 2.1F, NAN, INFINITY, 100}, other[] = {1, 2, 3, INFINITY, 100};
  CHECK(tsri_results_agree(TSR_F32, a, near, 5));
  CHECK(!tsri_results_agree(TSR_F32, a, far, 5));
  CHECK(!tsri_results_agree(TSR_F32, a, other, 5));
  const int32_t whole[] = {1, 2}, off[] = {1, 3};
  CHECK(tsri_results_agree(TSR_I32, whole, whole, 2));
  CHECK(!tsri_results_agree(TSR_I32, whole, off, 2));
}
