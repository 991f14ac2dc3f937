// SPDX-License-Identifier: MIT
// Time, for programs that learn as long as they are told to.
#ifndef TESSERA_EXAMPLES_CLOCK_H
#define TESSERA_EXAMPLES_CLOCK_H

#include <time.h>

// Seconds since some moment.
static inline double clock_seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
