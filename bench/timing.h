// SPDX-License-Identifier: MIT
// What programs that measure time share. Each file that includes this is one program.
#ifndef TESSERA_BENCH_TIMING_H
#define TESSERA_BENCH_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tessera/tessera.h>

// Ends the program if something failed: `what`, with the reason.
static inline void bench_check(tsr_status status, const char *what) {
  if (status == TSR_OK) return;
  fprintf(stderr, "%s: %s\n", what, tsr_last_error());
  exit(1);
}

static inline double bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#endif
