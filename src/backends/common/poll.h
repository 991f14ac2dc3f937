// SPDX-License-Identifier: MIT
// Waiting with a time-out for interfaces that can only be asked: without a pause for as long as a short kernel takes, then
// with pauses that grow.
//
//   tsri_poll poll = tsri_poll_begin(timeout_ns);
//   while (!is_done() && tsri_poll_again(&poll)) {
//   }
#ifndef TSRI_POLL_H
#define TSRI_POLL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_poll {
  uint64_t start_ns, timeout_ns, pause_ns;
} tsri_poll;

tsri_poll tsri_poll_begin(uint64_t timeout_ns);

// Pauses if it is time to, never beyond the time-out. False: time is up.
bool tsri_poll_again(tsri_poll *poll);

#endif
