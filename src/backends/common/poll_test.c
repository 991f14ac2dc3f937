// SPDX-License-Identifier: MIT
#include "backends/common/poll.h"

#include "platform/platform.h"
#include "support/test.h"

TEST(polling_ends_when_the_time_is_up_and_not_before) {
  enum { TIMEOUT_NS = 30 * 1000 * 1000 };
  uint64_t start = tsri_clock_ns();
  int asked = 1;
  tsri_poll poll = tsri_poll_begin(TIMEOUT_NS);
  while (tsri_poll_again(&poll)) asked++;
  CHECK(tsri_clock_ns() - start >= TIMEOUT_NS);
  CHECK(asked >= 3);
}

// Asks between 4 and 30 ms after the beginning: 64 with pauses of a 32nd of the time spent.
static int count_late_asks(void) {
  enum { EARLY_NS = 4 * 1000 * 1000, TIMEOUT_NS = 30 * 1000 * 1000 };
  uint64_t start = tsri_clock_ns();
  int asked = 0;
  tsri_poll poll = tsri_poll_begin(TIMEOUT_NS);
  while (tsri_poll_again(&poll)) asked += tsri_clock_ns() - start > EARLY_NS;
  return asked;
}

TEST(pauses_are_a_small_part_of_the_wait) {
  int most = 0;  // other processes may take the processor in some of the attempts
  for (int i = 0; i < 10 && most < 30; i++) {
    int asked = count_late_asks();
    if (asked > most) most = asked;
  }
  CHECK(most >= 30);
}

TEST(polling_without_time_asks_once) {
  tsri_poll poll = tsri_poll_begin(0);
  CHECK(!tsri_poll_again(&poll));
}

TEST(polling_without_a_limit_goes_on) {
  tsri_poll poll = tsri_poll_begin(UINT64_MAX);
  for (int i = 0; i < 100; i++) CHECK(tsri_poll_again(&poll));
}
