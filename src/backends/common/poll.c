// SPDX-License-Identifier: MIT
#include "backends/common/poll.h"

#include "platform/platform.h"

enum {
  SPIN_NS = 100 * 1000,
  SHORTEST_PAUSE_NS = 20 * 1000,
  LONGEST_PAUSE_NS = 2 * 1000 * 1000,
  PAUSES = 32  // a pause is at most this part of the time spent so far, so that a wait ends at most 3 % late
};

tsri_poll tsri_poll_begin(uint64_t timeout_ns) {
  return (tsri_poll){.start_ns = tsri_clock_ns(), .timeout_ns = timeout_ns};
}

bool tsri_poll_again(tsri_poll *poll) {
  uint64_t spent = tsri_clock_ns() - poll->start_ns;
  if (spent >= poll->timeout_ns) return false;
  if (spent < SPIN_NS) return true;
  uint64_t left = poll->timeout_ns - spent, pause = spent / PAUSES;
  if (pause < SHORTEST_PAUSE_NS) pause = SHORTEST_PAUSE_NS;
  if (pause > LONGEST_PAUSE_NS) pause = LONGEST_PAUSE_NS;
  tsri_sleep_ns(pause < left ? pause : left);
  return true;
}
