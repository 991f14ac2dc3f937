// SPDX-License-Identifier: MIT
// Waiting with a time-out, for driver interfaces that can only be polled. The first polls follow each other without a
// pause, for about as long as a short kernel takes; then come pauses that grow with the time spent.
//
//   tsri_poll poll = tsri_poll_begin(timeout_ns);
//   while (!is_done() && tsri_poll_again(&poll)) {
//   }
#ifndef TSRI_POLL_H
#define TSRI_POLL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_poll {
  uint64_t start_ns, timeout_ns;
} tsri_poll;

tsri_poll tsri_poll_begin(uint64_t timeout_ns);

// Sleeps if a pause is due, but never beyond the time-out. Returns false when the time is up.
bool tsri_poll_again(tsri_poll *poll);

#endif
