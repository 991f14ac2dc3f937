// SPDX-License-Identifier: MIT
// Unit tests of the verdicts of `tessera bench --tuned`. The tested files are included, because the program is not a library to link with.
#include "support/test.h"

#include "bench_judge.c"  // NOLINT(bugprone-suspicious-include)
#include "bench_time.c"   // NOLINT(bugprone-suspicious-include)

enum { TURNS = 10 };

// Turns of 100 ns, and of 100 ns times `factor`; in the last `won` of them the factor is the other way round.
static bench_verdict turns_of(double factor, int won) {
  double usual[TURNS], tuned[TURNS];
  for (int i = 0; i < TURNS; i++) {
    usual[i] = 100 + i;
    tuned[i] = usual[i] * (i < TURNS - won ? factor : 1 / factor);
  }
  return bench_judge_turns(usual, tuned, TURNS);
}

TEST(a_way_that_loses_nearly_every_turn_is_slower) {
  CHECK(turns_of(1.1, 0).is_slower && turns_of(1.1, 2).is_slower);
  CHECK(!turns_of(1.1, 3).is_slower);   // seven of ten turns
  CHECK(!turns_of(1.02, 0).is_slower);  // by too little
  CHECK(turns_of(0.9, 0).is_faster && !turns_of(0.9, 0).is_slower);
  CHECK_NEAR(turns_of(1.1, 0).ratio, 1 / 1.1, 1e-9);
  CHECK_NEAR(turns_of(1.1, 0).noise, 0, 1e-9);
  CHECK(turns_of(1.1, 3).noise > 0.01);
}

TEST(devices_are_slower_if_each_is_slower_than_each_of_the_others) {
  CHECK(bench_judge_devices((double[]){100, 102, 99}, (double[]){110, 108, 107}, 3).is_slower);
  CHECK(!bench_judge_devices((double[]){100, 109, 99}, (double[]){110, 108, 107}, 3).is_slower);
  CHECK(!bench_judge_devices((double[]){100, 100, 100}, (double[]){102, 102, 102}, 3).is_slower);
  CHECK(bench_judge_devices((double[]){110, 108, 107}, (double[]){100, 102, 99}, 3).is_faster);
  CHECK_NEAR(bench_judge_devices((double[]){110, 100, 90}, (double[]){100, 100, 100}, 3).noise, 0.1, 1e-9);
}
