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

// Contender 0 takes 100 ns and contender 1 `other`; both vary by `noise`, in an order of their own.
typedef struct noisy {
  double noise, other;
  int runs;
} noisy;

static double run_noisy(void *context, int number) {
  noisy *n = context;
  double part = (double)(n->runs++ * 7 % 10) / 10;  // 0 to 0.9
  return (number ? n->other : 100) * (1 + n->noise * (part - 0.45));
}

static bool is_confirmed(double noise, double other) {
  noisy n = {.noise = noise, .other = other};
  tsri_duel duel;
  return tsri_contest_confirm(&(tsri_contest){2, run_noisy, &n, 3, UINT64_MAX, 0.97}, 1, &duel);
}

TEST(a_winner_is_confirmed_if_it_wins_by_more_than_the_noise) {
  CHECK(is_confirmed(0, 90));
  CHECK(is_confirmed(0.05, 90));
  CHECK(!is_confirmed(0.5, 90));
  CHECK(!is_confirmed(0, 98));  // more than 97 % of 100
}

TEST(a_winner_that_fails_is_not_confirmed) {
  runner r = {.times = {10, -1}};
  tsri_duel duel;
  CHECK(!tsri_contest_confirm(&(tsri_contest){2, run, &r, 3, UINT64_MAX, 0.97}, 1, &duel));
  CHECK_EQ_INT(r.runs[1], 1);
}
