// SPDX-License-Identifier: MIT
#include "backends/common/contest.h"

#include "support/test.h"

typedef struct runner {
  double times[4];
  int runs[4];
} runner;

static double run(void *context, int number) {
  runner *r = context;
  r->runs[number]++;
  return r->times[number];
}

static int winner_of(runner *r, double least_gain, uint64_t longest_ns) {
  double best[TSRI_MOST_CONTENDERS];
  tsri_contest contest = {4, run, r, 3, longest_ns, least_gain};
  return tsri_contest_hold(&contest, best);
}

TEST(the_fastest_contender_wins) {
  runner r = {.times = {10, 7, 3, 5}};
  CHECK_EQ_INT(winner_of(&r, 0.98, UINT64_MAX), 2);
  for (int i = 0; i < 4; i++) CHECK_EQ_INT(r.runs[i], 4);
}

TEST(a_gain_within_the_noise_leaves_the_first) {
  runner r = {.times = {10, 9.9, 11, 12}};
  CHECK_EQ_INT(winner_of(&r, 0.98, UINT64_MAX), 0);
}

TEST(a_contender_that_fails_does_not_win_and_is_not_run_again) {
  runner r = {.times = {10, -1, 5, -1}};
  CHECK_EQ_INT(winner_of(&r, 0.98, UINT64_MAX), 2);
  CHECK_EQ_INT(r.runs[1], 1);
}

TEST(if_the_first_fails_another_wins_and_if_all_fail_the_first) {
  runner r = {.times = {-1, 9, -1, -1}}, none = {.times = {-1, -1, -1, -1}};
  CHECK_EQ_INT(winner_of(&r, 0.98, UINT64_MAX), 1);
  CHECK_EQ_INT(winner_of(&none, 0.98, UINT64_MAX), 0);
}

TEST(a_contest_ends_after_the_round_in_which_its_time_is_over) {
  runner r = {.times = {4, 3, 2, 1}};
  CHECK_EQ_INT(winner_of(&r, 0.98, 0), 3);
  CHECK_EQ_INT(r.runs[0], 2);
}
