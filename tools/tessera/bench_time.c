// SPDX-License-Identifier: MIT
// Clock and statistics for measurements.
#include "bench_time.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(_WIN32)
#include <windows.h>

double bench_now_ns(void) {
  LARGE_INTEGER ticks, per_second;
  QueryPerformanceCounter(&ticks);
  QueryPerformanceFrequency(&per_second);
  return (double)ticks.QuadPart * 1e9 / (double)per_second.QuadPart;
}

void bench_rest(double seconds) { Sleep((DWORD)(seconds * 1e3)); }
#else
#include <time.h>

double bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_rest(double seconds) {
  time_t whole = (time_t)seconds;
  nanosleep(&(struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)}, NULL);
}
#endif

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void bench_sort(double *samples, int count) { qsort(samples, (size_t)count, sizeof *samples, by_value); }

double bench_quantile(const double *sorted, int count, double part) {
  if (count == 0) return 0;
  double at = part * (count - 1);
  int below = (int)at;
  if (below + 1 >= count) return sorted[count - 1];
  return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

char *bench_format_ns(double ns, char *text) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; ns >= 999.5 && unit < 3; unit++) ns /= 1e3;
  int digits = ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2;
  snprintf(text, BENCH_TIME_TEXT_BYTES, "%.*f %s", digits, ns, units[unit]);
  return text;
}
