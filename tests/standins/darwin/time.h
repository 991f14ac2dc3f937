// SPDX-License-Identifier: MIT
// What our files use of Apple's <time.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_TIME_H
#define STANDIN_DARWIN_TIME_H

typedef long time_t;
typedef int clockid_t;
struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
#define CLOCK_MONOTONIC 6
#define CLOCK_REALTIME  0
int clock_gettime(clockid_t, struct timespec *);
int nanosleep(const struct timespec *, struct timespec *);
time_t time(time_t *);
double difftime(time_t, time_t);

#endif
