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

TEST(polling_without_time_asks_once) {
  tsri_poll poll = tsri_poll_begin(0);
  CHECK(!tsri_poll_again(&poll));
}

TEST(polling_without_a_limit_goes_on) {
  tsri_poll poll = tsri_poll_begin(UINT64_MAX);
  for (int i = 0; i < 100; i++) CHECK(tsri_poll_again(&poll));
}
