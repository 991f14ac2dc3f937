// SPDX-License-Identifier: MIT
#include "backends/common/poll.h"

#include "platform/platform.h"

enum { SPIN_NS = 100 * 1000, FIRST_PAUSE_NS = 20 * 1000, LONGEST_PAUSE_NS = 2 * 1000 * 1000 };

tsri_poll tsri_poll_begin(uint64_t timeout_ns) {
  return (tsri_poll){.start_ns = tsri_clock_ns(), .timeout_ns = timeout_ns, .pause_ns = FIRST_PAUSE_NS};
}

bool tsri_poll_again(tsri_poll *poll) {
  uint64_t spent = tsri_clock_ns() - poll->start_ns;
  if (spent >= poll->timeout_ns) return false;
  if (spent < SPIN_NS) return true;
  uint64_t left = poll->timeout_ns - spent;
  tsri_sleep_ns(poll->pause_ns < left ? poll->pause_ns : left);
  poll->pause_ns = poll->pause_ns * 2 < LONGEST_PAUSE_NS ? poll->pause_ns * 2 : LONGEST_PAUSE_NS;
  return true;
}
